"""Whether an application leaves a cluster, on which evidence, and where it goes. Pure.

The evidence that is needed (docs/explanation/failover.md says why):

- a person drained the cluster: enough for what is divided; nothing else moves;
- a taint with ``NoExecute`` outlasted what the application tolerates, and a person added it,
  or a rule added it and the external probe found that users are not served there. A rule alone is
  our own lost connection, and moves nothing;
- the application was unhealthy without a break on a cluster that answers, and is healthy elsewhere.

Each of them besides: the fleet looks well enough (`eviction_limits`), the rate allows it, and
there is somewhere to go. A person's drain does not wait for the rate, but for a fleet that can be
seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.config.crosscheck import eligibility
from volary.model import statuses
from volary.model.fleet import fleets, taints
from volary.model.placement import failover_rules
from volary.placement.failover import eviction_limits, observed_durations, situations, spread

#: How long an external probe has to find nobody served, where the application does not tolerate
#: less.
PROBE_CONFIRMED = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one application now."""

    #: Who leaves, beginning now.
    leaving: tuple[situations.Eviction, ...]
    #: The clusters it is on afterwards.
    chosen: tuple[str, ...]
    timers: Mapping[str, observed_durations.ObservedDuration]
    #: By cluster: why nothing moves although there is a reason.
    waiting: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EvictionReason:
    """A reason to leave a cluster: one that counts, or one that still lacks something."""

    cluster: str
    cause: situations.Cause
    evidence: str
    behaviour: failover_rules.Behaviour | None = None
    #: What is missing; empty: nothing.
    lacks: str = ""


def decide(situation: situations.Situation, allowance: eviction_limits.Allowance) -> Decision:
    """Return who leaves now, and what still waits for what."""
    kept: dict[str, observed_durations.ObservedDuration] = {}
    waiting: dict[str, str] = {}
    leaving: list[situations.Eviction] = []
    on_the_way = {eviction.cluster for eviction in situation.placement.leaving}
    chosen = tuple(name for name in situation.placement.chosen if name not in on_the_way)
    for name in chosen:
        reason = eviction_reason(situation, name, kept)
        if reason is None:
            continue
        closed = allowance.reason if allowance.is_closed else ""
        lacks = closed or reason.lacks or _limited(reason, allowance, len(leaving), situation)
        after = _replacement(situation, chosen, name)
        if not lacks:
            lacks = after.failure
        if lacks:
            waiting[name] = f"{reason.evidence}; {lacks}"
            continue
        leaving.append(replace(_evict(situation, reason, after), before=chosen))
        chosen = after.chosen
    return Decision(tuple(leaving), chosen, kept, waiting)


def _limited(
    reason: EvictionReason,
    allowance: eviction_limits.Allowance,
    begun: int,
    situation: situations.Situation,
) -> str:
    if reason.cause is not situations.Cause.DRAIN and begun >= allowance.moves:
        return f"it has to wait: {allowance.reason}"
    behaviour = reason.behaviour
    directly = behaviour is not None and behaviour.purge is failover_rules.Purge.DIRECTLY
    if directly and not situation.is_well(reason.cluster):
        return "purge Directly removes it first, and the cluster does not answer"
    return ""


def eviction_reason(
    situation: situations.Situation, name: str, kept: dict[str, observed_durations.ObservedDuration]
) -> EvictionReason | None:
    """Return why the application may leave a cluster; None: nothing speaks for it.

    Clocks of what goes on are kept in `kept`.
    """
    drained = _drained(situation, name)
    if drained is not None:
        return drained
    policy = situation.application.failover
    if policy is None:
        return None
    reason: EvictionReason | None = None
    if policy.cluster is not None:
        reason = _untolerated(situation, name, policy.cluster, policy.witness, kept)
    if policy.application is not None and (reason is None or reason.lacks):
        reason = _unhealthy(situation, name, policy.application, kept) or reason
    return reason


def _drained(situation: situations.Situation, name: str) -> EvictionReason | None:
    health = situation.known.get(name)
    mark = health.drain if health else None
    if mark is None:
        return None
    who = f"{name} was drained by {mark.by}" + (f": {mark.reason}" if mark.reason else "")
    undivided = "its replicas are not divided"
    if not situation.has_shares:
        undivided = "it has nothing that is divided (what autoscalers scale is not)"
    lacks = "" if situation.is_divided else f"{undivided}, so nothing moves"
    return EvictionReason(name, situations.Cause.DRAIN, who, None, lacks)


def _untolerated(
    situation: situations.Situation,
    name: str,
    behaviour: failover_rules.Behaviour,
    witness: failover_rules.ExternalProbe | None,
    kept: dict[str, observed_durations.ObservedDuration],
) -> EvictionReason | None:
    """Return the taint that is tolerated for the shortest time from now on."""
    cluster = next((target for target in situation.targets if target.name == name), None)
    reasons: list[tuple[timedelta, EvictionReason]] = []
    for mark in cluster.taints if cluster else ():
        limit = _toleration_left(mark, situation.application.tolerations, behaviour)
        if mark.effect is not taints.Effect.NO_EXECUTE or mark.key == taints.DRAINED:
            continue
        clock = _observe(situation, f"{name}/{mark.key}", kept)
        if limit is None:
            continue
        since = (mark.since or clock.since).strftime("%H:%M:%S")
        evidence = (
            f"{name} carries {taints.title(mark)} since {since},"
            f" tolerated for {observed_durations.describe(limit)}"
        )
        left = limit - clock.lasted
        lacks = (
            f"seen for {observed_durations.describe(clock.lasted)} so far"
            if left > timedelta()
            else ""
        )
        if mark.by == taints.BY_RULE:
            second, missing = _confirmed_by_probe(situation, name, witness, limit, kept)
            evidence, lacks = evidence + second, lacks or missing
        reasons.append(
            (left, EvictionReason(name, situations.Cause.CLUSTER, evidence, behaviour, lacks))
        )
    complete = [reason for reason in reasons if not reason[1].lacks]
    best = min(complete or reasons, key=lambda timed_reason: timed_reason[0], default=None)
    return best[1] if best else None


def _toleration_left(
    mark: taints.Taint,
    tolerations: Sequence[taints.Toleration],
    behaviour: failover_rules.Behaviour,
) -> timedelta | None:
    """Return how long a taint is tolerated; None: for ever (Kubernetes: the taint manager)."""
    about = [toleration for toleration in tolerations if taints.tolerates(toleration, mark)]
    if not about:
        return behaviour.toleration
    limits = [
        toleration.toleration_seconds
        for toleration in about
        if toleration.toleration_seconds is not None
    ]
    return timedelta(seconds=min(limits)) if limits else None


def _confirmed_by_probe(
    situation: situations.Situation,
    name: str,
    witness: failover_rules.ExternalProbe | None,
    limit: timedelta,
    kept: dict[str, observed_durations.ObservedDuration],
) -> tuple[str, str]:
    """Return what the external probe adds to the evidence, and what is missing."""
    if witness is None:
        missing = "a rule added the taint, and a lost connection is no evidence about users"
        return "", f"{missing}: add a witness, or taint it by hand"
    if name not in situation.served:
        why = situation.unasked.get(name)
        return "", f"the external probe {f'is not asked: {why}' if why else 'was not asked yet'}"
    served = situation.served[name]
    if served is None:
        return "", "the external probe does not answer, and silence is no evidence"
    if served:
        return "", "the external probe says that its users are served"
    clock = _observe(situation, f"{name}/witness", kept)
    needed = min(limit, PROBE_CONFIRMED)
    told = observed_durations.describe(clock.lasted)
    if clock.lasted < needed:
        return (
            "",
            f"the external probe has said that nobody is served for {told}"
            f" of {observed_durations.describe(needed)}",
        )
    return f", and the external probe has said for {told} that nobody is served there", ""


def _unhealthy(
    situation: situations.Situation,
    name: str,
    behaviour: failover_rules.Behaviour,
    kept: dict[str, observed_durations.ObservedDuration],
) -> EvictionReason | None:
    """Return that the application is unhealthy on a cluster that answers."""
    degraded, healthy = statuses.HealthStatus.DEGRADED, statuses.HealthStatus.HEALTHY
    if not situation.is_well(name) or situation.health.get(name) is not degraded:
        return None
    clock = _observe(situation, f"{name}/ill", kept)
    evidence = (
        f"{situation.application.name} is unhealthy on {name}, which answers, since"
        f" {clock.since:%H:%M:%S}, tolerated for"
        f" {observed_durations.describe(behaviour.toleration)}"
    )
    others = [cluster_name for cluster_name in situation.placement.chosen if cluster_name != name]
    well = [other for other in others if situation.health.get(other) is healthy]
    lacks = ""
    if clock.lasted < behaviour.toleration:
        lacks = f"seen for {observed_durations.describe(clock.lasted)} so far"
    elif others and not well:
        lacks = "it is not well on any other cluster either, so it is not the cluster"
    elif well:
        evidence += f", and well on {', '.join(well[:5])}"
    return EvictionReason(name, situations.Cause.APPLICATION, evidence, behaviour, lacks)


def _observe(
    situation: situations.Situation, key: str, kept: dict[str, observed_durations.ObservedDuration]
) -> observed_durations.ObservedDuration:
    before = situation.placement.timers.get(key)
    kept[key] = observed_durations.observe(before, situation.now, situation.rules.longest_gap)
    return kept[key]


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Where an application is once it has left a cluster."""

    chosen: tuple[str, ...]
    #: Clusters that are new.
    new: tuple[str, ...] = ()
    #: Why it cannot leave, in a clause; empty: it can.
    failure: str = ""


def _replacement(situation: situations.Situation, chosen: Sequence[str], name: str) -> _Replacement:
    remaining = [cluster_name for cluster_name in chosen if cluster_name != name]
    app = situation.application
    # Without a spread the others share what the cluster had.
    names, new = tuple(remaining), tuple[str, ...]()
    none_qualifies = "it is on every cluster of its targets with all its replicas: nothing to move"
    if app.spread:
        choice = spread.choose(list(_candidates(situation, remaining, name)), app.spread, remaining)
        if choice.failure:
            return _Replacement((), failure=f"there is nowhere to go: {choice.failure}")
        names = choice.names
        new = tuple(name for name in names if name not in remaining)
        none_qualifies = "there is nowhere to go: no other cluster qualifies"
    if not new and not situation.is_divided:
        return _Replacement((), failure=none_qualifies)
    if not any(map(situation.is_well, names)):
        return _Replacement((), failure="there is nowhere to go: no other cluster answers")
    return _Replacement(names, new)


def _candidates(
    situation: situations.Situation, remaining: Sequence[str], leaving: str
) -> Iterator[fleets.Cluster]:
    """Yield where it may be: where it is, and clusters that are well and take new work."""
    placement = situation.placement
    gone = {leaving, *placement.away, *(eviction.cluster for eviction in placement.leaving)}
    for cluster in situation.targets:
        if cluster.name in remaining:
            yield cluster
        elif cluster.name in gone or eligibility.exclusion_reason(situation.application, cluster):
            continue
        elif situation.is_well(cluster.name):
            yield cluster


def _evict(
    situation: situations.Situation, reason: EvictionReason, after: _Replacement
) -> situations.Eviction:
    replacements = after.new or after.chosen
    to = f"is shared by {', '.join(replacements)}"
    if after.new:
        keys = " and ".join(constraint.key for constraint in situation.application.spread)
        first = f"the first that answers and fits the spread by {keys}"
        to = f"goes to {', '.join(replacements)}, {first}"
    behaviour = reason.behaviour
    return situations.Eviction(
        reason.cluster,
        reason.cause,
        f"{reason.evidence}; what it runs {to}",
        situation.now,
        failover_rules.Purge.GRACEFULLY if behaviour is None else behaviour.purge,
        None if behaviour is None else behaviour.grace_period,
        replacements,
        lost=not situation.is_well(reason.cluster),
    )
