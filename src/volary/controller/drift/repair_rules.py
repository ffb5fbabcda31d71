"""Whether and when drift is repaired: pure.

A repair never begins while anything else of the application is requested or under way, while it is
paused, on clusters that are not ready, cordoned or frozen, nor where an object is somebody else's
as well. The same fields are repaired ever later, and no more once somebody has set them back as
often as `drift_states.MOST_REPAIRS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from volary.controller.drift import comparisons
from volary.controller.status import application_statuses, drift_states
from volary.model import drift_rules, phrases

_Word = drift_states.SyncWord


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of an application's drift."""

    #: The clusters that are repaired now; empty: none is.
    targets: tuple[str, ...] = ()
    #: The commit that they are on.
    commit: str = ""
    #: Why they are repaired, or why nothing is although that is wished; empty: it is not.
    reason: str = ""
    #: What a repair would change.
    fields: frozenset[str] = frozenset()
    #: When it is repaired, at the earliest; None: it is not, or at once.
    after: datetime | None = None
    #: It is not repaired any more, because somebody sets the same fields back.
    gives_up: bool = False


def decide(
    comparison: comparisons.Comparison,
    status: application_statuses.ApplicationStatus,
    now: datetime,
    why_not: Callable[[str], str],
) -> Decision:
    """Return what is repaired now.

    `why_not` says of a cluster, in a clause, why nothing may be changed there; empty: it may.
    """
    drifted = [one for one in comparison.clusters if one.status is _Word.OUT_OF_SYNC]
    if comparison.mode is not drift_rules.DriftMode.REPAIR or not drifted:
        return Decision()
    to_repair = [one for one in drifted if one.fields]
    if not to_repair:
        return Decision(reason="a repair never deletes what Git does not have")
    kept = {one.name: _why_kept(one, why_not) for one in to_repair}
    free = [one for one in to_repair if not kept[one.name]]
    if not free:
        return Decision(reason=phrases.first_of(f"{name}: {why}" for name, why in kept.items()))
    chosen = [one for one in free if one.commit == free[0].commit]
    fields = frozenset(field for one in chosen for field in one.fields)
    if drift_states.is_fought_over(status.drift, fields):
        return Decision(reason=_given_up(chosen, status.drift), gives_up=True)
    after = drift_states.next_repair(status.drift, fields, comparison.window)
    if after is not None and now < after:
        return Decision(reason=_again(after, status.drift), after=after)
    return Decision(
        tuple(one.name for one in chosen),
        chosen[0].commit,
        f"drift: {comparisons.summarize(chosen)}",
        fields,
    )


def _why_kept(cluster: comparisons.ClusterComparison, why_not: Callable[[str], str]) -> str:
    if cluster.shared:
        return f"{cluster.shared[0]} is somebody else's as well, so nothing is repaired beside it"
    return why_not(cluster.name)


def _again(after: datetime, state: drift_states.DriftState) -> str:
    if state.repairs is not None and state.repairs.failure:
        return (
            f"the last repair failed: {state.repairs.failure}; it is tried again at"
            f" {after:%H:%M:%S}"
        )
    return f"it is repaired at {after:%H:%M:%S}"


def _given_up(clusters: list[comparisons.ClusterComparison], state: drift_states.DriftState) -> str:
    repaired = state.repairs.fields if state.repairs is not None else ()
    fought = [
        field
        for one in clusters
        for item in one.objects
        for field in item.differences
        if f"{one.name} {item.key} {field.path}" in repaired
    ]
    who = comparisons.managers(fought) or "somebody"
    what = phrases.first_of(dict.fromkeys(field.path for field in fought)) or "it"
    times = phrases.count(drift_states.MOST_REPAIRS, "repair")
    if state.repairs is not None and state.repairs.failure:
        return f"no more repairs after {times}: the last failed: {state.repairs.failure}"
    return (
        f"no more repairs after {times}: {who} changes {what} back each time; name the manager or"
        " the field under ignoreDifferences, or stop who changes it"
    )
