"""Given an application on some clusters of a fleet; when some are lost, tainted or unhealthy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.model import applications, statuses
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.placement import failover_rules, overrides, spread_constraints
from volary.placement.failover import decisions, eviction_limits, situations

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RULES = cluster_health.HealthRules()
READY, LOST = cluster_health.ClusterState.READY, cluster_health.ClusterState.UNREACHABLE
HEALTHY, DEGRADED = statuses.HealthStatus.HEALTHY, statuses.HealthStatus.DEGRADED
FREE = eviction_limits.Allowance(10, "")
NAMES = ("us", "eu", "asia", "sa")
WITNESS = failover_rules.ExternalProbe("https://edge.example.com/${cluster.name}")
CLUSTER = failover_rules.Failover(failover_rules.Behaviour(timedelta(minutes=5)), witness=WITNESS)
ILLNESS = failover_rules.Failover(application=failover_rules.Behaviour(timedelta(minutes=5)))
DIVIDED = overrides.Differences(replicas=overrides.ReplicaDivision(overrides.Division.DIVIDED))
BY_RULE = taints.Taint(
    taints.UNREACHABLE, "", taints.Effect.NO_EXECUTE, NOW, taints.BY_RULE, "it does not answer"
)
BY_HAND = taints.Taint("example.com/dead", "", taints.Effect.NO_EXECUTE, NOW, "ana", "flood")
LATER = timedelta(minutes=6)


def app(
    policy: failover_rules.Failover | None = CLUSTER,
    *,
    most: int = 2,
    tolerations: Sequence[taints.Toleration] = (),
    divided: bool = False,
) -> applications.Application:
    spread = (spread_constraints.Constraint(max_groups=most),) if most else ()
    return applications.Application(
        "shop",
        failover=policy,
        spread=spread,
        tolerations=tuple(tolerations),
        differences=DIVIDED if divided else overrides.Differences(),
    )


def seen(
    now: datetime,
    lost: Sequence[str] = (),
    marks: Mapping[str, taints.Taint] | None = None,
) -> dict[str, cluster_health.ClusterHealth]:
    marks = marks or {}
    return {
        name: cluster_health.ClusterHealth(
            name,
            LOST if name in lost else READY,
            NOW,
            taints=(marks[name],) if name in marks else (),
            observed=now,
            steady=NOW,
        )
        for name in NAMES
    }


def situation(
    application: applications.Application,
    now: datetime = NOW,
    *,
    lost: Sequence[str] = (),
    marks: Mapping[str, taints.Taint] | None = None,
    chosen: Sequence[str] = ("us", "eu"),
    placement: situations.PlacementState | None = None,
    served: Mapping[str, bool | None] | None = None,
    health: Mapping[str, statuses.HealthStatus] | None = None,
    unasked: Mapping[str, str] | None = None,
) -> situations.Situation:
    marks = marks or {}
    targets = tuple(
        fleets.Cluster(name, taints=(marks[name],) if name in marks else ()) for name in NAMES
    )
    return situations.Situation(
        application,
        targets,
        seen(now, lost, marks),
        placement or situations.PlacementState(tuple(chosen)),
        now,
        RULES,
        served or {},
        health or {},
        unasked or {},
    )


def watched(
    application: applications.Application,
    until: timedelta,
    *,
    step: timedelta = RULES.interval,
    **given: object,
) -> decisions.Decision:
    """Return the decision after looking again and again for a while."""
    placement = situations.PlacementState(("us", "eu"))
    now = NOW
    while True:
        looked = situation(application, now, placement=placement, **given)  # type: ignore[arg-type]
        decision = decisions.decide(looked, FREE)
        if decision.leaving or now - NOW >= until:
            return decision
        placement = replace(placement, timers=decision.timers)
        now += step
