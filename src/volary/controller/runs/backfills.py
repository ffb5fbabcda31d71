"""Backfills: the last completed release for clusters that missed it.

Such a run is no release: it is a quick sync without waves and gates, which the release has
passed. Only when the last of the clusters that the release went on without has got it does the
application's status change: the release is everywhere then. All but `prepare` is pure.
"""

from dataclasses import replace

from volary.controller.planning import preparation, replica_assignment
from volary.controller.runs import releases
from volary.controller.status import application_statuses, release_coverage, run_requests
from volary.engine.runs import policies, run_builder, state
from volary.model.pipeline import pipelines
from volary.model.runs import run_plans


def is_backfill(standing: application_statuses.ApplicationStatus, run: state.Run) -> bool:
    """Say whether the run under way brings single clusters what they have missed."""
    return bool(run.id) and standing.reached.run == run.id


def begun(
    standing: application_statuses.ApplicationStatus, run: state.Run
) -> application_statuses.ApplicationStatus:
    """Return the standing once the run is kept."""
    wanted = standing.catch_up
    left = None if wanted is not None and wanted.id == run.id else wanted
    reached = replace(standing.reached, run=run.id)
    return replace(standing, catch_up=left, reached=reached, run=run.id, under_way=True)


def concluded(
    standing: application_statuses.ApplicationStatus,
    run: state.Run,
    running: str,
    identity: release_coverage.Identity,
) -> tuple[application_statuses.ApplicationStatus, str]:
    """Return the standing after such a run, and the sentence when the release is everywhere now.

    Args:
        standing: As it was kept last.
        run: It has ended.
        running: The last commit that succeeded everywhere.
        identity: What tells a cluster from one built in its place.
    """
    before = standing.reached
    reached = release_coverage.after_backfill(before, run, identity)
    done = release_coverage.covered_by(run)
    waiting = {name: f"run {run.id}: {run.reason}" for name in run.targets if name not in done}
    reached = replace(reached, waiting={**reached.waiting, **waiting})
    if run.commit == running or run.commit != reached.commit:
        kept = {name: commit for name, commit in standing.kept.items() if name not in done}
    else:
        kept = {**standing.kept, **dict.fromkeys(done, run.commit)}
    ended = replace(standing, reached=reached, kept=kept, under_way=False)
    if not before.behind or reached.behind or run.commit != reached.commit:
        return ended, ""
    kept = {name: commit for name, commit in kept.items() if commit != run.commit}
    last = ", ".join(done)
    return replace(ended, kept=kept), f"every cluster has {run.commit[:7]}; {last} came last"


def refused(
    standing: application_statuses.ApplicationStatus, want: run_requests.RunRequest, reason: str
) -> application_statuses.ApplicationStatus:
    """Return the standing when a wanted catch-up cannot become a run."""
    waiting = {**standing.reached.waiting, **dict.fromkeys(want.targets, reason)}
    wanted = standing.catch_up
    left = None if wanted is not None and wanted.id == want.id else wanted
    return replace(standing, catch_up=left, reached=replace(standing.reached, waiting=waiting))


_STOPS = "autoRollback is off"


async def prepare(
    desk: releases.Dependencies,
    place: releases.ApplicationSource,
    want: run_requests.RunRequest,
    remembered: str,
    standing: application_statuses.ApplicationStatus,
) -> releases.Release:
    """Return the new run of a wanted catch-up.

    `remembered` is the last commit that succeeded everywhere.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    project = await releases.open_application(desk, place, want.commit)
    application = project.application
    running = {name: _commit_on(standing, name, remembered) for name in want.targets}
    numbers = replica_assignment.ReplicaNumbers()
    if replica_assignment.divides_replicas(application):
        numbers = replica_assignment.ReplicaNumbers(standing.assigned, standing.assigned)
    again = await preparation.reopen(project, running, desk.renderer, desk.clusters.fleet, numbers)
    holds = (
        policies.OnFailure.ROLLBACK
        if application.planner.auto_rollback
        else policies.OnFailure.STOP
    )
    made = run_builder.RunSpec(
        application=application.name,
        commit=project.commit,
        groups=run_builder.one_group(want.targets),
        stages=(_sync_stage(application.quick_sync, want),),
        # A cluster that is not named has nothing to go back to.
        running_commit="",
        running_commits={name: commit for name, commit in running.items() if commit},
        policy=policies.Policy(
            on_failure=holds,
            stop_reason=_STOPS if holds is policies.OnFailure.STOP else "",
            timeout=application.timeout,
        ),
    )
    run = run_builder.new_run(want.id, made, desk.clock.now())
    origin = replace(
        releases.origin_of(place, want, project, want.targets),
        strategy=run_plans.Strategy.QUICK_SYNC.value,
        assigned=numbers.now,
        assigned_before=numbers.now,
        chosen=standing.placed.chosen,
    )
    return releases.of_plan(desk, application, again, run, origin)


def _commit_on(standing: application_statuses.ApplicationStatus, name: str, remembered: str) -> str:
    """Return what a cluster runs of the application; empty: nothing."""
    before = remembered if name in standing.reached.behind else ""
    return standing.kept.get(name) or before


def _sync_stage(options: pipelines.SyncOptions, want: run_requests.RunRequest) -> pipelines.Stage:
    return pipelines.Stage(
        pipelines.StageName.SYNC,
        options,
        index=0,
        description="Bring clusters the last completed release",
        targets=want.targets,
    )
