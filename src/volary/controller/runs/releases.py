"""The kind of run that brings a commit to the clusters of its application."""

from dataclasses import replace

from volary.controller.runs import moves, ready_runs, release_plans, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    release_changes,
    run_requests,
)


class Release:
    """The kind of run that brings a commit to the clusters of its application."""

    name = run_requests.KindName.RELEASE
    announces_refusals = True

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        """Return the new run: as planned from its file, once no cluster would refuse it."""
        dependencies, run_request = planning.dependencies, planning.run_request
        prepared = await release_plans.plan(
            dependencies, planning.application, run_request, planning.told
        )
        for manifests in (*prepared.manifests.values(), *prepared.old_manifests.values()):
            planning.masker.learn(manifests)
        place = ready_runs.source_of(planning.application)
        trials = await release_plans.run_preflight(dependencies, prepared, planning.told)
        return await release_plans.ready(dependencies, place, run_request, prepared, trials)

    def begun(self, kept: run_kinds.KeptRun) -> application_state.StateChange:
        """Take the run as under way; its request is done."""
        run, origin, before = kept.run, kept.origin, kept.application.status
        request = before.run_request
        rest = None if request is not None and request.id == run.id else request
        status = replace(
            before,
            run_request=rest,
            waiting_reason="" if rest is None else before.waiting_reason,
            run=run.id,
            under_way=True,
            owners={**before.owners, **origin.owners},
            warnings=origin.warnings,
            unproven=None,
        )
        commit = application_state.CommitChange(
            run.commit, "running", origin.reason, run=run.id, subject=origin.subject
        )
        columns: dict[str, object] = {}
        if kept.application.record.removed is None:  # else it stays what it is, gone
            running = application_statuses.StatusWord.RUNNING.value
            columns = {"status": running, "reason": origin.reason}
        return application_state.StateChange(status, columns, (commit,))

    def concluded(self, ended: run_kinds.EndedRun) -> application_state.StateChange:
        """Say what clusters run, and what the end means for what was requested meanwhile."""
        run, application = ended.run, ended.application
        before = application.status
        status = replace(
            before,
            under_way=False,
            unproven=application_statuses.unproven_rollback(run),
            releases=release_changes.divided_by_release(
                release_changes.after_release(before.releases, run, ended.identity),
                run,
                ended.origin.assigned,
            ),
            backfill=None,
        ).with_placement(moves.after_release(before.placed, run, ended.origin.chosen, ended.now))
        commit = application_state.CommitChange(
            run.commit, run.status.value, run.reason, run=run.id
        )
        columns: dict[str, object] = {}
        word, request = application_statuses.word_of_end(run.status), before.run_request
        if request is not None and run_requests.is_fulfilled_by(request, run):
            reason = f"{request.commit[:7]} took run {run.id} back"
            # What runs is what the revert says.
            wanted = status.releases.running
            status = replace(status, run_request=None, waiting_reason="", wanted=wanted)
            columns |= application_state.columns_of_end(
                application.record, status, application_statuses.StatusWord.SYNCED, reason
            )
            reverted = application_state.CommitChange(
                request.commit, "reverted", reason, run_request=request
            )
            return application_state.StateChange(
                status, columns, (commit, reverted), settled=request, settled_reason=reason
            )
        if request is not None:
            status = replace(status, run_request=replace(request, reverts=""), waiting_reason="")
        columns |= application_state.columns_of_end(
            application.record, status, word, self.reason(ended)
        )
        return application_state.StateChange(status, columns, (commit,))

    def reason(self, ended: run_kinds.EndedRun) -> str:
        """Return why the application stands as it does after a run that has ended."""
        return ended.run.reason

    def refused(
        self, requested: run_kinds.RequestedRun, reason: str
    ) -> application_state.StateChange:
        """Count the commit as failed; a newer one that is requested by now stays."""
        status, run_request = requested.application.status, requested.run_request
        commit = application_state.CommitChange(
            run_request.commit, "failed", reason, run_request=run_request, run=run_request.id
        )
        if not status.under_way:
            status = replace(status, run=run_request.id)
        if status.run_request is None or status.run_request.id != run_request.id:
            return application_state.StateChange(status, {}, (commit,))
        return application_state.StateChange(
            replace(status, run_request=None, waiting_reason=""),
            {"status": application_statuses.StatusWord.FAILED.value, "reason": reason},
            (commit,),
        )

    def delayed(
        self, requested: run_kinds.RequestedRun, trouble: str, retry: str
    ) -> application_state.StateChange:
        """Say why it has not begun yet, unless a newer one is requested by now."""
        status, reason = requested.application.status, f"{trouble}; {retry}"
        if status.run_request is None or status.run_request.id != requested.run_request.id:
            return application_state.StateChange(status)
        return application_state.StateChange(
            replace(status, waiting_reason=reason), {"reason": reason}
        )
