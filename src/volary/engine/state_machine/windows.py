"""Windows: what is queued waits while its cluster must not be changed.

Only stages that change a cluster are held up: one that waits, measures, asks or proves goes on,
because what it finds may be a reason to go back. What runs finishes, and a rollback is never
held up. The limits of stage and run stand still while nothing else is left to do.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import counters, policies, state, updates
from volary.model import phrases, statuses
from volary.model.placement import rollouts
from volary.placement import windows


def may_start(run: state.Run) -> bool:
    """Whether new work may begin, as far as the run goes."""
    if run.rollback:
        return not run.rollback.is_final
    return run.ending is None and run.pause is None and not run.current.is_final


def next_group(run: state.Run) -> state.GroupState | None:
    """Return the group of the current stage whose turn it is; None when all have ended."""
    return next((group for group in run.current.groups if not group.is_final), None)


def closed(run: state.Run, group: state.GroupState, now: datetime) -> Mapping[str, windows.Closure]:
    """Return the clusters with a queued task that must not be changed at `now`."""
    is_free = not run.windows or run.rollback or run.unfrozen
    if is_free or not run.current.stage.kind.changes_cluster or not _pending(group):
        return {}
    return _closures(run, [task.target for task in group.tasks if _is_pending(task)], now)


def is_all_closed(run: state.Run, group: state.GroupState, now: datetime) -> bool:
    """Say whether nothing of the group, which has not begun, may start at `now`."""
    return len(closed(run, group, now)) == _pending(group)


def update_openings(run: state.Run, now: datetime) -> state.Run:
    """Keep when the first of the clusters that wait for a window may be changed."""
    waited = any(group.opens is not None for group in run.current.groups)
    if run.rollback or not (run.windows or waited):
        return run
    group = next_group(run)
    stage = run.current
    for stage_group in stage.groups:
        waits = stage_group is group and group.is_open and may_start(run) and not run.held
        closures = closed(run, stage_group, now) if waits else {}
        opens = min((closure.opens for closure in closures.values()), default=None)
        said = _sentence(closures) if closures else ""
        if (opens, said) != (stage_group.opens, stage_group.closed):
            has_opened = stage_group.opens is not None and (
                now >= stage_group.opens or bool(run.unfrozen)
            )
            stage = updates.replace_group(
                stage, stage_group, replace(stage_group, opens=opens, closed=said)
            )
            stage = _extend_deadline(run, stage, now) if has_opened else stage
    return updates.replace_current(run, stage)


def _extend_deadline(run: state.Run, stage: state.StageState, now: datetime) -> state.StageState:
    """Give clusters that begin late as much time as those that did not have to wait."""
    if stage.deadline is None:
        return stage
    # The clock that stood still in the meantime adds its time itself.
    limit = (run.clock_stopped or now) + stage.stage.timeout
    return replace(stage, deadline=max(stage.deadline, limit))


def _pending(group: state.GroupState) -> int:
    return counters.of(group.tasks).pending


def _is_pending(task: state.TaskState) -> bool:
    return task.status is statuses.TaskStatus.PENDING


def _closures(
    run: state.Run, targets: Collection[str], now: datetime
) -> Mapping[str, windows.Closure]:
    """Ask once for all clusters that the same windows are for."""
    queued = set(targets)
    places_of: dict[str, list[int]] = {}
    for place, rule in enumerate(run.windows):
        for target in rule.targets:
            if target in queued:
                places_of.setdefault(target, []).append(place)
    known: dict[tuple[int, ...], windows.Closure | None] = {}
    closures = {}
    for target in targets:
        places = tuple(places_of.get(target, ()))
        if places not in known:
            known[places] = _closure([run.windows[place] for place in places], now)
        closure = known[places]
        if closure is not None:
            closures[target] = closure
    return closures


def _closure(those: Collection[policies.WindowRule], now: datetime) -> windows.Closure | None:
    allow: dict[str, list[rollouts.Window]] = {}
    for window_rule in those:
        if not window_rule.deny:
            allow.setdefault(window_rule.project, []).append(window_rule.window)
    deny = [window_rule.window for window_rule in those if window_rule.deny]
    return windows.closure((), deny, now, besides=tuple(allow.values()))


def _sentence(closures: Mapping[str, windows.Closure]) -> str:
    """Name the clusters that may be changed first, why not now, and when they may."""
    first = min(closures.values(), key=lambda closure: closure.opens)
    names = [name for name, closure in closures.items() if closure.opens == first.opens]
    others = len(closures) - len(names)
    more = f", {others} more later" if others else ""
    verb = "waits" if len(names) == 1 else "wait"
    return f"{phrases.join_names(names)} {verb} until {first.opening} ({first.why}){more}"
