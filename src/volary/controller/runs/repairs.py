"""Repairs: clusters that are not as Git says get the commit that they are on once more.

Such a run is no release: a quick sync without waves and gates, which the commit has passed, and
nothing is pruned. It goes back to nothing: where it fails, it stops. All but `prepare` is pure.
"""

from dataclasses import replace

from volary.controller.planning import project_checks, replica_assignment
from volary.controller.runs import ready_runs, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    drift_states,
    run_requests,
)
from volary.engine.runs import policies, run_builder
from volary.model import errors, phrases, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_plans
from volary.placement.replicas import assignment


class Repair:
    """The kind of run that makes single clusters again what Git says."""

    name = run_requests.KindName.REPAIR
    #: Nobody asked for it, and it is requested again by itself.
    announces_refusals = False

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        """Return the new run: a quick sync of the commit that its clusters are on."""
        dependencies, run_request = planning.dependencies, planning.run_request
        status, targets = planning.application.status, planning.run_request.targets
        _refuse_other_commits(status, run_request)
        place = ready_runs.source_of(planning.application)
        project = project_checks.require(
            dependencies.projects(), planning.application.record.project
        )
        opened = await ready_runs.open_application(dependencies, place, run_request.commit)
        project_checks.refuse_clusters(project, dependencies.clusters.fleet, targets)
        app = opened.application
        divides = replica_assignment.divides_replicas(app)
        assigned = status.releases.assigned if divides else assignment.EMPTY
        made = run_builder.RunSpec(
            application=app.name,
            commit=opened.commit,
            groups=run_builder.one_group(targets),
            stages=(_sync_stage(app.quick_sync, targets),),
            running_commit="",
            running_commits=dict.fromkeys(targets, opened.commit),
            policy=policies.Policy(
                on_failure=policies.OnFailure.STOP,
                stop_reason="a repair has nothing to go back to",
                timeout=app.timeout,
            ),
        )
        made = project_checks.limited(made, project)
        run = run_builder.new_run(run_request.id, made, dependencies.clock.now())
        origin = replace(
            ready_runs.origin_of(place, run_request, opened, targets),
            strategy=run_plans.Strategy.QUICK_SYNC.value,
            assigned=assigned,
            assigned_before=assigned,
            chosen=status.placed.chosen,
            owners=await ready_runs.owners_of(dependencies, opened, targets, status.owners),
        )
        ready = await ready_runs.take_up_opened(dependencies, opened, run, origin)
        await ready_runs.refuse_forbidden(dependencies, project, app, ready, targets)
        return ready

    def begun(self, kept: run_kinds.KeptRun) -> application_state.StateChange:
        """Take the run as under way; how the application stands stays said."""
        status, run = kept.application.status, kept.run.id
        return application_state.StateChange(
            replace(
                status,
                repair=_without(status, run),
                run=run,
                under_way=True,
                owners={**status.owners, **kept.origin.owners},
            )
        )

    def concluded(self, ended: run_kinds.EndedRun) -> application_state.StateChange:
        """Say why it failed, or nothing: the next comparison says what came of it."""
        status, run = ended.application.status, ended.run
        drift = status.drift
        if run.status not in statuses.GOOD_ENDS:
            drift = drift_states.with_failure(drift, run.reason)
        return application_state.StateChange(replace(status, under_way=False, drift=drift))

    def refused(
        self, requested: run_kinds.RequestedRun, reason: str
    ) -> application_state.StateChange:
        """Say why nothing is repaired."""
        status = requested.application.status
        told = replace(status.drift, unrepaired=reason, repair_after=None)
        left = _without(status, requested.run_request.id)
        return application_state.StateChange(replace(status, repair=left, drift=told))

    def delayed(
        self, requested: run_kinds.RequestedRun, trouble: str, retry: str
    ) -> application_state.StateChange:
        """Give it up: who requested it looks again, with a patience of its own."""
        return self.refused(requested, trouble)


def _refuse_other_commits(
    status: application_statuses.ApplicationStatus, run_request: run_requests.RunRequest
) -> None:
    """Refuse to bring a cluster back to a commit that it has left meanwhile.

    Raises:
        errors.UserError: One has.
    """
    releases = status.releases
    left = [
        name
        for name in run_request.targets
        if (releases.of(name).commit or releases.running) != run_request.commit
    ]
    if left:
        raise errors.user_error(f"{phrases.first_of(left)} got another commit meanwhile")


def _without(
    application_status: application_statuses.ApplicationStatus, run_id: str
) -> run_requests.RunRequest | None:
    """Return the repair that is still requested once this one is not any more."""
    repair = application_status.repair
    return None if repair is not None and repair.id == run_id else repair


def _sync_stage(options: rollout_stages.SyncOptions, targets: tuple[str, ...]) -> pipelines.Stage:
    return pipelines.Stage(
        rollout_stages.SYNC.name,
        replace(options, prune=False),
        index=0,
        description="Repair what is not as Git says",
        targets=targets,
    )
