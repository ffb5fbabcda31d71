"""Backfills: the last completed release for clusters that missed it.

Such a run is no release: it is a quick sync without waves and gates, which the release has
passed. Only when the last of the clusters that the release went on without has got it does the
application's status change: the release is everywhere then. All but `prepare` is pure.
"""

from dataclasses import replace

from volary.controller.planning import preparation, replica_assignment
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses, release_coverage, run_requests
from volary.engine.runs import policies, run_builder, state
from volary.model.pipeline import pipelines
from volary.model.runs import run_plans


def is_backfill(application_status: application_statuses.ApplicationStatus, run: state.Run) -> bool:
    """Say whether the run under way brings single clusters what they have missed."""
    return bool(run.id) and application_status.coverage.run == run.id


def begun(
    application_status: application_statuses.ApplicationStatus, run: state.Run
) -> application_statuses.ApplicationStatus:
    """Return the status once the run is kept."""
    wanted = application_status.backfill
    left = None if wanted is not None and wanted.id == run.id else wanted
    coverage = replace(application_status.coverage, run=run.id)
    return replace(application_status, backfill=left, coverage=coverage, run=run.id, under_way=True)


def concluded(
    application_status: application_statuses.ApplicationStatus,
    run: state.Run,
    running: str,
    identity: release_coverage.Identity,
) -> tuple[application_statuses.ApplicationStatus, str]:
    """Return the status after such a run, and the sentence when the release is everywhere now.

    Args:
        standing: As it was kept last.
        run: It has ended.
        running: The last commit that succeeded everywhere.
        identity: What tells a cluster from one built in its place.
    """
    before = application_status.coverage
    coverage = release_coverage.after_backfill(before, run, identity)
    done = release_coverage.covered_by(run)
    waiting = {name: f"run {run.id}: {run.reason}" for name in run.targets if name not in done}
    coverage = replace(coverage, waiting={**coverage.waiting, **waiting})
    if run.commit == running or run.commit != coverage.commit:
        kept = {
            name: commit for name, commit in application_status.kept.items() if name not in done
        }
    else:
        kept = {**application_status.kept, **dict.fromkeys(done, run.commit)}
    ended = replace(application_status, coverage=coverage, kept=kept, under_way=False)
    if not before.behind or coverage.behind or run.commit != coverage.commit:
        return ended, ""
    kept = {name: commit for name, commit in kept.items() if commit != run.commit}
    last = ", ".join(done)
    return replace(ended, kept=kept), f"every cluster has {run.commit[:7]}; {last} came last"


def refused(
    application_status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    reason: str,
) -> application_statuses.ApplicationStatus:
    """Return the standing when a wanted catch-up cannot become a run."""
    waiting = {**application_status.coverage.waiting, **dict.fromkeys(run_request.targets, reason)}
    wanted = application_status.backfill
    left = None if wanted is not None and wanted.id == run_request.id else wanted
    return replace(
        application_status,
        backfill=left,
        coverage=replace(application_status.coverage, waiting=waiting),
    )


_STOPS = "autoRollback is off"


async def prepare(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    run_request: run_requests.RunRequest,
    remembered: str,
    application_status: application_statuses.ApplicationStatus,
) -> ready_runs.ReadyRun:
    """Return the new run of a wanted catch-up.

    `remembered` is the last commit that succeeded everywhere.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    project = await ready_runs.open_application(dependencies, place, run_request.commit)
    application = project.application
    running = {
        name: _commit_on(application_status, name, remembered) for name in run_request.targets
    }
    numbers = replica_assignment.ReplicaNumbers()
    if replica_assignment.divides_replicas(application):
        numbers = replica_assignment.ReplicaNumbers(
            application_status.assigned, application_status.assigned
        )
    again = await preparation.reopen(
        project, running, dependencies.renderer, dependencies.clusters.fleet, numbers
    )
    holds = (
        policies.OnFailure.ROLLBACK
        if application.planner.auto_rollback
        else policies.OnFailure.STOP
    )
    made = run_builder.RunSpec(
        application=application.name,
        commit=project.commit,
        groups=run_builder.one_group(run_request.targets),
        stages=(_sync_stage(application.quick_sync, run_request),),
        # A cluster that is not named has nothing to go back to.
        running_commit="",
        running_commits={name: commit for name, commit in running.items() if commit},
        policy=policies.Policy(
            on_failure=holds,
            stop_reason=_STOPS if holds is policies.OnFailure.STOP else "",
            timeout=application.timeout,
        ),
    )
    run = run_builder.new_run(run_request.id, made, dependencies.clock.now())
    origin = replace(
        ready_runs.origin_of(place, run_request, project, run_request.targets),
        strategy=run_plans.Strategy.QUICK_SYNC.value,
        assigned=numbers.now,
        assigned_before=numbers.now,
        chosen=application_status.placed.chosen,
    )
    return ready_runs.of_plan(dependencies, application, again, run, origin)


def _commit_on(
    application_status: application_statuses.ApplicationStatus, name: str, remembered: str
) -> str:
    """Return what a cluster runs of the application; empty: nothing."""
    before = remembered if name in application_status.coverage.behind else ""
    return application_status.kept.get(name) or before


def _sync_stage(
    options: pipelines.SyncOptions, run_request: run_requests.RunRequest
) -> pipelines.Stage:
    return pipelines.Stage(
        pipelines.StageName.SYNC,
        options,
        index=0,
        description="Bring clusters the last completed release",
        targets=run_request.targets,
    )
