"""Moves between clusters: the run that carries one out, and what it means for the application.

A move brings no release: each cluster gets its part of the placement at the release that it
runs, a new one the last completed release. It has no waves, gates or windows, and is not rolled
back: when a replacement does not come up, the old copy stays. All but `Move.prepare` and `divide`
is pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from volary.controller.planning import (
    cluster_questions,
    opened_applications,
    project_checks,
    replica_assignment,
)
from volary.controller.runs import ready_runs, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    release_changes,
    run_requests,
)
from volary.engine.runs import policies, run_builder, state
from volary.model import phrases, statuses
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import added_stages, stage_kind
from volary.model.placement import failover_rules
from volary.placement.failover import move_plans, situations

Names = tuple[str, ...]
_DONE = statuses.TaskStatus.SUCCEEDED


def decided(
    status: application_statuses.ApplicationStatus,
    before: application_statuses.ApplicationStatus,
    placed: situations.PlacementState,
    move: run_requests.RunRequest | None,
) -> application_statuses.ApplicationStatus:
    """Return the status with a decision about its placement, and the move that it needs.

    Unless another decision was taken since it was as `before`; then who decides looks again.
    """
    if (status.placed, status.move) != (before.placed, before.move):
        return status
    return replace(status, move=move).with_placement(placed)


def delayed(
    status: application_statuses.ApplicationStatus, reason: str
) -> application_statuses.ApplicationStatus:
    """Return the status with why a requested move does not begin."""
    shift = status.move.shift if status.move else None
    names = shift.clusters if shift else ()
    leaving = [eviction for eviction in status.placed.leaving if eviction.cluster in names]
    told = {
        eviction.cluster: f"{eviction.reason}; {reason}"
        for eviction in leaving or status.placed.leaving
    }
    placed = status.placed
    return status.with_placement(replace(placed, waiting={**placed.waiting, **told}))


def waiting_reason(status: application_statuses.ApplicationStatus, run_id: str) -> str:
    """Return what waits to move once a run has ended, or interrupts it; empty: nothing does."""
    if status.move is None or status.run != run_id or not status.under_way:
        return ""
    waiting = status.placed.waiting
    leaving = (eviction.cluster for eviction in status.placed.leaving)
    told = (f"{name}: {waiting[name]}" for name in leaving if name in waiting)
    return "; ".join(told) or status.move.reason


def summary_of_end(status: application_statuses.ApplicationStatus, run: state.Run) -> str:
    """Return what a move that has ended came to, one sentence.

    Args:
        status: How the application stood when it ended.
        run: The run of the move.
    """
    if run.status is not statuses.RunStatus.SUCCEEDED:
        return f"move {run.id} has ended {run.status.value.replace('_', ' ')}: {run.reason}"
    placed, concerned = status.placed, {*shift_of_run(run).clusters}
    causes = (
        eviction.reason
        for eviction in placed.leaving
        if concerned.intersection((eviction.cluster, *eviction.replacements))
    )
    why = "; ".join(dict.fromkeys(causes))
    where = f"it is on {phrases.join_names(placed.chosen)}" if placed.chosen else run.reason
    return f"{where} since move {run.id}{': ' * bool(why)}{why}"


def with_clusters(
    status: application_statuses.ApplicationStatus, names: Sequence[str]
) -> application_statuses.ApplicationStatus:
    """Return the status once clusters that had missed a release have it."""
    placed = status.placed
    if not placed.chosen:
        return status
    chosen = tuple(dict.fromkeys((*placed.chosen, *names)))
    return status.with_placement(replace(placed, chosen=chosen))


def _after_end(
    status: application_statuses.ApplicationStatus, ended: run_kinds.EndedRun
) -> application_statuses.ApplicationStatus:
    """Return the status after the run of a move; what clusters run stays what it was.

    Only what was proven counts, however the run ended: who holds their part, and where the
    application is gone.
    """
    run, placed = ended.run, status.placed
    kept = frozenset(_done(run, added_stages.PLACEMENT_SYNC))
    removed = frozenset(_done(run, added_stages.PLACEMENT_REMOVE))
    leaving = move_plans.after_run(placed.leaving, kept, removed, shift_of_run(run))
    releases = status.releases.with_shares(ended.origin.assigned, kept)
    return replace(
        status,
        releases=release_changes.after_move(releases, run, kept, removed, ended.identity),
        under_way=False,
    ).with_placement(replace(placed, leaving=leaving))


def _done(run: state.Run, kind: stage_kind.StageKind[stage_kind.NoOptions]) -> list[str]:
    """Return the clusters on which all stages of a kind succeeded."""
    tasks: dict[str, list[bool]] = {}
    for stage in run.stages:
        if stage.stage.kind is kind:
            for task in stage.tasks:
                tasks.setdefault(task.target, []).append(task.status is _DONE)
    return [target for target, done in tasks.items() if all(done)]


def shift_of_run(run: state.Run) -> move_plans.MovePlan:
    """Return what a run had to do, as its stages say."""
    first: Names = ()
    place: Names = ()
    reduce: Names = ()
    last: Names = ()
    for stage in run.stages:
        targets = tuple(task.target for task in stage.tasks)
        if stage.stage.kind is added_stages.PLACEMENT_SYNC:
            place, reduce = (targets, reduce) if not place else (place, targets)
        elif place:
            last = targets
        else:
            first = targets
    return move_plans.MovePlan(first, place, reduce, last)


def after_release(
    placed: situations.PlacementState, run: state.Run, chosen: Names, now: datetime
) -> situations.PlacementState:
    """Return where an application is after a run that brought a release.

    One that succeeded says it; another one only where nothing was known before. A cluster that
    is not chosen any more keeps what it has until somebody asks for a rebalance.

    Args:
        placed: Where it was.
        run: It has ended.
        chosen: Where it was to be; empty: on all of the run's clusters.
        now: When its end is written down.
    """
    if not run.is_everywhere:
        first = not placed.chosen and run.status is not statuses.RunStatus.ROLLED_BACK
        return replace(placed, chosen=run.touched) if first else placed
    chosen = chosen or run.targets
    staying = [eviction for eviction in placed.leaving if eviction.cluster not in chosen]
    known = {*chosen, *(eviction.cluster for eviction in staying)}
    dropped = [
        situations.Eviction(
            name,
            situations.Cause.REBALANCE,
            f"{name} is not chosen any more since run {run.id}",
            now,
            failover_rules.Purge.NEVER,
            replaced=True,
        )
        for name in placed.chosen
        if name not in known
    ]
    return replace(placed, chosen=chosen, leaving=(*staying, *dropped))


_NO_ROLLBACK = "a move is not rolled back: what was there before stays until the new is healthy"


class Move:
    """The kind of run that moves an application between clusters."""

    name = run_requests.KindName.MOVE
    announces_refusals = True

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        """Return the new run: each cluster's part at the release that it runs."""
        dependencies, run_request = planning.dependencies, planning.run_request
        status = planning.application.status
        remembered = status.releases.running
        place = ready_runs.source_of(planning.application)
        shift = run_request.shift or move_plans.MovePlan()
        project = project_checks.require(
            dependencies.projects(), planning.application.record.project
        )
        opened = await ready_runs.open_application(dependencies, place, run_request.commit)
        synced = (*shift.place, *shift.reduce)
        project_checks.refuse_clusters(project, dependencies.clusters.fleet, synced)
        numbers = await divide(dependencies, opened, status, fresh=shift.fresh)
        running = {
            name: status.releases.of(name).commit or run_request.commit for name in shift.clusters
        }
        made = run_builder.RunSpec(
            application=opened.application.name,
            commit=opened.commit,
            groups=run_builder.one_group(shift.clusters),
            stages=move_plans.stages(shift),
            running_commit=remembered,
            running_commits={
                name: commit for name, commit in running.items() if commit != remembered
            },
            policy=policies.Policy(
                on_failure=policies.OnFailure.STOP,
                stop_reason=_NO_ROLLBACK,
                timeout=opened.application.timeout,
            ),
        )
        made = project_checks.limited(made, project)
        run = run_builder.new_run(run_request.id, made, dependencies.clock.now())
        origin = replace(
            ready_runs.origin_of(place, run_request, opened, shift.clusters),
            # Both sides: what a cluster runs already is brought its new part.
            assigned=numbers.now,
            assigned_before=numbers.now,
            chosen=status.placed.chosen,
            owners=await ready_runs.owners_of(dependencies, opened, shift.clusters, status.owners),
        )
        ready = await ready_runs.take_up_opened(dependencies, opened, run, origin)
        await ready_runs.refuse_forbidden(dependencies, project, opened.application, ready, synced)
        return ready

    def begun(self, kept: run_kinds.KeptRun) -> application_state.StateChange:
        """Take the move as under way; how the last release stands stays said."""
        status, run = kept.application.status, kept.run.id
        left = None if status.move is not None and status.move.id == run else status.move
        owners = {**status.owners, **kept.origin.owners}
        return application_state.StateChange(
            replace(status, move=left, run=run, under_way=True, owners=owners)
        )

    def concluded(self, ended: run_kinds.EndedRun) -> application_state.StateChange:
        """Say where the application is now; how a release failed stays said."""
        record, status = ended.application.record, ended.application.status
        synced = record.status == application_statuses.StatusWord.SYNCED.value
        columns = {"reason": summary_of_end(status, ended.run)} if synced else {}
        return application_state.StateChange(_after_end(status, ended), columns)

    def refused(
        self, requested: run_kinds.RequestedRun, reason: str
    ) -> application_state.StateChange:
        """Say with each cluster that is left why it is not; failover decides anew."""
        status = requested.application.status
        if status.move is None or status.move.id != requested.run_request.id:
            return application_state.StateChange(status)
        return application_state.StateChange(replace(delayed(status, reason), move=None))

    def delayed(
        self, requested: run_kinds.RequestedRun, trouble: str, retry: str
    ) -> application_state.StateChange:
        """Say with each cluster that is left why it is not yet."""
        status = delayed(requested.application.status, f"{trouble}; {retry}")
        return application_state.StateChange(status)


async def divide(
    dependencies: ready_runs.Dependencies,
    opened: opened_applications.OpenedApplication,
    status: application_statuses.ApplicationStatus,
    *,
    fresh: bool,
) -> replica_assignment.ReplicaNumbers:
    """Return who gets how many replicas where the application will be, and who had.

    Raises:
        errors.UserError: There is not enough room, or something cannot be divided.
    """
    application, chosen = opened.application, status.placed.chosen
    if not replica_assignment.divides_replicas(application):
        return replica_assignment.ReplicaNumbers()
    rendered: dict[str, list[manifest.Manifest]] = {}
    for name in chosen:
        undivided = await dependencies.renderer.undivided(
            opened.files, application, directory=opened.directory, target=name
        )
        rendered[name] = list(undivided.manifests)
    members = tuple(
        cluster for cluster in dependencies.clusters.fleet.clusters if cluster.name in chosen
    )
    return await replica_assignment.assign_replicas(
        cluster_questions.ClusterQuestions(dependencies.clusters, dependencies.patience),
        application,
        rendered,
        members,
        status.releases.assigned,
        fresh=fresh,
    )


def pod_counts(
    numbers: replica_assignment.ReplicaNumbers,
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return how many pods each cluster has and will have of all that is divided."""
    sums: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for pod_sums, made in zip(sums, (numbers.before, numbers.now), strict=True):
        for workload in made.workloads:
            for name, count in workload.replicas.items():
                pod_sums[name] = pod_sums.get(name, 0) + count
    return sums
