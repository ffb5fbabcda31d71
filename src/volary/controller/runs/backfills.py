"""Backfills: the last completed release for clusters that missed it.

Such a run is no release: it is a quick sync without waves and gates, which the release has
passed. Only when the last of the clusters that the release went on without has got it does the
application's status change: the release is everywhere then. All but `prepare` is pure.
"""

from dataclasses import replace

from volary.controller.planning import project_checks, replica_assignment
from volary.controller.runs import moves, ready_runs, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    release_changes,
    run_requests,
)
from volary.engine.runs import policies, run_builder
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_plans
from volary.placement.replicas import assignment

_STOPS = "autoRollback is off"

#: How an application stands whose last release did not reach every cluster.
_OPEN = (
    application_statuses.StatusWord.FAILED.value,
    application_statuses.StatusWord.OUT_OF_SYNC.value,
)


class Backfill:
    """The kind of run that brings single clusters the release that they have missed."""

    name = run_requests.KindName.BACKFILL
    #: Nobody asked for it, and it is requested again by itself.
    announces_refusals = False

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        """Return the new run: a quick sync of the last completed release."""
        dependencies, run_request = planning.dependencies, planning.run_request
        status = planning.application.status
        place = ready_runs.source_of(planning.application)
        project = project_checks.require(
            dependencies.projects(), planning.application.record.project
        )
        opened = await ready_runs.open_application(dependencies, place, run_request.commit)
        targets = run_request.targets
        project_checks.refuse_clusters(project, dependencies.clusters.fleet, targets)
        app = opened.application
        running = {
            name: cluster_releases.commit_before_backfill(status.releases, name)
            for name in run_request.targets
        }
        divides = replica_assignment.divides_replicas(app)
        assigned = status.releases.assigned if divides else assignment.EMPTY
        holds = (
            policies.OnFailure.ROLLBACK if app.planner.auto_rollback else policies.OnFailure.STOP
        )
        made = run_builder.RunSpec(
            application=app.name,
            commit=opened.commit,
            groups=run_builder.one_group(run_request.targets),
            stages=(_sync_stage(app.quick_sync, run_request),),
            # A cluster that is not named has nothing to go back to.
            running_commit="",
            running_commits={name: commit for name, commit in running.items() if commit},
            policy=policies.Policy(
                on_failure=holds,
                stop_reason=_STOPS if holds is policies.OnFailure.STOP else "",
                timeout=app.timeout,
            ),
        )
        made = project_checks.limited(made, project)
        run = run_builder.new_run(run_request.id, made, dependencies.clock.now())
        origin = replace(
            ready_runs.origin_of(place, run_request, opened, run_request.targets),
            strategy=run_plans.Strategy.QUICK_SYNC.value,
            assigned=assigned,
            assigned_before=assigned,
            chosen=status.placed.chosen,
            owners=await ready_runs.owners_of(
                dependencies, opened, run_request.targets, status.owners
            ),
        )
        ready = await ready_runs.take_up_opened(dependencies, opened, run, origin)
        await ready_runs.refuse_forbidden(dependencies, project, app, ready, targets)
        return ready

    def begun(self, kept: run_kinds.KeptRun) -> application_state.StateChange:
        """Take the run as under way; how the last release stands stays said."""
        status, run = kept.application.status, kept.run.id
        left = _without(status, run)
        return application_state.StateChange(
            replace(
                status,
                backfill=left,
                run=run,
                under_way=True,
                owners={**status.owners, **kept.origin.owners},
            )
        )

    def concluded(self, ended: run_kinds.EndedRun) -> application_state.StateChange:
        """Say who has the release now; with the last of them it is everywhere."""
        run, application = ended.run, ended.application
        record, before = application.record, application.status.releases
        releases, done = (
            release_changes.after_backfill(before, run, ended.identity),
            release_changes.covered_by(run),
        )
        status = replace(application.status, releases=releases, under_way=False)
        status = moves.with_clusters(status, done)
        if not before.missed or releases.missed:
            return application_state.StateChange(status)
        everywhere = f"every cluster has {run.commit[:7]}; {', '.join(done)} came last"
        columns: dict[str, object] = {}
        synced = application_statuses.StatusWord.SYNCED.value
        is_open = record.status in _OPEN and status.run_request is None
        if is_open and not application_statuses.why_out_of_sync(status):
            columns |= {"status": synced, "reason": everywhere}
        elif record.status == synced:
            columns["reason"] = everywhere
        succeeded = application_state.CommitChange(
            run.commit, statuses.RunStatus.SUCCEEDED.value, everywhere
        )
        return application_state.StateChange(status, columns, (succeeded,))

    def refused(
        self, requested: run_kinds.RequestedRun, reason: str
    ) -> application_state.StateChange:
        """Say with each cluster why it does not get the release."""
        status, run_request = requested.application.status, requested.run_request
        reasons = {**status.releases.waiting, **dict.fromkeys(run_request.targets, reason)}
        return application_state.StateChange(
            replace(
                status,
                backfill=_without(status, run_request.id),
                releases=status.releases.with_reasons(reasons),
            )
        )

    def delayed(
        self, requested: run_kinds.RequestedRun, trouble: str, retry: str
    ) -> application_state.StateChange:
        """Give it up: who requested it looks again, with a patience of its own."""
        return self.refused(requested, trouble)


def _without(
    application_status: application_statuses.ApplicationStatus, run_id: str
) -> run_requests.RunRequest | None:
    """Return the backfill that is still requested once this one is not any more."""
    backfill = application_status.backfill
    return None if backfill is not None and backfill.id == run_id else backfill


def _sync_stage(
    options: rollout_stages.SyncOptions, run_request: run_requests.RunRequest
) -> pipelines.Stage:
    return pipelines.Stage(
        rollout_stages.SYNC.name,
        options,
        index=0,
        description="Bring clusters the last completed release",
        targets=run_request.targets,
    )
