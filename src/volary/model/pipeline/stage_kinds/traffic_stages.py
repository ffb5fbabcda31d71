"""Stages that divide traffic between the variants."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from volary.model import analysis, options
from volary.model.pipeline import traffic, webhook
from volary.model.pipeline.stage_kinds import stage_kind

_INTERVAL = "Time between two checks, at least 1s."
_WEBHOOKS = "Who is asked, and when."
_READY = "Percent of its pods that must be ready."


@dataclass(frozen=True, slots=True)
class TrafficOptions(stage_kind.StageOptions):
    """Options of ``K8S_TRAFFIC_ROUTING``: percentages that add up to 100."""

    primary: int
    canary: options.Percentage = options.option("Percentage for canary.", 0)
    baseline: options.Percentage = options.option(
        "Percentage for baseline (not with `podselector`).", 0
    )
    match: tuple[traffic.RequestMatch, ...] = options.option(
        "Requests that go to canary whatever the percentages say: an A/B test. Without "
        "percentages primary gets all others.",
        (),
    )
    mirror: options.Percentage = options.option(
        "Percentage of the requests that canary gets a copy of; its answers are thrown "
        "away. Only for requests that may be repeated.",
        0,
    )
    session_affinity: traffic.SessionAffinity | None = options.option(
        "Keep users with their variant by cookie.", None
    )
    of: stage_kind.Scope = options.option(
        "What the percentages are of. `cluster`: of each cluster's own traffic; "
        "`fleet`: of the traffic of all clusters that carry the stage out together, of which each "
        "is taken to have as much as it has of primary's pods. `primary` may be left out then.",
        stage_kind.Scope.CLUSTER,
    )
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

    interval: timedelta = options.option(_INTERVAL, timedelta(seconds=60))
    threshold: int = options.option(
        "So many failed checks, counted over the whole stage, and it fails.", 1, least=1
    )
    step_weight: int = options.option(
        "Percent that canary gets more per step.", 0, least=0, most=100
    )
    step_weights: tuple[int, ...] = options.option(
        "Canary's percentages one after another, instead.", ()
    )
    max_weight: int = options.option("Where `stepWeight` ends, 1 to 100.", 100)
    step_weight_promotion: int = options.option(
        "Percent that go back to primary per interval once it runs the new version, "
        "by K8S_PRIMARY_ROLLOUT; 0: all at once.",
        0,
        least=0,
        most=100,
    )
    iterations: int = options.option(
        "Number of checks without weights: blue/green, or with `match` an A/B test.", 0, least=0
    )
    mirror: bool = options.option(
        "Send a copy of the requests to canary for one interval before the first step "
        "(with `iterations`: during all of them). Only for requests that may be repeated.",
        False,
    )
    mirror_weight: int = options.option(
        "Percent of requests that are copied.", 100, least=1, most=100
    )
    metrics: tuple[analysis.Rule, ...] = options.option(
        "What is measured with every check; the first that fails is a failed check.", ()
    )
    match: tuple[traffic.RequestMatch, ...] = options.option(
        "Requests that go to canary in an A/B test.", ()
    )
    session_affinity: traffic.SessionAffinity | None = options.option(
        "Keep users with their variant.", None
    )
    webhooks: tuple[webhook.Webhook, ...] = options.option(_WEBHOOKS, ())
    scope: stage_kind.Scope = options.option(
        "`cluster`: each cluster goes at its own pace; `fleet`: all go in step, and a "
        "failed check of one counts for all.",
        stage_kind.Scope.CLUSTER,
    )
    overshoot: bool = options.option(
        "A step may lead above `maxWeight`, as in Flagger; otherwise it is cut there.", False
    )
    immediate: bool = options.option(
        "Fail with the last failed check, not one interval after it as Flagger does.", False
    )
    #: How long canary may stay not ready before the stage fails.
    progress_deadline: timedelta = timedelta(minutes=10)
    ready_threshold: int = options.option(
        _READY, 100, least=1, most=100, key="canaryReadyThreshold"
    )
    scale_canary: bool = options.option(
        "Before each step give canary as many pods as its part of the traffic needs, "
        "counted from the pods that primary has then: for workloads that are scaled by load.",
        False,
    )

    @property
    def all_webhooks(self) -> tuple[webhook.Webhook, ...]:
        """The webhooks that are called on the way."""
        return self.webhooks


@dataclass(frozen=True, slots=True)
class Checks:
    """An analysis inside another stage."""

    interval: timedelta = options.option(_INTERVAL, timedelta(seconds=60))
    count: int = options.option("Number of checks.", 1, least=1)
    threshold: int = options.option("So many failed checks, and it failed.", 1, least=1)
    metrics: tuple[analysis.Rule, ...] = options.option("Measured with each check.", ())
    webhooks: tuple[webhook.Webhook, ...] = options.option(
        "Asked with each check; a refusal is a failed check.", ()
    )


@dataclass(frozen=True, slots=True)
class BlueGreenOptions(stage_kind.StageOptions):
    """Options of ``K8S_BLUE_GREEN``."""

    preview: bool = options.option("Make a Service that leads to canary only.", True)
    preview_service: options.DnsLabel = options.option(
        "Its name; empty: the Service's name with `-preview`.", ""
    )
    pre_promotion: Checks | None = options.option("Checks before the switch.", None)
    post_promotion: Checks | None = options.option(
        "Checks after the switch; when they fail, it is switched back.", None
    )
    scale_down_delay: timedelta = options.option(
        "How long the old version stays as it is after the switch: until then a "
        "rollback is one write.",
        timedelta(seconds=30),
    )
    webhooks: tuple[webhook.Webhook, ...] = options.option(_WEBHOOKS, ())
    ready_threshold: int = options.option(
        _READY, 100, least=1, most=100, key="canaryReadyThreshold"
    )

    @property
    def all_webhooks(self) -> tuple[webhook.Webhook, ...]:
        """The webhooks that are called on the way; checks have their own."""
        return self.webhooks


TRAFFIC_ROUTING = stage_kind.StageKind(
    name="K8S_TRAFFIC_ROUTING",
    runner="traffic_routing",
    options=TrafficOptions,
    description="Update traffic routing percentages for all targets",
    reference="Divide traffic between variants; the percentages add up to 100.",
    routes_traffic=True,
)
PROGRESSIVE_TRAFFIC = stage_kind.StageKind(
    name="K8S_PROGRESSIVE_TRAFFIC",
    runner="progressive_traffic",
    meets=True,
    options=ProgressiveTrafficOptions,
    description="Move traffic to the new version step by step",
    reference="Move traffic to canary step by step, as long as every check passes.",
    routes_traffic=True,
    instead_of_analysis="write the metrics under with",
)
BLUE_GREEN = stage_kind.StageKind(
    name="K8S_BLUE_GREEN",
    runner="blue_green",
    meets=True,
    options=BlueGreenOptions,
    description="Switch all traffic to the new version",
    reference=(
        "Switch all traffic to canary at once, with a preview before and an instant rollback after."
    ),
    promotes=True,
    routes_traffic=True,
    instead_of_analysis="write prePromotion or postPromotion under with",
)
