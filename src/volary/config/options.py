"""The options (``with``) of every stage, as pydantic models with a description each."""

from collections.abc import Mapping
from typing import Literal

import pydantic
from pydantic import Field

from volary.config import metrics, progressive, scripts, sections, values, webhooks
from volary.model import stage

#: Prefix of the same names in PipeCD's multi-cluster plugin.
_MULTI = "K8S_MULTI_"


class _OnTargets(sections.Section):
    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )


class Sync(_OnTargets):
    """Apply everything at once."""

    add_variant_label_to_selector: pydantic.StrictBool = Field(
        default=False, description="Put the primary variant's label into workload selectors."
    )
    prune: pydantic.StrictBool = Field(
        default=False, description="Remove what Volary applied earlier and Git no longer contains."
    )


class PrimaryRollout(Sync):
    """Bring the new version to primary; traffic returns when it is ready."""

    suffix: values.DnsLabel = Field(
        default="", description="Suffix of the generated Service; empty: the primary's label value."
    )
    create_service: pydantic.StrictBool = Field(
        default=False, description="Generate a Service that selects primary only."
    )


class BaselineRollout(_OnTargets):
    """Run the current version beside primary, for a fair comparison."""

    replicas: values.Replicas | None = Field(
        default=None,
        description="Pods: `2`, or a percentage of the workload's replicas, rounded up: `10%`. "
        "Default: one pod. More than 100% is allowed (with a warning), up to 1000%.",
    )
    suffix: values.DnsLabel = Field(
        default="", description="Suffix of generated names; empty: the variant's label value."
    )
    create_service: pydantic.StrictBool = Field(
        default=False, description="Generate a Service that selects this variant only."
    )
    of: stage.Scope = Field(
        default=stage.Scope.CLUSTER,
        description="What `replicas` is a share of. `cluster`: of the workload on each cluster; "
        "`fleet`: of all clusters that carry the stage out together, over which the pods are "
        "divided by what primary has there. A cluster may get none.",
    )
    at_most: values.Replicas | None = Field(
        default=None,
        description="With `of: fleet`: at most so many on one cluster, `2` or a percentage of what "
        "primary has there, rounded up. What does not fit goes to the others.",
    )


class PatchTarget(sections.Section):
    """The manifest to patch."""

    kind: sections.Text = Field(description="Kind of the manifest.")
    name: sections.Text = Field(description="Name of the manifest.")
    document_root: str = Field(
        default="",
        description="Path of a string that holds a YAML document to patch; empty: the manifest.",
    )


class PatchOperation(sections.Section):
    """Replace one node."""

    op: Literal["yaml-replace"] = Field(default="yaml-replace", description="What to do.")
    path: sections.Text = Field(description="Path of the node, such as `$.spec.replicas`.")
    value: str = Field(default="", description="The new text of the node.")


class Patch(sections.Section):
    """Operations on one manifest."""

    target: PatchTarget = Field(description="The manifest to patch.")
    ops: list[PatchOperation] = Field(default_factory=list, description="Operations in order.")


class CanaryRollout(BaselineRollout):
    """Run the new version beside primary."""

    patches: list[Patch] = Field(
        default_factory=list, description="Changes to the canary's manifests, in order."
    )


class Clean(_OnTargets):
    """Remove the variant; traffic it still gets is given back to primary first."""


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
    match: list[progressive.RequestMatch] = Field(
        default_factory=list,
        description="Requests that go to canary whatever the percentages say: an A/B test. Without "
        "percentages primary gets all others.",
    )
    mirror: values.Percentage = Field(
        default=0,
        description="Percentage of the requests that canary gets a copy of; its answers are thrown "
        "away. Only for requests that may be repeated.",
    )
    session_affinity: progressive.SessionAffinity | None = Field(
        default=None, description="Keep users with their variant by cookie."
    )
    of: stage.Scope = Field(
        default=stage.Scope.CLUSTER,
        description="What the percentages are of. `cluster`: of each cluster's own traffic; "
        "`fleet`: of the traffic of all clusters that carry the stage out together, of which each "
        "is taken to have as much as it has of primary's pods. `primary` may be left out then.",
    )


class Wait(sections.Section):
    """Wait before the next stage."""

    duration: values.Duration = Field(description="How long, more than 0.")


class WaitApproval(sections.Section):
    """Wait until people agree; the stage's timeout is how long it is waited for."""

    approvers: list[sections.Text] = Field(
        min_length=1,
        description="Those who may approve, as the server names them: `ana@example.org`, "
        "`token:ana`, `local`.",
    )
    min_approver_num: int = Field(
        default=1, ge=1, strict=True, description="How many of them have to."
    )


BY_NAME: Mapping[stage.StageName, type[sections.Section]] = {
    stage.StageName.SYNC: Sync,
    stage.StageName.PRIMARY_ROLLOUT: PrimaryRollout,
    stage.StageName.CANARY_ROLLOUT: CanaryRollout,
    stage.StageName.CANARY_CLEAN: Clean,
    stage.StageName.BASELINE_ROLLOUT: BaselineRollout,
    stage.StageName.BASELINE_CLEAN: Clean,
    stage.StageName.TRAFFIC_ROUTING: Traffic,
    stage.StageName.PROGRESSIVE_TRAFFIC: progressive.ProgressiveTraffic,
    stage.StageName.BLUE_GREEN: progressive.BlueGreen,
    stage.StageName.WEBHOOK_GATE: webhooks.WebhookGate,
    stage.StageName.SCRIPT_RUN: scripts.Script,
    stage.StageName.WAIT: Wait,
    stage.StageName.WAIT_APPROVAL: WaitApproval,
    stage.StageName.ANALYSIS: metrics.Analysis,
}


def canonical(name: str) -> str:
    """Return our word for a stage name: ``K8S_MULTI_X`` is ``K8S_X``."""
    return f"K8S_{name.removeprefix(_MULTI)}" if name.startswith(_MULTI) else name


def forms(name: stage.StageName) -> list[str]:
    """Return the names a stage may be written with."""
    kubernetes = name.value.startswith("K8S_")
    return [name.value, _MULTI + name.value.removeprefix("K8S_")] if kubernetes else [name.value]
