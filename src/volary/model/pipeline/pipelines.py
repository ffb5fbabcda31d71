"""The stages of a pipeline and their options."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from volary.model import analysis
from volary.model.pipeline import traffic, webhook


class StageName(StrEnum):
    """Names as users write them; PipeCD's ``K8S_MULTI_*`` are read as the same."""

    SYNC = "K8S_SYNC"
    CANARY_ROLLOUT = "K8S_CANARY_ROLLOUT"
    CANARY_CLEAN = "K8S_CANARY_CLEAN"
    BASELINE_ROLLOUT = "K8S_BASELINE_ROLLOUT"
    BASELINE_CLEAN = "K8S_BASELINE_CLEAN"
    PRIMARY_ROLLOUT = "K8S_PRIMARY_ROLLOUT"
    TRAFFIC_ROUTING = "K8S_TRAFFIC_ROUTING"
    PROGRESSIVE_TRAFFIC = "K8S_PROGRESSIVE_TRAFFIC"
    BLUE_GREEN = "K8S_BLUE_GREEN"
    WEBHOOK_GATE = "K8S_WEBHOOK_GATE"
    ROLLBACK = "K8S_ROLLBACK"
    WAIT = "WAIT"
    WAIT_APPROVAL = "WAIT_APPROVAL"
    ANALYSIS = "ANALYSIS"
    SCRIPT_RUN = "SCRIPT_RUN"
    #: The end of a wave: its clusters run this release, healthy for some time.
    WAVE_GATE = "WAVE_GATE"
    #: What a cluster runs already, with its part of a new placement; users do not list it.
    PLACEMENT_SYNC = "PLACEMENT_SYNC"
    #: The application leaves a cluster; users do not list it.
    PLACEMENT_REMOVE = "PLACEMENT_REMOVE"


@dataclass(frozen=True, slots=True)
class Replicas:
    """An absolute number of pods or a percentage of the primary's (PipeCD: Calculate)."""

    number: int
    is_percentage: bool = False

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)


class Scope(StrEnum):
    """Whether a stage is carried out by each cluster for itself."""

    CLUSTER = "cluster"
    #: All clusters that carry the stage out at the same time do it in step, or once.
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """Replace the node at `path` by `value` (PipeCD: ``yaml-replace``)."""

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations on one manifest, or on a YAML document in one of its strings."""

    kind: str
    name: str
    operations: tuple[PatchOperation, ...] = ()
    #: Path of the string that holds the document to patch; empty: the manifest itself.
    document_root: str = ""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """Options of ``K8S_SYNC`` and of a quick sync."""

    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class PrimaryRolloutOptions:
    """Options of ``K8S_PRIMARY_ROLLOUT``."""

    #: Of the generated Service; empty: the primary variant's value.
    suffix: str = ""
    create_service: bool = False
    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class VariantRolloutOptions:
    """Options of ``K8S_CANARY_ROLLOUT`` and ``K8S_BASELINE_ROLLOUT``."""

    #: None: one pod.
    replicas: Replicas | None = None
    #: Empty: the variant's label value.
    suffix: str = ""
    create_service: bool = False
    #: Canary only.
    patches: tuple[Patch, ...] = ()
    #: `FLEET`: `replicas` are of all clusters together, and `batch` says who gets how many.
    of: Scope = Scope.CLUSTER
    #: Of the fleet's share, at most so many on one cluster; None: as many as it comes to.
    at_most: Replicas | None = None
    #: Fixed at the run's start: pods by cluster, then by workload as ``Deployment web``.
    batch: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: The same for one cluster; None: `replicas` counts.
    counts: Mapping[str, int] | None = None

    def on(self, target: str) -> "VariantRolloutOptions":
        """Return the options for one cluster; of the fleet's share, with what it gets."""
        if self.of is Scope.CLUSTER:
            return self
        return replace(self, counts=self.batch.get(target), batch={})


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """``K8S_CANARY_CLEAN`` and ``K8S_BASELINE_CLEAN`` have no options."""


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """Options of ``K8S_TRAFFIC_ROUTING``: percentages that add up to 100."""

    primary: int
    canary: int = 0
    baseline: int = 0
    #: Requests that go to canary whatever the percentages say: an A/B test.
    match: tuple[traffic.RequestMatch, ...] = ()
    #: Percent of the requests that canary gets a copy of.
    mirror: int = 0
    session_affinity: traffic.SessionAffinity | None = None
    #: `FLEET`: the percentages are of all traffic of all clusters together.
    of: Scope = Scope.CLUSTER
    #: Fixed at the run's start: percent for canary and for baseline by cluster.
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def on(self, target: str) -> "TrafficOptions":
        """Return the percentages of one cluster; they add up to 100."""
        if self.of is Scope.CLUSTER:
            return self
        canary, baseline = self.shares.get(target, (0, 0))
        rest = 100 - canary - baseline
        return replace(self, primary=rest, canary=canary, baseline=baseline, shares={})


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """``K8S_ROLLBACK`` has no options; users do not list it."""


@dataclass(frozen=True, slots=True)
class WaitOptions:
    """Options of ``WAIT``."""

    duration: timedelta


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Options of ``ANALYSIS``, and of an analysis beside another stage."""

    #: How long is measured; of an analysis beside another stage: as long as that one takes.
    duration: timedelta
    metrics: tuple[analysis.Rule, ...] = ()
    http: tuple[analysis.HttpCheck, ...] = ()
    #: How long after `duration` data are waited for where a rule says so.
    hold_for: timedelta = timedelta(minutes=10)
    #: Fixed at the run's start: clusters that got no canary of the fleet's share.
    without_canary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalOptions:
    """Options of ``WAIT_APPROVAL``."""

    #: Who may approve.
    approvers: tuple[str, ...]
    #: How many of them have to.
    count: int = 1


@dataclass(frozen=True, slots=True)
class ProgressiveTrafficOptions:
    """Options of ``K8S_PROGRESSIVE_TRAFFIC`` (Flagger: ``spec.analysis``).

    Either `step_weight` or `step_weights` or `iterations` is set, checked when read.
    `iterations` with `match` is an A/B test, without it blue/green.
    """

    #: Time between two checks.
    interval: timedelta = timedelta(seconds=60)
    #: So many failed checks, counted over the whole stage, and it fails.
    threshold: int = 1
    step_weight: int = 0
    step_weights: tuple[int, ...] = ()
    #: Not looked at with `step_weights`, which end with their own.
    max_weight: int = 100
    #: Percent that go back to primary per interval once it has been promoted; 0: all at once.
    step_weight_promotion: int = 0
    iterations: int = 0
    #: Send a copy of the requests to canary for one interval before the first step; with
    #: `iterations`, all the time.
    mirror: bool = False
    mirror_weight: int = 100
    match: tuple[traffic.RequestMatch, ...] = ()
    session_affinity: traffic.SessionAffinity | None = None
    #: Measured with every check.
    metrics: tuple[analysis.Rule, ...] = ()
    webhooks: tuple[webhook.Webhook, ...] = ()
    scope: Scope = Scope.CLUSTER
    #: A step may lead above `max_weight` (Flagger does that); otherwise it is cut there.
    overshoot: bool = False
    #: Fail with the last failed check, not one interval after it (Flagger).
    immediate: bool = False
    #: How long canary may stay not ready before the stage fails.
    progress_deadline: timedelta = timedelta(minutes=10)
    #: Percent of canary's pods that have to be available.
    ready_threshold: int = 100
    #: Give canary as many of primary's pods as it gets of the traffic, at least one.
    scale_canary: bool = False


@dataclass(frozen=True, slots=True)
class Checks:
    """An analysis that is a part of another stage."""

    interval: timedelta = timedelta(seconds=60)
    #: So many checks.
    count: int = 1
    #: So many failed ones, and the analysis has failed.
    threshold: int = 1
    metrics: tuple[analysis.Rule, ...] = ()
    webhooks: tuple[webhook.Webhook, ...] = ()


@dataclass(frozen=True, slots=True)
class BlueGreenOptions:
    """Options of ``K8S_BLUE_GREEN``."""

    #: Name of the Service that leads to the new version before the switch; empty: the
    #: Service's name with `-preview`.
    preview_service: str = ""
    #: Make that Service.
    preview: bool = True
    pre_promotion: Checks | None = None
    post_promotion: Checks | None = None
    #: How long the old version stays as it is after the switch, for an instant way back.
    scale_down_delay: timedelta = timedelta(seconds=30)
    webhooks: tuple[webhook.Webhook, ...] = ()
    #: Percent of the new version's pods that have to be available before the switch.
    ready_threshold: int = 100


@dataclass(frozen=True, slots=True)
class WebhookGateOptions:
    """Options of ``K8S_WEBHOOK_GATE``."""

    webhook: webhook.Webhook
    #: Time between two questions while the answer is no.
    interval: timedelta = timedelta(seconds=10)
    #: `FLEET`: asked once for all clusters.
    scope: Scope = Scope.FLEET


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """Options of ``SCRIPT_RUN``."""

    #: Given to ``/bin/sh -l -c`` (PipeCD).
    run: str
    env: Mapping[str, str] = field(default_factory=dict)
    #: Run during a rollback, if the stage had begun.
    on_rollback: str = ""
    #: `FLEET`: once for all clusters (PipeCD).
    scope: Scope = Scope.FLEET


@dataclass(frozen=True, slots=True)
class WaveGateOptions:
    """What a wave proves before the next one begins; users do not list it."""

    #: How long all its clusters have to be healthy on this release without a break.
    soak: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """``PLACEMENT_SYNC`` and ``PLACEMENT_REMOVE`` have no options."""


StageOptions = (
    SyncOptions
    | PrimaryRolloutOptions
    | VariantRolloutOptions
    | CleanOptions
    | TrafficOptions
    | RollbackOptions
    | WaveGateOptions
    | PlacementOptions
    | WaitOptions
    | AnalysisOptions
    | ApprovalOptions
    | ProgressiveTrafficOptions
    | BlueGreenOptions
    | WebhookGateOptions
    | ScriptOptions
)


@dataclass(frozen=True, slots=True)
class SkipOn:
    """When a stage is left out (PipeCD: ``skipOn``); any hit skips."""

    commit_message_prefixes: tuple[str, ...] = ()
    #: Globs relative to the root of the repository.
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pipeline."""

    name: StageName
    options: StageOptions
    #: Position in the pipeline, counted from 0.
    index: int = 0
    description: str = ""
    timeout: timedelta = timedelta(hours=6)
    #: Clusters the stage is limited to; empty: all (PipeCD: ``multiTargets``).
    targets: tuple[str, ...] = ()
    skip_on: SkipOn = field(default_factory=SkipOn)
    #: The strategy whose clusters carry it out; empty: every cluster does.
    strategy: str = ""
    #: What is measured while the stage is carried out; a failed verdict stops and fails it.
    beside: AnalysisOptions | None = None
