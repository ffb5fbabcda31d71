"""Stages that divide traffic between the variants."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from volary.model import analysis
from volary.model.pipeline import traffic, webhook
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class TrafficOptions(stage_kind.StageOptions):
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
    of: stage_kind.Scope = stage_kind.Scope.CLUSTER
    #: Fixed at the run's start: percent for canary and for baseline by cluster.
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def on(self, target: str) -> Self:
        """Return the percentages of one cluster; they add up to 100."""
        if self.of is stage_kind.Scope.CLUSTER:
            return self
        canary, baseline = self.shares.get(target, (0, 0))
        rest = 100 - canary - baseline
        return replace(self, primary=rest, canary=canary, baseline=baseline, shares={})


@dataclass(frozen=True, slots=True)
class ProgressiveTrafficOptions(stage_kind.StageOptions):
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
    scope: stage_kind.Scope = stage_kind.Scope.CLUSTER
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

    @property
    def all_webhooks(self) -> tuple[webhook.Webhook, ...]:
        """The webhooks that are called on the way."""
        return self.webhooks


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
class BlueGreenOptions(stage_kind.StageOptions):
    """Options of ``K8S_BLUE_GREEN``."""

    #: Name of the Service that leads to the new version before the switch; empty: the
    #: Service's name with `-preview`.
    preview_service: str = ""
    #: Make that Service.
    preview: bool = True
    pre_promotion: Checks | None = None
    post_promotion: Checks | None = None
    #: How long the old version stays as it is after the switch, for an instant rollback.
    scale_down_delay: timedelta = timedelta(seconds=30)
    webhooks: tuple[webhook.Webhook, ...] = ()
    #: Percent of the new version's pods that have to be available before the switch.
    ready_threshold: int = 100

    @property
    def all_webhooks(self) -> tuple[webhook.Webhook, ...]:
        """The webhooks that are called on the way; checks have their own."""
        return self.webhooks


TRAFFIC_ROUTING = stage_kind.StageKind(
    name="K8S_TRAFFIC_ROUTING",
    options=TrafficOptions,
    description="Update traffic routing percentages for all targets",
    reference="Divide traffic between variants; the percentages add up to 100.",
    routes_traffic=True,
)
PROGRESSIVE_TRAFFIC = stage_kind.StageKind(
    name="K8S_PROGRESSIVE_TRAFFIC",
    options=ProgressiveTrafficOptions,
    description="Move traffic to the new version step by step",
    reference="Move traffic to canary step by step, as long as every check passes.",
    routes_traffic=True,
    instead_of_analysis="write the metrics under with",
)
BLUE_GREEN = stage_kind.StageKind(
    name="K8S_BLUE_GREEN",
    options=BlueGreenOptions,
    description="Switch all traffic to the new version",
    reference=(
        "Switch all traffic to canary at once, with a preview before and an instant rollback after."
    ),
    promotes=True,
    routes_traffic=True,
    instead_of_analysis="write prePromotion or postPromotion under with",
)
