"""How a cluster's state follows from probes, and which taints follow from its state.

A new state counts once it was seen without a break for as long as the rules say, so that a
cluster that comes and goes keeps the state it had (Karmada: failure and success threshold).
Two probes that are too far apart are no evidence for the time between them: the process may
have been stopped. A clock that was set back begins anew as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from volary.model.fleet import cluster_health, fleets, selectors, taints

State = cluster_health.ClusterState
FAILING = (State.NOT_READY, State.UNREACHABLE)


def new_cluster(cluster: str, now: datetime) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster that is new in the fleet."""
    return cluster_health.ClusterHealth(cluster, first_seen=now)


def observe(
    known: cluster_health.ClusterHealth,
    probe: cluster_health.ProbeResult,
    now: datetime,
    rules: cluster_health.HealthRules,
) -> cluster_health.ClusterHealth:
    """Return what is known after one probe; taints are left to `taint`."""
    gap = not is_fresh(known, now, rules)
    seen = replace(
        known,
        observed=now,
        identity=probe.identity or known.identity,
        answers=probe.state is State.READY,
    )
    if probe.state is known.state:
        return replace(
            seen,
            steady=known.steady if known.steady and not gap else now,
            reason=known.reason or probe.reason,
            pending=None,
        )
    pending = known.pending
    if gap or pending is None or not _is_same_kind(pending.state, probe.state):
        pending = cluster_health.PendingChange(probe.state, now, probe.reason)
    pending = replace(pending, state=probe.state, reason=probe.reason)
    if now - pending.since < _threshold(known.state, probe.state, rules):
        return replace(seen, pending=pending, steady=known.steady if not gap else None)
    return replace(
        seen,
        state=probe.state,
        since=now,
        reason=probe.reason,
        steady=now,
        pending=None,
    )


def suspect(
    known: cluster_health.ClusterHealth, reason: str, now: datetime
) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster whose requests are not answered any more.

    Its state stays as it is: how long it has to fail is counted from now on, and the next probe
    says whether it still does.
    """
    pending = known.pending
    if known.state is State.READY and pending is None:
        pending = cluster_health.PendingChange(State.UNREACHABLE, now, reason)
    return replace(known, pending=pending, answers=False)


def answered(known: cluster_health.ClusterHealth) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster that has just answered a request.

    Whether it is ready only a probe can say; but one that answers was not silent without a break.
    """
    pending = known.pending
    if known.state is State.READY and pending and pending.state is State.UNREACHABLE:
        pending = None
    return replace(known, pending=pending, answers=True)


def suspend(known: cluster_health.ClusterHealth, now: datetime) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster that the fleet file suspends."""
    if known.state is State.SUSPENDED:
        return known
    return _reset_to(known, State.SUSPENDED, now, "suspended in the fleet")


def resume(known: cluster_health.ClusterHealth, now: datetime) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster that is not suspended, or has come back to the fleet."""
    if known.state is State.SUSPENDED or known.left is not None:
        return replace(_reset_to(known, State.UNKNOWN, now, "not probed yet"), left=None)
    return known


def mark_removed(
    known: cluster_health.ClusterHealth, now: datetime
) -> cluster_health.ClusterHealth:
    """Return what is known of a cluster that is not in the fleet any more."""
    if known.left is not None:
        return known
    gone = _reset_to(known, State.UNKNOWN, now, "it left the fleet")
    return replace(gone, left=now)


def apply_taint_rules(
    known: cluster_health.ClusterHealth,
    cluster: fleets.Cluster,
    now: datetime,
    rules: cluster_health.HealthRules,
) -> cluster_health.ClusterHealth:
    """Return what is known with the taints that the rules add now; those by hand stay.

    A taint keeps the time it was added at. One that waits for a state to last is added only by a
    process that has itself seen the state for as long as it takes to believe it.
    """
    before = {taint.identity: taint for taint in known.taints if taint.by == taints.BY_RULE}
    by_hand = [taint for taint in known.taints if taint.by != taints.BY_RULE]
    wanted = [
        _rule_taint(before, known, rule, now)
        for rule in (*cluster_health.BUILT_IN_TAINT_RULES, *rules.taints)
        if _rule_applies(known, cluster, rule, now, rules, before)
    ]
    return replace(known, taints=taints.merge(by_hand, wanted))


def taint(
    known: cluster_health.ClusterHealth, marks: Iterable[taints.Taint]
) -> cluster_health.ClusterHealth:
    """Return what is known with taints added by hand; of one key and effect the newest stays."""
    return replace(known, taints=taints.merge(marks, known.taints))


def untaint(
    known: cluster_health.ClusterHealth, key: str, effect: taints.Effect | None = None
) -> cluster_health.ClusterHealth:
    """Return what is known without the taints by hand of a key, of one effect or of all."""
    left = tuple(
        taint
        for taint in known.taints
        if taint.by == taints.BY_RULE or taint.key != key or effect not in (None, taint.effect)
    )
    return replace(known, taints=left)


def with_manual_taints(
    health: cluster_health.ClusterHealth, before: cluster_health.ClusterHealth
) -> cluster_health.ClusterHealth:
    """Return what a probe found with the taints by hand as they are by now."""
    by_hand = (taint for taint in before.taints if taint.by != taints.BY_RULE)
    by_rule = (taint for taint in health.taints if taint.by == taints.BY_RULE)
    return replace(health, taints=taints.merge(by_hand, by_rule))


def forget_observations(known: cluster_health.ClusterHealth) -> cluster_health.ClusterHealth:
    """Return what is known as if this process had just begun: what it saw is no evidence."""
    return replace(known, observed=None, steady=None, pending=None)


def is_stored_same(one: cluster_health.ClusterHealth, other: cluster_health.ClusterHealth) -> bool:
    """Say whether two differ in nothing that is kept."""
    return _stored(one) == _stored(other)


def with_taints(
    members: fleets.Fleet, known: Mapping[str, cluster_health.ClusterHealth]
) -> fleets.Fleet:
    """Return the fleet with every cluster's taints: those of its file, by hand and by rules."""
    return replace(
        members,
        clusters=tuple(
            replace(cluster, taints=taints.merge(cluster.taints, known[cluster.name].taints))
            if cluster.name in known and known[cluster.name].taints
            else cluster
            for cluster in members.clusters
        ),
    )


def _stored(known: cluster_health.ClusterHealth) -> cluster_health.ClusterHealth:
    reason = known.reason if known.pending is None else ""
    return replace(forget_observations(known), answers=False, reason=reason)


def _reset_to(
    known: cluster_health.ClusterHealth, state: State, now: datetime, reason: str
) -> cluster_health.ClusterHealth:
    left = tuple(taint for taint in known.taints if taint.by != taints.BY_RULE)
    return replace(forget_observations(known), state=state, since=now, reason=reason, taints=left)


def is_fresh(
    known: cluster_health.ClusterHealth, now: datetime, rules: cluster_health.HealthRules
) -> bool:
    """Say whether this process has just observed a cluster; else the time since is no evidence."""
    if known.observed is None:
        return False
    return timedelta() <= now - known.observed <= rules.longest_gap


def _is_same_kind(one: State, other: State) -> bool:
    """Say whether two states differ only in how a cluster fails."""
    return one is other or (one in FAILING and other in FAILING)


def _threshold(before: State, after: State, rules: cluster_health.HealthRules) -> timedelta:
    """Return how long a new state has to be seen.

    The first answer counts at once, and one that says "not ready" after silence (Karmada).
    """
    if after is State.READY:
        return timedelta() if before is State.UNKNOWN else rules.success_threshold
    speaks = before is State.UNREACHABLE and after is State.NOT_READY
    return timedelta() if speaks else rules.failure_threshold


def _rule_applies(
    known: cluster_health.ClusterHealth,
    cluster: fleets.Cluster,
    rule: cluster_health.TaintRule,
    now: datetime,
    rules: cluster_health.HealthRules,
    before: Mapping[tuple[str, taints.Effect], taints.Taint],
) -> bool:
    if known.state not in rule.states or known.since is None:
        return False
    if not selectors.matches(rule.targets, cluster):
        return False
    if (rule.key, rule.effect) in before or not rule.after:
        return True
    if known.steady is None or now - known.since < rule.after:
        return False
    return now - known.steady >= min(rule.after, rules.failure_threshold)


def _rule_taint(
    before: Mapping[tuple[str, taints.Effect], taints.Taint],
    known: cluster_health.ClusterHealth,
    rule: cluster_health.TaintRule,
    now: datetime,
) -> taints.Taint:
    existing = before.get((rule.key, rule.effect))
    if existing is not None and existing.value == rule.value:
        return existing
    reason = known.reason or f"it is {known.state.value}"
    return taints.Taint(rule.key, rule.value, rule.effect, now, taints.BY_RULE, reason)
