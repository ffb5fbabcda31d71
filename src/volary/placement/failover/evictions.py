"""What comes next for applications that are on their way off a cluster. Pure.

Replacement first, removal after; nothing is removed on a cluster that does not answer, and on one
that was lost and came back only in a run that has just seen the replacement healthy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from volary.model import backoffs
from volary.model.placement import failover_rules
from volary.placement.failover import decisions, move_plans, observed_durations, situations

_BACKOFF = backoffs.Backoff(timedelta(seconds=30), timedelta(minutes=10))


class Step(StrEnum):
    """What a run does for one that leaves."""

    #: Nothing at the moment.
    WAIT = "wait"
    #: Its replacements are brought up.
    PLACE = "place"
    #: The old copy goes first, then the replacements come.
    REMOVE_FIRST = "removeFirst"
    #: The replacements are brought up, or seen healthy once more, and then the old copy goes.
    REMOVE_LAST = "removeLast"


@dataclass(frozen=True, slots=True)
class NextSteps:
    """What comes next."""

    leaving: tuple[situations.Eviction, ...]
    #: What a run has to do now; None: nothing.
    shift: move_plans.MovePlan | None
    #: Why the run is made, one sentence.
    reason: str
    #: By cluster: what is waited for.
    waiting: Mapping[str, str]


def next_steps(
    situation: situations.Situation,
    leaving: Sequence[situations.Eviction],
    chosen: Sequence[str],
) -> NextSteps:
    """Return what comes next for all that leave."""
    after: list[situations.Eviction] = []
    waiting: dict[str, str] = {}
    steps: list[tuple[Step, situations.Eviction]] = []
    for eviction in leaving:
        is_well = situation.is_well(eviction.cluster)
        now = _observed(situation, eviction, is_well=is_well)
        step, why = _step(now, is_well=is_well)
        targets = _targets(situation, now, chosen)
        if step is not Step.WAIT and not targets:
            step, why = Step.WAIT, "no cluster that takes its part answers"
        if step is not Step.WAIT and not _is_due(now, situation.now):
            step, why = Step.WAIT, f"it failed {now.attempts} times and is tried again soon"
        if step is Step.WAIT:
            waiting[eviction.cluster] = f"{now.reason}; {why}"
        else:
            tries = now.attempts + 1
            now = replace(now, tried=situation.now, attempts=tries, replacements=targets)
            steps.append((step, now))
        after.append(now)
    if not steps:
        return NextSteps(tuple(after), None, "", waiting)
    reason = "; ".join(_describe(step, observed_eviction) for step, observed_eviction in steps)
    return NextSteps(tuple(after), _move_plan(steps), reason, waiting)


def paused(leaving: Sequence[situations.Eviction], why: str) -> NextSteps:
    """Return that nothing comes next, for a reason that holds for all."""
    waiting = {eviction.cluster: f"{eviction.reason}; {why}" for eviction in leaving}
    return NextSteps(tuple(leaving), None, "", waiting)


def _observed(
    situation: situations.Situation, eviction: situations.Eviction, *, is_well: bool
) -> situations.Eviction:
    now = replace(eviction, lost=eviction.lost or not is_well)
    if now.replaced:
        return now
    waited = observed_durations.observe(now.waited, situation.now, situation.rules.longest_gap)
    return replace(now, waited=waited)


def _step(eviction: situations.Eviction, *, is_well: bool) -> tuple[Step, str]:
    if eviction.removed:
        return Step.PLACE, ""
    match eviction.purge:
        case failover_rules.Purge.NEVER:
            if eviction.replaced:
                return Step.WAIT, "it was replaced; the old copy stays until a rebalance"
            return Step.PLACE, ""
        case failover_rules.Purge.DIRECTLY:
            if is_well:
                return Step.REMOVE_FIRST, ""
            why = "purge Directly removes it first, and the cluster does not answer"
            return Step.WAIT, why
        case failover_rules.Purge.GRACEFULLY:
            return _gracefully(eviction, is_well=is_well)


def _gracefully(eviction: situations.Eviction, *, is_well: bool) -> tuple[Step, str]:
    if is_well:
        return (Step.REMOVE_FIRST if _is_overdue(eviction) else Step.REMOVE_LAST), ""
    if eviction.replaced:
        return Step.WAIT, f"it was replaced; {eviction.cluster} is cleaned up once it answers again"
    return Step.PLACE, ""


def _is_overdue(eviction: situations.Eviction) -> bool:
    """Say whether nobody waits for a healthy replacement any more (Karmada: grace period).

    Of a cluster that was lost the old copy may be all there is: it is never given up for that.
    """
    if eviction.grace is None or eviction.lost or eviction.replaced or eviction.waited is None:
        return False
    return eviction.attempts > 0 and eviction.waited.lasted >= eviction.grace


def _is_due(eviction: situations.Eviction, now: datetime) -> bool:
    """Say whether it may be tried again; a clock that was set back does not hold it up."""
    if eviction.tried is None:
        return True
    return not timedelta() <= now - eviction.tried < _BACKOFF.after(eviction.attempts)


def _targets(
    situation: situations.Situation, eviction: situations.Eviction, chosen: Sequence[str]
) -> tuple[str, ...]:
    """Return who takes its part and answers; all that are left, where those it had are not."""
    wanted = [name for name in eviction.replacements if name in chosen] or list(chosen)
    return tuple(filter(situation.is_well, wanted))


def _move_plan(steps: Sequence[tuple[Step, situations.Eviction]]) -> move_plans.MovePlan:
    def of(wanted: Step) -> tuple[str, ...]:
        return tuple(eviction.cluster for step, eviction in steps if step is wanted)

    place = dict.fromkeys(name for _, eviction in steps for name in eviction.replacements)
    return move_plans.MovePlan(of(Step.REMOVE_FIRST), tuple(place), (), of(Step.REMOVE_LAST))


def _describe(step: Step, eviction: situations.Eviction) -> str:
    if step is Step.REMOVE_LAST and eviction.replaced:
        back = (
            f"{eviction.cluster} answers again" if eviction.lost else f"{eviction.cluster} is left"
        )
        when = f"{eviction.since:%Y-%m-%d %H:%M:%S}"
        return f"{back}: what moved away at {when} is removed there"
    if _is_overdue(eviction) and step is Step.REMOVE_FIRST:
        assert eviction.grace is not None
        grace = observed_durations.describe(eviction.grace)
        return f"no healthy replacement within {grace}: {eviction.reason}"
    return eviction.reason


def without_pending(situation: situations.Situation) -> situations.PlacementState | None:
    """Return what is remembered once moves that have not begun are withdrawn; None: they stay.

    For all that is about to leave the reason has gone: the taint was removed, the cluster is
    healthy, the application is healthy again.
    """
    placement = situation.placement
    waiting = [eviction for eviction in placement.leaving if _is_pending(eviction)]
    if not waiting or any(
        not situation.is_well(eviction.cluster)
        or decisions.eviction_reason(situation, eviction.cluster, {}) is not None
        for eviction in waiting
    ):
        return None
    names = {eviction.cluster for eviction in waiting}
    return replace(
        placement,
        chosen=waiting[0].before or placement.chosen,
        away={name: why for name, why in placement.away.items() if name not in names},
        leaving=tuple(eviction for eviction in placement.leaving if eviction.cluster not in names),
        waiting={name: why for name, why in placement.waiting.items() if name not in names},
    )


def _is_pending(eviction: situations.Eviction) -> bool:
    return eviction.attempts <= 1 and not eviction.replaced and not eviction.removed
