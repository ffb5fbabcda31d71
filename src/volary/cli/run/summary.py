"""How a run ended, in the words a person needs next: what happened where, and what is left."""

from rich import console as rich_console
from rich import markup

from volary.cli import exit_codes
from volary.cli.run import cells, reasons
from volary.engine.runs import state
from volary.model import statuses

_COLOURS = {
    statuses.RunStatus.SUCCEEDED: "green",
    statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS: "yellow",
    statuses.RunStatus.ROLLED_BACK: "yellow",
    statuses.RunStatus.CANCELLED: "yellow",
}
_TROUBLE = (
    statuses.TaskStatus.FAILED,
    statuses.TaskStatus.UNREACHABLE,
    statuses.TaskStatus.CANCELLED,
)


def show(console: rich_console.Console, run: state.Run) -> None:
    """Print the result, and for every cluster that has trouble what was seen there."""
    said = reasons.Reasons()
    for stage in run.all_stages:
        for task in stage.tasks:
            if task.attempt and task.status in _TROUBLE:
                _show_task(console, stage, task, said.shortened(task.reason))
                said.say(task.target, task.reason)
    colour = _COLOURS.get(run.status, "red")
    spent = ""
    if run.started and run.finished:
        spent = f" after {cells.seconds((run.finished - run.started).total_seconds())}"
    status = run.status.value.replace("_", " ")
    console.print(f"[{colour}]{status}[/]{spent}: {markup.escape(said.shortened(run.reason))}")
    left = unchanged_clusters(run)
    if left:
        console.print(f"left as it is: {markup.escape(left)}")


def _show_task(
    console: rich_console.Console, stage: state.StageState, task: state.TaskState, why: str
) -> None:
    sign, colour = cells.SIGNS[task.status]
    name = stage.stage.name
    reason = markup.escape(why)
    console.print(f"[{colour}]{sign} {task.target}[/] {name} {task.status.value}: {reason}")
    for line in task.details:
        console.print(f"    {markup.escape(line)}")


def unchanged_clusters(run: state.Run) -> str:
    """Say where the run wrote and did not go back; empty when nothing is left halfway."""
    if run.status in (statuses.RunStatus.SUCCEEDED, statuses.RunStatus.ROLLED_BACK):
        return ""
    back = {
        task.target
        for task in (run.rollback.tasks if run.rollback else ())
        if task.status is statuses.TaskStatus.SUCCEEDED
    }
    halfway = [name for name in run.touched if name not in back]
    if run.status is statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
        without = {cluster.name for cluster in run.clusters if cluster.left_out}
        halfway = [name for name in halfway if name in without]
    return ", ".join(_left(run, name) for name in halfway)


def _left(run: state.Run, name: str) -> str:
    """Say how far a cluster has got."""
    tasks = [(stage, task) for stage in run.stages if (task := stage.task(name))]
    if tasks and all(task.status is statuses.TaskStatus.SUCCEEDED for _, task in tasks):
        return f"{name} (done)"
    begun = [stage.stage.name for stage, task in tasks if task.attempt]
    return f"{name} (up to {begun[-1]})" if begun else name


def exit_code(run: state.Run) -> exit_codes.Exit:
    """Return what the shell gets to know."""
    if run.status in statuses.GOOD_ENDS:
        return exit_codes.Exit.DONE
    if run.status is statuses.RunStatus.WAITING:
        return exit_codes.Exit.WAITING
    return exit_codes.Exit.FAILED
