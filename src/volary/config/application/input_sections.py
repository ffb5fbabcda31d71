"""``input`` and ``quickSync``: where manifests come from, as pydantic models."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values


class HelmChart(base_sections.Section):
    """A chart in the repository."""

    later: ClassVar[Mapping[str, str]] = {
        "gitRemote": "charts from another Git repository",
        "ref": "charts from another Git repository",
        "repository": "charts from a chart repository",
        "name": "charts from a chart repository",
        "version": "charts from a chart repository",
    }

    path: Annotated[values.RelativePath, Field(min_length=1)] = Field(
        description="The chart's directory, relative to the application's directory."
    )


class HelmOptions(base_sections.Section):
    """How the chart is rendered."""

    release_name: str = Field(
        default="", description="Release name; empty: the application's name."
    )
    set_values: dict[str, str] = Field(
        default_factory=dict, description="Values, as for helm's `--set`."
    )
    value_files: list[values.RelativePath] = Field(
        default_factory=list, description="Value files in the repository, later ones win."
    )
    set_files: dict[str, values.RelativePath] = Field(
        default_factory=dict, description="Values read from files, as for helm's `--set-file`."
    )
    api_versions: list[str] = Field(
        default_factory=list, description="API versions the chart may count on."
    )
    kube_version: str = Field(default="", description="Kubernetes version the chart may count on.")


class TargetReference(base_sections.Section):
    """Names one cluster of the fleet."""

    later: ClassVar[Mapping[str, str]] = {"labels": "choosing a cluster by labels here"}

    name: base_sections.Text = Field(description="The cluster's name in the fleet.")


class TargetInput(base_sections.Section):
    """What one cluster renders differently."""

    later: ClassVar[Mapping[str, str]] = {
        "kubectlVersion": "choosing a kubectl version",
        "kustomizeVersion": "choosing a kustomize version",
    }

    target: TargetReference = Field(description="The cluster.")
    manifests: list[values.RelativePath] = Field(
        default_factory=list, description="Instead of `input.manifests`."
    )
    kustomize_dir: values.RelativePath = Field(
        default="", description="The cluster's overlay; empty: the application's directory."
    )
    kustomize_options: dict[str, str] = Field(
        default_factory=dict, description="Instead of `input.kustomizeOptions`."
    )


class Input(base_sections.Section):
    """Where manifests come from."""

    later: ClassVar[Mapping[str, str]] = {
        "kubectlVersion": "choosing a kubectl version",
        "kustomizeVersion": "choosing a kustomize version",
        "helmVersion": "choosing a helm version",
    }

    manifests: list[values.RelativePath] = Field(
        default_factory=list,
        description="Files relative to the application's directory, in order. Empty: every YAML "
        "and JSON file directly in it, by name.",
    )
    namespace: values.DnsLabel = Field(
        default="", description="Forced onto every namespaced manifest; empty: as written."
    )
    auto_create_namespace: pydantic.StrictBool = Field(
        default=False, description="Create the manifests' namespaces when they are missing."
    )
    kustomize_options: dict[str, str] = Field(
        default_factory=dict,
        description="Flags for kustomize without leading `--`; an empty value is a bare flag.",
    )
    helm_chart: HelmChart | None = Field(
        default=None, description="Render this chart instead of plain files or kustomize."
    )
    helm_options: HelmOptions = Field(
        default_factory=HelmOptions, description="How the chart is rendered."
    )
    objects: list[dict[str, object]] = Field(
        default_factory=list,
        description="Kubernetes objects written here, added to the others; for the few that are "
        "about the release rather than the application, such as routes.",
    )
    multi_targets: list[TargetInput] = Field(
        default_factory=list,
        description="What single clusters render differently. When it is not empty, only the "
        "clusters listed here are deployed to.",
    )


class QuickSync(base_sections.Section):
    """Options of a quick sync."""

    add_variant_label_to_selector: pydantic.StrictBool = Field(
        default=False, description="Put the primary variant's label into workload selectors."
    )
    prune: pydantic.StrictBool = Field(
        default=False, description="Remove what Volary applied earlier and Git no longer contains."
    )
    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters a quick sync is limited to; empty: all."
    )
