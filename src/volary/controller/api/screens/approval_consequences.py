"""What an approval lets go on: where, what comes after it, and who is still needed. Pure."""

from volary.engine.runs import state
from volary.model import phrases
from volary.model.pipeline import variant


def still_needed(group: state.GroupState, given: int) -> str:
    """Return how many more have to agree, and who may; empty: nobody has to.

    Args:
        group: It waits for approval.
        given: How many have agreed, with the one that is asked about.
    """
    more = group.rule.count - given if group.rule else 0
    if group.rule is None or more <= 0:
        return ""
    have = "has" if more == 1 else "have"
    may = phrases.join_names(group.rule.approvers) or "anybody"
    return f"nothing begins until {more} more {have} approved (approvers: {may})"


def goes_on(run: state.Run, group: state.GroupState) -> str:
    """Return what goes on where once a group is approved, what comes next, and who is left out.

    ``the canary of 3f2a1c0 is promoted to primary on us and eu; asia is left out``
    """
    rest = run.stages[run.position :]
    # What is only a question to people does nothing by itself.
    work = [stage for stage in rest if not stage.stage.kind.waits_for_people]
    if not work:
        parts = ["the run goes on to its end"]
    else:
        first, following = work[0], work[1:]
        tasks = group.tasks if first is run.current else tuple(first.tasks)
        parts = [_of_stage(run, first, tasks)]
        here = [stage for stage in following if stage.wave == first.wave]
        if here:
            parts.append(f"{here[0].stage.name} comes next")
        waves = dict.fromkeys(stage.wave for stage in following if stage.wave != first.wave)
        if waves:
            noun, verb = ("wave", "comes") if len(waves) == 1 else ("waves", "come")
            parts.append(f"{noun} {phrases.join_names(tuple(waves))} {verb} after it")
    left_out = [cluster.name for cluster in run.clusters if cluster.left_out]
    if left_out:
        verb = "is" if len(left_out) == 1 else "are"
        parts.append(f"{phrases.join_names(left_out)} {verb} left out")
    return "; ".join(parts)


def _of_stage(run: state.Run, stage: state.StageState, tasks: tuple[state.TaskState, ...]) -> str:
    left_out = {cluster.name for cluster in run.clusters if cluster.left_out}
    clusters = phrases.join_names(
        [task.target for task in tasks if not task.is_final and task.target not in left_out]
    )
    where = f" on {clusters}" if clusters else ""
    kind, commit = stage.stage.kind, run.commit[:7]
    if not kind.promotes:
        return f"{stage.stage.name} begins{where}"
    before = run.stages[: run.stages.index(stage)]
    if any(one.stage.kind.applies is variant.Variant.CANARY for one in before):
        return f"the canary of {commit} is promoted to primary{where}"
    return f"{commit} becomes primary{where}"
