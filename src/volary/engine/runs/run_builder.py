"""Builds a planned run: which stage visits which clusters, in which groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.engine.runs import policies, state
from volary.model import errors, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, stage_kind, waiting_stages

_ROLLBACK = pipelines.Stage(added_stages.ROLLBACK.name, stage_kind.NoOptions())


@dataclass(frozen=True, slots=True)
class Group:
    """Targets that move together in every stage."""

    targets: tuple[str, ...]
    name: str = ""
    #: How many of them are worked on at once; 0: all.
    concurrency: int = 0
    #: Asked for before the group starts in each stage it is part of.
    approval: policies.ApprovalRule | None = None

    #: How long one of them may take in a stage; None: as long as the stage.
    progress_deadline: timedelta | None = None


@dataclass(frozen=True, slots=True)
class WaveStep:
    """One stage of one wave: what a run that moves in waves is a sequence of."""

    stage: pipelines.Stage
    #: May be without targets: its approval is asked for all the same.
    group: Group
    #: Name of the wave; it has a rule in `Plan.waves`.
    wave: str


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a run is made from."""

    application: str
    commit: str
    groups: tuple[Group, ...]
    stages: tuple[pipelines.Stage, ...]
    running_commit: str = ""
    policy: policies.Policy = field(default_factory=policies.Policy)
    #: The waves in order with their budgets; empty: the run does not move in waves.
    waves: tuple[policies.WaveRule, ...] = ()
    #: What is done in which order, with waves; each stage of `stages` is in it.
    steps: tuple[WaveStep, ...] = ()
    #: Of the clusters that run another commit than the others; empty: none.
    running_commits: Mapping[str, str] = field(default_factory=dict)
    #: When the clusters may be changed; empty: at any time.
    windows: tuple[policies.WindowRule, ...] = ()
    #: Clusters that were no targets because they took nothing new, with the reason of each.
    absent: str = ""
    #: See `state.Run.warnings`.
    warnings: tuple[str, ...] = ()


def one_group(targets: Sequence[str], *, concurrency: int = 0) -> tuple[Group, ...]:
    """Return the groups of a run without waves."""
    return (Group(tuple(targets), concurrency=concurrency),)


def new_run(run_id: str, plan: RunSpec, at: datetime) -> state.Run:
    """Return a planned run that waits for `events.Start`.

    Raises:
        errors.UserError: Nothing to do: no stage, no target, a target twice, a stage
            limited to no cluster or to one that is not a target, a limit that is not
            positive. All problems at once.
    """
    problems = list(_problems(plan))
    if problems:
        raise errors.UserError(*(errors.Problem(problem) for problem in problems))
    targets = [target for group in plan.groups for target in group.targets]
    return state.Run(
        id=run_id,
        application=plan.application,
        commit=plan.commit,
        running_commit=plan.running_commit,
        clusters=tuple(
            state.ClusterState(
                target, running_commit=plan.running_commits.get(target, plan.running_commit)
            )
            for target in targets
        ),
        stages=tuple(_steps(plan)) if plan.steps else tuple(_stages(plan)),
        policy=plan.policy,
        created=at,
        waves=plan.waves,
        windows=plan.windows,
        absent=plan.absent,
        warnings=plan.warnings,
    )


def refused_run(
    run_id: str, application: str, commit: str, running_commit: str, reason: str, at: datetime
) -> state.Run:
    """Return a run that ends before it has a plan: nothing could begin, and why."""
    return state.Run(
        id=run_id,
        application=application,
        commit=commit,
        running_commit=running_commit,
        clusters=(),
        stages=(),
        status=statuses.RunStatus.FAILED,
        reason=reason,
        created=at,
        finished=at,
    )


def _stages(plan: RunSpec) -> Iterator[state.StageState]:
    for index, stage in enumerate(plan.stages):
        stage_groups = (_group(group, stage) for group in plan.groups)
        yield state.StageState(
            id=f"{index + 1}-{stage.name}",
            stage=replace(stage, index=index),
            groups=tuple(group for group in stage_groups if group.tasks),
        )


def _steps(plan: RunSpec) -> Iterator[state.StageState]:
    """Yield the steps of a run in waves; the place in the pipeline stays that of the stage."""
    for step in plan.steps:
        group = _group(step.group, step.stage)
        yield state.StageState(
            id=f"{step.wave}/{step.stage.index + 1}-{step.stage.name}",
            stage=step.stage,
            groups=(group,) if group.tasks or group.rule else (),
            wave=step.wave,
        )


def targets_to_roll_back(run: state.Run, limit: str) -> tuple[str, ...]:
    """Return the touched clusters that a rollback visits: of the wave `limit`; empty: all."""
    members = {name for wave in run.waves if wave.name == limit for name in wave.targets}
    return tuple(name for name in run.touched if not limit or name in members)


def cluster_rollback(stage: pipelines.Stage) -> pipelines.Stage:
    """Return what is carried out on a cluster that is left out after `stage` failed there."""
    return replace(_ROLLBACK, index=stage.index)


def rollback_stage(run: state.Run) -> state.StageState:
    """Return the stage that takes the touched clusters of `run` back.

    As many at once as the run's most careful group allows; in waves the last one first,
    each with its own limit. No approval is needed: gates never hold up a rollback.
    """
    limit = run.policy.rollback_timeout
    groups = run.stages[run.position].groups
    stage = replace(_ROLLBACK, index=len(run.stages), timeout=limit)
    concurrency = min((group.concurrency for group in groups if group.concurrency), default=0)
    chosen = targets_to_roll_back(run, run.ending.wave if run.ending else "")
    if run.waves:
        made = tuple(_rollback_group(wave, set(chosen)) for wave in reversed(run.waves))
        back = tuple(group for group in made if group.tasks)
    else:
        tasks = tuple(state.TaskState(target) for target in chosen)
        back = (state.GroupState(tasks, concurrency=concurrency),)
    return state.StageState(id=state.ROLLBACK_ID, stage=stage, groups=back)


def _rollback_group(wave: policies.WaveRule, chosen: set[str]) -> state.GroupState:
    tasks = tuple(state.TaskState(target) for target in wave.targets if target in chosen)
    return state.GroupState(tasks, name=wave.name, concurrency=wave.concurrency)


def _group(group: Group, stage: pipelines.Stage) -> state.GroupState:
    limit = stage.targets
    targets = (target for target in group.targets if not limit or target in limit)
    return state.GroupState(
        tuple(state.TaskState(target) for target in targets),
        name=group.name,
        concurrency=group.concurrency,
        rule=_rule(stage) or group.approval,
        progress_deadline=group.progress_deadline,
    )


def _rule(stage: pipelines.Stage) -> policies.ApprovalRule | None:
    """Return the approval that a ``WAIT_APPROVAL`` stage is; its tasks begin once it is given."""
    if not isinstance(stage.options, waiting_stages.ApprovalOptions):
        return None
    return policies.ApprovalRule(stage.options.count, stage.options.approvers, stage.timeout)


def _problems(plan: RunSpec) -> Sequence[str]:
    targets = [target for group in plan.groups for target in group.targets]
    problems = []
    if not targets:
        problems.append("the run has no target")
    if not plan.stages:
        problems.append("the run has no stage")
    problems += [f"target {target} is named twice" for target in sorted(_repeated(targets))]
    known = set(targets)
    for stage in plan.stages:
        unknown = [target for target in stage.targets if target not in known]
        problems += [
            f"stage {stage.name} is limited to {target}, which is not a target of the run"
            for target in unknown
        ]
        if stage.timeout.total_seconds() <= 0:
            problems.append(f"the timeout of stage {stage.name} must be positive")
    for group in plan.groups:
        if group.concurrency < 0:
            problems.append(
                f"the concurrency of group {group.name or 'of all targets'} is negative"
            )
        if group.approval and group.approval.count < 1:
            problems.append("an approval needs at least one person")
    problems += _wave_problems(plan, targets)
    limits = (plan.policy.timeout, plan.policy.rollback_timeout, plan.policy.grace)
    if any(limit.total_seconds() <= 0 for limit in limits):
        problems.append("timeout, rollback timeout and grace must be positive")
    return problems


def _wave_problems(plan: RunSpec, targets: Sequence[str]) -> Iterator[str]:
    """Yield what would make clusters of a run in waves start twice, early or never."""
    if not plan.waves and not plan.steps:
        return
    members = [name for wave in plan.waves for name in wave.targets]
    covered = set(members)
    yield from (f"{name} is in no wave" for name in targets if name not in covered)
    yield from (f"{name} is in two waves" for name in sorted(_repeated(members)))
    known = {wave.name: set(wave.targets) for wave in plan.waves}
    if len(known) < len(plan.waves):
        yield "two waves have the same name"
    for step in plan.steps:
        if not set(step.group.targets) <= known.get(step.wave, set()):
            yield f"a step of wave {step.wave} names clusters that are not in it"
    for wave in plan.waves:
        if min(wave.failures, wave.unreachable, wave.concurrency) < 0:
            yield f"the budget of wave {wave.name} is negative"


def _repeated(names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    again: set[str] = set()
    for name in names:
        (again if name in seen else seen).add(name)
    return again
