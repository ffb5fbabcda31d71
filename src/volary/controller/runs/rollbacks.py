"""Rollbacks: which run is rolled back, as what, and what holds afterwards."""

from collections.abc import Sequence
from dataclasses import replace

from volary.controller import refusals
from volary.controller.planning import project_checks
from volary.controller.runs import ready_runs, releases, run_kinds
from volary.controller.status import (
    application_identity,
    application_state,
    application_statuses,
    release_changes,
    run_origins,
    run_requests,
)
from volary.engine.persistence import codec
from volary.engine.runs import rollback, state
from volary.model import phrases, statuses
from volary.model.runs import run_plans
from volary.store import records, stores

#: Runs that are read to find the one to roll back.
_MOST_RUNS = 50


async def request_rollback(
    store: stores.Store, name: str, request: records.RequestRecord
) -> run_requests.RunRequest:
    """Return the request that rolls back the application's last change.

    Raises:
        refusals.Conflict: There is nothing to go back to.
    """
    chosen = await find_run(store, name)
    return run_requests.RunRequest(
        id=request.id,
        commit=chosen.commit,
        kind=run_requests.KindName.ROLLBACK,
        reason=f"{request.by} {_summary_of(chosen)}",
        at=request.at,
        by=request.by,
        strategy=run_plans.Strategy.QUICK_SYNC,
        rollback_of=chosen.id,
    )


async def find_run(store: stores.Store, name: str) -> state.Run:
    """Return the run that was the application's last change.

    Where nothing ran before, only a run that has not succeeded can be rolled back: what was there
    before is kept until then.

    Raises:
        refusals.Conflict: There is nothing to go back to.
    """
    run_filter = records.RunFilter(applications=frozenset({name}))
    page = await store.runs.list(run_filter, limit=_MOST_RUNS)
    if damaged := next((item for item in page.items if item.unreadable), None):
        raise refusals.conflict(
            f"what to go back to is not known: run {damaged.head.id} cannot be read:"
            f" {damaged.unreadable}",
            hint=f"`volary rollback {name} --to COMMIT` goes to a commit",
        )
    ended = [
        item.head.id
        for item in page.items
        if item.head.finished and run_origins.from_document(item.origin).kind.is_release
    ]
    chosen, read = None, list[state.Run]()
    for run_id in ended:
        # One after another: seldom is more than the first one needed.
        stored_run = await store.runs.load(run_id)
        read += [codec.read_run(stored_run)] if stored_run is not None else []
        if (chosen := choose_run(read)) is not None:
            break
    if chosen is None:
        raise refusals.conflict(
            "there is no run whose change is still there",
            hint=f"`volary rollback {name} --to COMMIT` goes to a commit",
        )
    first = [
        cluster
        for cluster in rollback.clusters_left(chosen)
        if not chosen.running_commit_of(cluster)
    ]
    if first and chosen.status in statuses.GOOD_ENDS:
        raise refusals.conflict(
            f"nothing of {name} ran on {phrases.join_names(first)} before run {chosen.id}, and"
            " what others had there was kept only until it had succeeded",
            hint=f"`volary rollback {name} --to COMMIT` goes to another commit; how adopted objects"
            " are given back to somebody else is in docs/how-to/adopt.md",
        )
    return chosen


def _summary_of(chosen: state.Run) -> str:
    commits = {chosen.running_commit_of(name) for name in rollback.clusters_left(chosen)}
    if commits == {""}:
        return f"undoes the first release, run {chosen.id}"
    if len(commits) == 1:
        return f"rolls back to {commits.pop()[:7]}"
    return f"rolls run {chosen.id} back, each cluster to what it ran before"


def choose_run(runs: Sequence[state.Run]) -> state.Run | None:
    """Return the newest run whose change is still there; `runs` are the newest first."""
    undone: set[str] = set()
    for run in runs:
        if run.rollback_of:
            # Of a rollback that failed, what is left is left of this one.
            undone.add(run.rollback_of)
        if run.id in undone:
            undone.add(run.rollback_of)
        elif rollback.would_change(run):
            return run
    return None


class CommitRollback(releases.Release):
    """The kind of run that goes back to a commit that somebody names.

    It is a release of that commit; waves go in reverse order, without gates and windows.
    """

    name = run_requests.KindName.ROLLBACK_TO_COMMIT

    def reason(self, ended: run_kinds.EndedRun) -> str:
        """Say that what runs is not what Git has because somebody wanted it so."""
        if ended.run.status not in statuses.GOOD_ENDS:
            return ended.run.reason
        return f"rolled back by {ended.origin.by}: {ended.run.reason}"


class Rollback(releases.Release):
    """The kind of run that rolls back a run that has ended."""

    name = run_requests.KindName.ROLLBACK

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        """Return the new run: the stored one, rolling back from the start."""
        dependencies, run_request = planning.dependencies, planning.run_request
        record, known = planning.application.record, planning.application.status.releases
        # What it may write is for each of its stages to say: it leaves out what it may not.
        project_checks.require(dependencies.projects(), record.project)
        stored = await planning.store.runs.load(run_request.rollback_of)
        if stored is None:
            raise refusals.conflict(f"run {run_request.rollback_of} is no longer stored")
        old = codec.read_run(stored)
        # Those that the run had gone on without may have got its release when they came back.
        holders = known.covered if known.completed == old.commit else ()
        run = rollback.rollback_run(
            old,
            run_request.id,
            f"rolled back by {run_request.by}",
            dependencies.clock.now(),
            holders=holders,
        )
        origin = application_identity.with_current_repository(
            run_origins.from_document(stored.origin), record, dependencies.addresses
        )
        origin = replace(
            origin,
            kind=run_request.kind,
            reason=run_request.reason,
            by=run_request.by,
            summary=run_request.reason,
            targets=rollback.clusters_left(run),
        )
        then = await ready_runs.read_inputs(planning.store, stored)
        return await ready_runs.take_up(dependencies, record.name, run, origin, then)

    def concluded(self, ended: run_kinds.EndedRun) -> application_state.StateChange:
        """Say what runs where after the run was rolled back."""
        run, record, before = ended.run, ended.application.record, ended.application.status
        back = run.status is statuses.RunStatus.SUCCEEDED
        status = replace(
            before,
            releases=release_changes.after_rollback(
                before.releases, run, ended.origin.assigned_before, ended.identity
            ),
            backfill=None,
            under_way=False,
            unproven=application_statuses.unproven_rollback(run),
        )
        word = application_statuses.word_of_end(run.status)
        columns = application_state.columns_of_end(record, status, word, run.reason)
        became = statuses.RunStatus.ROLLED_BACK if back else run.status
        change = application_state.CommitChange(run.commit, became.value, run.reason, run=run.id)
        return application_state.StateChange(status, columns, (change,))
