"""The entries of ``pipeline.stages`` and the options (``with``) of every stage, as pydantic
models.
"""

import functools
import types
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Literal, cast

from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.stages import metric_sections, progressive_sections, webhooks
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)


class SkipOn(base_sections.Section):
    """When a stage is left out of a run; any hit leaves it out."""

    commit_message_prefixes: list[base_sections.Text] = Field(
        default_factory=list, description="Beginnings of the commit message."
    )
    paths: list[base_sections.Text] = Field(
        default_factory=list,
        description="Globs relative to the root of the repository: the stage is left out when "
        "every file that changed since the running commit matches. `!` in front takes out again.",
    )


class StageEntry(base_sections.Section):
    """One step of the pipeline."""

    misplaced: ClassVar[Mapping[str, str]] = {"id": "stages are known by their position"}

    name: base_sections.Text = Field(
        description="Name of the stage; `K8S_MULTI_*` means the same as `K8S_*`."
    )
    desc: str = Field(default="", description="Shown beside the stage.")
    timeout: values.Duration = Field(
        default=timedelta(hours=6),
        description="Limit of the stage, on all clusters of its wave together.",
    )
    with_: dict[str, object] = Field(
        default_factory=dict, alias="with", description="Options of the stage."
    )
    skip_on: SkipOn = Field(
        default_factory=SkipOn, description="Commits for which the stage is left out."
    )
    analysis: dict[str, object] | None = Field(
        default=None,
        description="Metrics and requests that are measured while the stage is carried out; a "
        "failed verdict stops the stage and fails it. As in `ANALYSIS`, without `duration`.",
    )


class Pipeline(base_sections.Section):
    """Steps that are taken one after another, each on all targets in parallel."""

    stages: list[StageEntry] = Field(
        default_factory=list, description="The stages in order; empty: no pipeline."
    )


class _OnTargets(base_sections.Section):
    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )


class PatchTarget(base_sections.Section):
    """The manifest to patch."""

    kind: base_sections.Text = Field(description="Kind of the manifest.")
    name: base_sections.Text = Field(description="Name of the manifest.")
    document_root: str = Field(
        default="",
        description="Path of a string that holds a YAML document to patch; empty: the manifest.",
    )


class PatchOperation(base_sections.Section):
    """Replace one node."""

    op: Literal["yaml-replace"] = Field(default="yaml-replace", description="What to do.")
    path: base_sections.Text = Field(description="Path of the node, such as `$.spec.replicas`.")
    value: str = Field(default="", description="The new text of the node.")


class Patch(base_sections.Section):
    """Operations on one manifest."""

    target: PatchTarget = Field(description="The manifest to patch.")
    ops: list[PatchOperation] = Field(default_factory=list, description="Operations in order.")


class CanaryRollout(_OnTargets, of=rollout_stages.VariantRolloutOptions):
    """Run the new version beside primary."""

    patches: list[Patch] = Field(
        default_factory=list, description="Changes to the canary's manifests, in order."
    )


class Traffic(_OnTargets):
    """Divide traffic between variants; the percentages add up to 100."""

    all: Literal["", "primary", "canary", "baseline"] = Field(
        default="", description="Send everything to this variant, instead of percentages."
    )
    primary: values.Percentage | None = Field(
        default=None,
        description="Percentage for primary. PipeCD's dialect: the rest when left out.",
    )
    canary: values.Percentage = Field(default=0, description="Percentage for canary.")
    baseline: values.Percentage = Field(
        default=0, description="Percentage for baseline (not with `podselector`)."
    )
    match: list[progressive_sections.RequestMatch] = Field(
        default_factory=list,
        description="Requests that go to canary whatever the percentages say: an A/B test. Without "
        "percentages primary gets all others.",
    )
    mirror: values.Percentage = Field(
        default=0,
        description="Percentage of the requests that canary gets a copy of; its answers are thrown "
        "away. Only for requests that may be repeated.",
    )
    session_affinity: progressive_sections.SessionAffinity | None = Field(
        default=None, description="Keep users with their variant by cookie."
    )
    of: stage_kind.Scope = Field(
        default=stage_kind.Scope.CLUSTER,
        description="What the percentages are of. `cluster`: of each cluster's own traffic; "
        "`fleet`: of the traffic of all clusters that carry the stage out together, of which each "
        "is taken to have as much as it has of primary's pods. `primary` may be left out then.",
    )


#: What is written in another form than the model has it in.
_OWN: Mapping[str, type[base_sections.Section]] = {
    rollout_stages.CANARY_ROLLOUT.name: CanaryRollout,
    traffic_stages.TRAFFIC_ROUTING.name: Traffic,
    traffic_stages.PROGRESSIVE_TRAFFIC.name: progressive_sections.ProgressiveTraffic,
    traffic_stages.BLUE_GREEN.name: progressive_sections.BlueGreen,
    external_stages.WEBHOOK_GATE.name: webhooks.WebhookGate,
    waiting_stages.ANALYSIS.name: metric_sections.Analysis,
}


@functools.cache
def section(kind: stage_kind.StageKind[Any]) -> type[base_sections.Section]:
    """Return what the options of a stage are read as: by their definition, where that will do."""
    if kind.name in _OWN:
        return _OWN[kind.name]
    base = _OnTargets if kind.has_targets else base_sections.Section
    name = kind.title.title().replace(" ", "")
    return cast(
        "type[base_sections.Section]",
        types.new_class(
            name,
            (base,),
            {"of": kind.options},
            lambda own: own.update({"__module__": __name__, "__doc__": kind.reference}),
        ),
    )
