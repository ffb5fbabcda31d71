"""Back to what ran before: which run is taken back, as what, and what holds afterwards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from volary.controller import refusals
from volary.controller.runs import ready_runs, releases, run_kinds
from volary.controller.status import (
    application_identity,
    application_state,
    application_statuses,
    release_coverage,
    run_origins,
    run_requests,
)
from volary.engine.persistence import codec
from volary.engine.runs import rollback, state
from volary.model import statuses
from volary.model.runs import run_plans
from volary.store import protocol, records

#: Runs that are looked at to find the one to take back.
_MOST_RUNS = 50


async def request_rollback(
    store: protocol.Store, name: str, request: records.RequestRecord
) -> run_requests.RunRequest:
    """Return the want that takes the application's last change back.

    Raises:
        refusals.Conflict: There is nothing to go back to.
    """
    run_filter = records.RunFilter(applications=frozenset({name}))
    page = await store.runs.list(run_filter, limit=_MOST_RUNS)
    ended = [
        item.head.id
        for item in page.items
        if item.head.finished and run_origins.from_document(item.origin).kind.is_release
    ]
    loaded = [await store.runs.load(each) for each in ended]
    chosen = choose_run([codec.read_run(each) for each in loaded if each is not None])
    if chosen is None:
        raise refusals.conflict("there is no run whose change is still there; name a commit")
    first = [name for name in rollback.clusters_left(chosen) if not chosen.running_commit_of(name)]
    if first:
        raise refusals.conflict(
            f"nothing ran on {', '.join(first[:5])} before run {chosen.id}; name a commit"
        )
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


def _summary_of(chosen: state.Run) -> str:
    commits = {chosen.running_commit_of(name) for name in rollback.clusters_left(chosen)}
    if len(commits) == 1:
        return f"rolls back to {commits.pop()[:7]}"
    return f"rolls run {chosen.id} back, each cluster to what it ran before"


def choose_run(runs: Sequence[state.Run]) -> state.Run | None:
    """Return the newest run whose change is still there; `runs` are the newest first."""
    undone: set[str] = set()
    for run in runs:
        if run.rollback_of:
            # Of a way back that failed, what is left is left of this one.
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


class Rollback(releases.Release):
    """The kind of run that rolls back a run that has ended."""

    name = run_requests.KindName.ROLLBACK

    async def prepare(
        self,
        planning: run_kinds.Planning,
        application: application_state.ApplicationState,
        run_request: run_requests.RunRequest,
    ) -> ready_runs.ReadyRun:
        """Return the new run: the stored one, on its way back from the start."""
        dependencies, known = planning.dependencies, application.record
        stored = await planning.store.runs.load(run_request.rollback_of)
        if stored is None:
            raise refusals.conflict(f"run {run_request.rollback_of} is not kept any more")
        old = codec.read_run(stored)
        # Those that the run had gone on without may have got its release when they came back.
        coverage = application.status.coverage
        caught_up = coverage.clusters if coverage.commit == old.commit else ()
        run = rollback.rollback_run(
            old,
            run_request.id,
            f"rolled back by {run_request.by}",
            dependencies.clock.now(),
            holders=tuple(caught_up),
        )
        origin = application_identity.with_current_repository(
            run_origins.from_document(stored.origin), known, dependencies.addresses
        )
        origin = replace(
            origin,
            kind=run_request.kind,
            reason=run_request.reason,
            by=run_request.by,
            summary=run_request.reason,
            targets=rollback.clusters_left(run),
        )
        return await ready_runs.take_up(dependencies, known.name, run, origin)

    def begun(
        self,
        application: application_state.ApplicationState,
        run: state.Run,
        origin: run_origins.Origin,
    ) -> application_state.StateChange:
        """Take the run as under way; where the application is stays as it is."""
        status = replace(application.status, pinned=origin.assigned_before)
        return releases.taken_as_running(status, run, origin)

    def concluded(
        self,
        application: application_state.ApplicationState,
        run: state.Run,
        identity: release_coverage.Identity,
        now: datetime,
    ) -> application_state.StateChange:
        """Say what runs where after the run was rolled back."""
        record = application.record
        status, commit = _after_end(application.status, run, identity, record.running_commit)
        ended = run.status
        if ended is statuses.RunStatus.SUCCEEDED:
            ended = statuses.RunStatus.ROLLED_BACK
        word = application_statuses.word_of_end(run.status)
        columns = application_state.columns_of_end(record, status, word, run.reason)
        change = application_state.CommitChange(run.commit, ended.value, run.reason, run=run.id)
        return application_state.StateChange(
            status, {**columns, "running_commit": commit}, (change,)
        )


def _after_end(
    application_status: application_statuses.ApplicationStatus,
    run: state.Run,
    identity: release_coverage.Identity,
    remembered: str,
) -> tuple[application_statuses.ApplicationStatus, str]:
    """Return how the application stands once a run was taken back, and what runs by then.

    A release counts as completed only if every cluster is proven back at the same one; else none
    does, so that none is brought to clusters that miss it.
    """
    back = run.status is statuses.RunStatus.SUCCEEDED
    commit = run.running_commit if back else remembered
    held = rollback.commits_after(run)
    others = (
        application_status.coverage.clusters
        if application_status.coverage.commit == run.commit
        else ()
    )
    kept = {**application_status.kept, **dict.fromkeys(others, run.commit), **held}
    kept |= dict.fromkeys(rollback.clusters_left(run), run.commit)
    there = {name: identity(name) for name in held}
    completed = back and set(kept.values()) <= {commit} and bool(commit)
    coverage = (
        release_coverage.ReleaseCoverage(commit, there)
        if completed
        else release_coverage.ReleaseCoverage()
    )
    assigned = application_status.assigned.taken_over(
        application_status.pinned, rollback.clusters_rolled_back(run)
    )
    application_status = replace(
        application_status,
        kept={name: each for name, each in kept.items() if each != commit},
        coverage=coverage,
        assigned=application_status.pinned if back else assigned,
        backfill=None,
        under_way=False,
    )
    return application_status, commit
