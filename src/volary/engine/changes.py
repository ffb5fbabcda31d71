"""Which tasks differ between two states of a stage, found without looking at the others."""

from collections.abc import Iterator

from volary.engine import state, tally


def of_tasks(
    before: state.StageState | None, after: state.StageState
) -> Iterator[tuple[state.TaskState | None, state.TaskState]]:
    """Yield each changed task with how it was; all of them when the stage is new.

    Tasks never change their places, so states are compared in pairs, by identity.
    """
    if before is None:
        yield from ((None, task) for task in after.tasks)
        return
    for old, new in zip(before.groups, after.groups, strict=True):
        if old.tasks is not new.tasks:
            for place in tally.changes(old.tasks, new.tasks):
                yield old.tasks[place], new.tasks[place]
