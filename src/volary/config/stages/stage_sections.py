"""The entries of ``pipeline.stages`` and the options (``with``) of every stage, as pydantic
models.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.config.stages import metric_sections, progressive_sections, scripts, webhooks
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
    of: stage_kind.Scope = Field(
        default=stage_kind.Scope.CLUSTER,
        description="What `replicas` is a share of. `cluster`: of the workload on each cluster; "
        "`fleet`: of all clusters that carry the stage out together, over which the pods are "
        "divided by what primary has there. A cluster may get none.",
    )
    at_most: values.Replicas | None = Field(
        default=None,
        description="With `of: fleet`: at most so many on one cluster, `2` or a percentage of what "
        "primary has there, rounded up. What does not fit goes to the others.",
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


class Wait(base_sections.Section):
    """Wait before the next stage."""

    duration: values.Duration = Field(description="How long, more than 0.")


class WaitApproval(base_sections.Section):
    """Wait until people agree; the stage's timeout is how long it is waited for."""

    approvers: list[base_sections.Text] = Field(
        min_length=1,
        description="Those who may approve, as the server names them: `ana@example.org`, "
        "`token:ana`, `local`.",
    )
    min_approver_num: int = Field(
        default=1, ge=1, strict=True, description="How many of them have to."
    )


BY_NAME: Mapping[str, type[base_sections.Section]] = {
    rollout_stages.SYNC.name: Sync,
    rollout_stages.PRIMARY_ROLLOUT.name: PrimaryRollout,
    rollout_stages.CANARY_ROLLOUT.name: CanaryRollout,
    rollout_stages.CANARY_CLEAN.name: Clean,
    rollout_stages.BASELINE_ROLLOUT.name: BaselineRollout,
    rollout_stages.BASELINE_CLEAN.name: Clean,
    traffic_stages.TRAFFIC_ROUTING.name: Traffic,
    traffic_stages.PROGRESSIVE_TRAFFIC.name: progressive_sections.ProgressiveTraffic,
    traffic_stages.BLUE_GREEN.name: progressive_sections.BlueGreen,
    external_stages.WEBHOOK_GATE.name: webhooks.WebhookGate,
    external_stages.SCRIPT_RUN.name: scripts.Script,
    waiting_stages.WAIT.name: Wait,
    waiting_stages.WAIT_APPROVAL.name: WaitApproval,
    waiting_stages.ANALYSIS.name: metric_sections.Analysis,
}
