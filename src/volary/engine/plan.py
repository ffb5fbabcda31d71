"""Builds a planned run: which stage visits which clusters, in which groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from volary.engine import state
from volary.model import errors, problem
from volary.model import stage as stages


@dataclass(frozen=True, slots=True)
class Group:
    """Targets that move together in every stage."""

    targets: tuple[str, ...]
    name: str = ""
    #: How many of them are worked on at once; 0: all.
    concurrency: int = 0
    #: Asked for before the group starts in each stage it is part of.
    approval: state.ApprovalRule | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is made from."""

    application: str
    commit: str
    groups: tuple[Group, ...]
    stages: tuple[stages.Stage, ...]
    running_commit: str = ""
    policy: state.Policy = field(default_factory=state.Policy)


def one_group(targets: Sequence[str], *, concurrency: int = 0) -> tuple[Group, ...]:
    """Return the groups of a run without waves."""
    return (Group(tuple(targets), concurrency=concurrency),)


def new_run(run_id: str, plan: Plan, at: datetime) -> state.Run:
    """Return a planned run that waits for `events.Start`.

    Raises:
        errors.UserError: Nothing to do: no stage, no target, a target twice, a stage
            limited to no cluster or to one that is not a target, a limit that is not
            positive. All problems at once.
    """
    problems = list(_problems(plan))
    if problems:
        raise errors.UserError(*(problem.Problem(each) for each in problems))
    targets = [target for group in plan.groups for target in group.targets]
    return state.Run(
        id=run_id,
        application=plan.application,
        commit=plan.commit,
        running_commit=plan.running_commit,
        clusters=tuple(state.ClusterState(target) for target in targets),
        stages=tuple(
            _stage(replace(stage, index=index), plan.groups)
            for index, stage in enumerate(plan.stages)
        ),
        policy=plan.policy,
        created=at,
    )


def rollback(run: state.Run) -> state.StageState:
    """Return the stage that takes the touched clusters of `run` back.

    As many at once as the run's most careful group allows; approvals are not asked:
    gates never hold up the way back.
    """
    limit = run.policy.rollback_timeout
    groups = run.stages[run.position].groups
    options = stages.RollbackOptions()
    stage = stages.Stage(stages.StageName.ROLLBACK, options, index=len(run.stages), timeout=limit)
    concurrency = min((group.concurrency for group in groups if group.concurrency), default=0)
    tasks = tuple(state.TaskState(target) for target in run.touched)
    return state.StageState(
        id=state.ROLLBACK_ID,
        stage=stage,
        groups=(state.GroupState(tasks, concurrency=concurrency),),
    )


def _stage(stage: stages.Stage, groups: tuple[Group, ...]) -> state.StageState:
    chosen = (_group(group, stage) for group in groups)
    return state.StageState(
        id=f"{stage.index + 1}-{stage.name}",
        stage=stage,
        groups=tuple(group for group in chosen if group.tasks),
    )


def _group(group: Group, stage: stages.Stage) -> state.GroupState:
    limit = stage.targets
    targets = (target for target in group.targets if not limit or target in limit)
    return state.GroupState(
        tuple(state.TaskState(target) for target in targets),
        name=group.name,
        concurrency=group.concurrency,
        rule=_rule(stage) or group.approval,
    )


def _rule(stage: stages.Stage) -> state.ApprovalRule | None:
    """Return the approval that a ``WAIT_APPROVAL`` stage is; its tasks begin once it is given."""
    if not isinstance(stage.options, stages.ApprovalOptions):
        return None
    return state.ApprovalRule(stage.options.count, stage.options.approvers, stage.timeout)


def _problems(plan: Plan) -> Sequence[str]:
    targets = [target for group in plan.groups for target in group.targets]
    found = []
    if not targets:
        found.append("the run has no target")
    if not plan.stages:
        found.append("the run has no stage")
    twice = sorted({target for target in targets if targets.count(target) > 1})
    found += [f"target {target} is named twice" for target in twice]
    for stage in plan.stages:
        unknown = [target for target in stage.targets if target not in targets]
        found += [
            f"stage {stage.name} is limited to {target}, which is not a target of the run"
            for target in unknown
        ]
        if stage.timeout.total_seconds() <= 0:
            found.append(f"the timeout of stage {stage.name} must be positive")
    for group in plan.groups:
        if group.concurrency < 0:
            found.append(f"the concurrency of group {group.name or 'of all targets'} is negative")
        if group.approval and group.approval.count < 1:
            found.append("an approval needs at least one person")
    limits = (plan.policy.timeout, plan.policy.rollback_timeout, plan.policy.grace)
    if any(limit.total_seconds() <= 0 for limit in limits):
        found.append("timeout, rollback timeout and grace must be positive")
    return found
