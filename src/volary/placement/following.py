"""What comes next for applications that are on their way off a cluster. Pure.

Replacement first, removal after; nothing is removed on a cluster that does not answer, and on one
that was lost and came back only in a run that has just seen the replacement healthy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from volary.model import failover as words
from volary.placement import clocks, failover, shifts

_FIRST_DELAY = timedelta(seconds=30)
_LONGEST_DELAY = timedelta(minutes=10)


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
class Following:
    """What comes next."""

    leaving: tuple[failover.Leaving, ...]
    #: What a run has to do now; None: nothing.
    shift: shifts.Shift | None
    #: Why the run is made, one sentence.
    reason: str
    #: By cluster: what is waited for.
    waiting: Mapping[str, str]


def follow(
    situation: failover.Situation,
    leaving: Sequence[failover.Leaving],
    chosen: Sequence[str],
) -> Following:
    """Return what comes next for all that leave."""
    after: list[failover.Leaving] = []
    waiting: dict[str, str] = {}
    steps: list[tuple[Step, failover.Leaving]] = []
    for each in leaving:
        is_well = situation.is_well(each.cluster)
        now = _watched(situation, each, is_well=is_well)
        step, why = _step(now, is_well=is_well)
        targets = _targets(situation, now, chosen)
        if step is not Step.WAIT and not targets:
            step, why = Step.WAIT, "no cluster that takes its part answers"
        if step is not Step.WAIT and not _is_due(now, situation.now):
            step, why = Step.WAIT, f"it failed {now.attempts} times and is tried again soon"
        if step is Step.WAIT:
            waiting[each.cluster] = f"{now.reason}; {why}"
        else:
            tries = now.attempts + 1
            now = replace(now, tried=situation.now, attempts=tries, replacements=targets)
            steps.append((step, now))
        after.append(now)
    if not steps:
        return Following(tuple(after), None, "", waiting)
    reason = "; ".join(_told(step, each) for step, each in steps)
    return Following(tuple(after), _shift(steps), reason, waiting)


def held(leaving: Sequence[failover.Leaving], why: str) -> Following:
    """Return that nothing comes next, for a reason that holds for all."""
    waiting = {each.cluster: f"{each.reason}; {why}" for each in leaving}
    return Following(tuple(leaving), None, "", waiting)


def _watched(
    situation: failover.Situation, each: failover.Leaving, *, is_well: bool
) -> failover.Leaving:
    if each.replaced:
        return replace(each, lost=each.lost or not is_well)
    waited = clocks.tick(each.waited, situation.now, situation.rules.longest_gap)
    return replace(each, lost=each.lost or not is_well, waited=waited)


def _step(each: failover.Leaving, *, is_well: bool) -> tuple[Step, str]:
    if each.removed:
        return Step.PLACE, ""
    match each.purge:
        case words.Purge.NEVER:
            if each.replaced:
                return Step.WAIT, "it was replaced; the old copy stays until a rebalance"
            return Step.PLACE, ""
        case words.Purge.DIRECTLY:
            if is_well:
                return Step.REMOVE_FIRST, ""
            why = "purge Directly removes it first, and the cluster does not answer"
            return Step.WAIT, why
        case words.Purge.GRACEFULLY:
            return _gracefully(each, is_well=is_well)


def _gracefully(each: failover.Leaving, *, is_well: bool) -> tuple[Step, str]:
    if is_well:
        return (Step.REMOVE_FIRST if _is_overdue(each) else Step.REMOVE_LAST), ""
    if each.replaced:
        return Step.WAIT, f"it was replaced; {each.cluster} is cleaned up once it answers again"
    return Step.PLACE, ""


def _is_overdue(each: failover.Leaving) -> bool:
    """Say whether nobody waits for a healthy replacement any more (Karmada: grace period).

    Of a cluster that was lost the old copy may be all there is: it is never given up for that.
    """
    if each.grace is None or each.lost or each.replaced or each.waited is None:
        return False
    return each.attempts > 0 and each.waited.lasted >= each.grace


def _is_due(each: failover.Leaving, now: datetime) -> bool:
    """Say whether it may be tried again; a clock that was set back does not hold it up."""
    if each.tried is None or not each.attempts:
        return True
    doublings = min(each.attempts - 1, 10)
    passed = now - each.tried
    return not timedelta() <= passed < min(_FIRST_DELAY * 2**doublings, _LONGEST_DELAY)


def _targets(
    situation: failover.Situation, each: failover.Leaving, chosen: Sequence[str]
) -> tuple[str, ...]:
    """Return who takes its part and answers; all that are left, where those it had are not."""
    wanted = [name for name in each.replacements if name in chosen] or list(chosen)
    return tuple(filter(situation.is_well, wanted))


def _shift(steps: Sequence[tuple[Step, failover.Leaving]]) -> shifts.Shift:
    def of(wanted: Step) -> tuple[str, ...]:
        return tuple(each.cluster for step, each in steps if step is wanted)

    place = dict.fromkeys(name for _, each in steps for name in each.replacements)
    return shifts.Shift(of(Step.REMOVE_FIRST), tuple(place), (), of(Step.REMOVE_LAST))


def _told(step: Step, each: failover.Leaving) -> str:
    if step is Step.REMOVE_LAST and each.replaced:
        back = f"{each.cluster} answers again" if each.lost else f"{each.cluster} is left"
        when = f"{each.since:%Y-%m-%d %H:%M:%S}"
        return f"{back}: what moved away at {when} is removed there"
    if _is_overdue(each) and step is Step.REMOVE_FIRST:
        assert each.grace is not None
        return f"no healthy replacement within {clocks.told(each.grace)}: {each.reason}"
    return each.reason


def concluded(
    leaving: Sequence[failover.Leaving],
    placed: frozenset[str],
    removed: frozenset[str],
    shift: shifts.Shift,
) -> tuple[failover.Leaving, ...]:
    """Return who is still leaving after a run.

    Args:
        leaving: Those before.
        placed: Clusters that the run proved to hold their part.
        removed: Clusters that the application is gone from.
        shift: What the run had to do.
    """
    is_replaced = bool(shift.place) and set(shift.place) <= placed
    found = []
    for each in leaving:
        concerned = is_replaced and bool(set(each.replacements) & set(shift.place))
        now = replace(
            each,
            replaced=each.replaced or concerned,
            removed=each.removed or each.cluster in removed,
        )
        if now.replaced and now.removed:
            continue
        went_well = concerned and (each.cluster not in shift.leaves or now.removed)
        found.append(replace(now, tried=None, attempts=0) if went_well else now)
    return tuple(found)


def taken_back(situation: failover.Situation) -> failover.Standing | None:
    """Return what is remembered once moves that have not begun are taken back; None: they hold.

    For all that is about to leave the reason has gone: the mark was taken away, the cluster is
    well, the application is not ill any more.
    """
    standing = situation.standing
    waiting = [each for each in standing.leaving if _has_not_begun(each)]
    if not waiting or any(
        not situation.is_well(each.cluster)
        or failover.reason_to_leave(situation, each.cluster, {}) is not None
        for each in waiting
    ):
        return None
    names = {each.cluster for each in waiting}
    return replace(
        standing,
        chosen=waiting[0].before or standing.chosen,
        away={name: why for name, why in standing.away.items() if name not in names},
        leaving=tuple(each for each in standing.leaving if each.cluster not in names),
        waiting={name: why for name, why in standing.waiting.items() if name not in names},
    )


def _has_not_begun(each: failover.Leaving) -> bool:
    return each.attempts <= 1 and not each.replaced and not each.removed
