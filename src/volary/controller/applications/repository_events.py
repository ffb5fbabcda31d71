"""What a look into a repository means for one application: metadata, a decision, a run request."""

import functools
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace

from volary.concurrency import work_threads
from volary.controller.applications import reconcilers
from volary.controller.leadership import context
from volary.controller.runs import ready_runs
from volary.controller.status import application_identity, application_statuses, run_requests
from volary.gitops import repository_state, triggers
from volary.model import applications, errors
from volary.sources.git import repositories
from volary.tenancy import membership

_LOG = logging.getLogger(__name__)
#: Status words that a file which can be read puts an end to.
_UNREADABLE = (
    application_statuses.StatusWord.BROKEN,
    application_statuses.StatusWord.SUSPENDED,
    application_statuses.StatusWord.REMOVED,
    application_statuses.StatusWord.ORPHANED,
    "",
)


async def apply(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    seen: repository_state.RepositoryState,
    mine: membership.Membership,
) -> None:
    """Bring an application up to date with what was found of it, and whose it is."""
    columns: dict[str, object] = {
        "project": mine.project,
        "repository": seen.name,
        "path": discovered.path,
        "branch": seen.branch,
        "removed": None,
    }
    application = discovered.application
    address = leader.dependencies.addresses.get(seen.name, "")
    noted: dict[str, object] = {
        "head": discovered.commit,
        "address": address,
        "before_orphaned": None,
        "unowned": mine.reason,
    }
    if application is not None:
        noted["wanted_project"] = application.project
    if not mine.project:
        await _leave_alone(reconciler, discovered, noted, columns, mine.taking)
        return
    was_unowned = bool(reconciler.status.unowned)
    if application is None:
        await _take_unusable(leader, reconciler, discovered, noted, columns)
    else:
        await _take_usable(leader, reconciler, discovered, noted, columns)
    if was_unowned:
        reconciler.work()


async def _take_unusable(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    noted: dict[str, object],
    columns: dict[str, object],
) -> None:
    """Write down that a file cannot be used.

    What was decided stays: the commit that mends the file is decided with this one's.
    """
    faults = errors.mistakes(discovered.problems)
    reason = "; ".join(str(fault).splitlines()[0] for fault in faults) or "it has errors"
    holding = [fault for fault in faults if fault.holds]
    if holding:
        noted["held"] = str(holding[0]).splitlines()[0]
    # Nothing but that somebody holds it back is no mistake.
    only = bool(holding) and len(holding) == len(faults)
    status = (
        application_statuses.StatusWord.SUSPENDED
        if only
        else application_statuses.StatusWord.BROKEN
    )
    stands = {"status": status.value, "reason": reason}
    # Whoever sees that it is broken finds the run that failed by it, so that is made before.
    is_known = bool(reconciler.record.status)
    await reconciler.change(noted, **columns, **({} if is_known else stands))
    if reconciler.status.unusable_at != discovered.commit:
        is_broken = status is application_statuses.StatusWord.BROKEN
        if is_broken:
            place, short = f"{columns['repository']}: {discovered.path}", discovered.commit[:8]
            _LOG.warning("%s cannot be used at %s: %s", place, short, reason)
        if is_broken and not application_identity.is_placeholder(reconciler.name):
            try:
                await _refuse(leader, reconciler, discovered, reason)
            except errors.VolaryError:  # it is tried again, and is broken meanwhile
                await reconciler.change(**stands)
                raise
    await reconciler.change({"unusable_at": discovered.commit}, **stands)


async def _take_usable(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    noted: dict[str, object],
    columns: dict[str, object],
) -> None:
    """Write down what a file says, and decide about its commit."""
    application = discovered.application
    assert application is not None
    columns["labels"] = dict(application.labels)
    was_held, noted["held"] = bool(reconciler.status.held), ""
    listed = {
        (discovered.repository, discovered.path),
        (discovered.repository, discovered.directory),
    } & leader.rules.listed
    noted["targets"] = application.targets if listed else None
    noted["mentions"] = application.mentions
    noted["alerts"] = application.alerts
    was_broken = reconciler.record.status == application_statuses.StatusWord.BROKEN
    if reconciler.record.status in _UNREADABLE:
        columns |= _status_once_readable(reconciler)
    await reconciler.change(noted, **columns)
    if was_held:
        reconciler.work()
    if reconciler.status.looked_at == discovered.commit:
        return
    await _look_at_commit(
        leader, reconciler, discovered, application.triggers, was_broken=was_broken
    )


async def _leave_alone(
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    noted: dict[str, object],
    columns: dict[str, object],
    taking: Sequence[str],
) -> None:
    """Write down that an application belongs to no project: what runs stays as it is.

    What was decided stays, too: should a project take it, this commit is decided then.
    """
    before, why = reconciler.status.unowned, str(noted["unowned"])
    status = application_statuses.StatusWord.BROKEN.value
    await reconciler.change(noted, **columns, status=status, reason=why)
    if before != why:
        place, short = f"{columns['repository']}: {discovered.path}", discovered.commit[:8]
        names = f" ({', '.join(taking)})" if taking else ""
        _LOG.warning("%s is refused at %s: %s%s", place, short, why, names)


async def _look_at_commit(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    options: applications.Triggers,
    *,
    was_broken: bool,
) -> None:
    """Decide about a commit: it is requested, only wanted, or changes nothing."""
    before, commit = reconciler.status, discovered.commit
    decide = functools.partial(_decide, leader, reconciler, discovered)
    async with leader.planners.slot():
        run_request = await decide(options, previous=before.looked_at)
        if run_request is None and was_broken:
            # Back to the file as it was is a change as well: else the failed run stays the last.
            run_request = await decide(options, previous=before.unusable_at)
        is_wanted = options.on_commit.disabled and await decide(
            applications.Triggers(), previous=before.looked_at
        )
    if run_request is not None:
        await reconciler.submit(run_request, looked_at=commit)
        return
    wanted = commit if is_wanted else before.wanted
    columns: dict[str, object] = {}
    if reconciler.record.status == application_statuses.StatusWord.SYNCED:
        columns = _status_when_idle(replace(reconciler.status, wanted=wanted))
    await reconciler.change({"looked_at": commit, "wanted": wanted}, **columns)


def _status_once_readable(reconciler: reconcilers.ApplicationReconciler) -> dict[str, object]:
    run, before = reconciler.run_under_way, reconciler.status.before_orphaned
    if before is not None and before.status not in _UNREADABLE:
        return {"status": before.status, "reason": before.reason}
    if run is not None:
        return {"status": application_statuses.StatusWord.RUNNING.value, "reason": run.reason}
    if reconciler.status.releases.running:
        synced: dict[str, object] = {
            "status": application_statuses.StatusWord.SYNCED.value,
            "reason": "its file can be read again",
        }
        return synced | _status_when_idle(reconciler.status)
    return {
        "status": application_statuses.StatusWord.UNKNOWN.value,
        "reason": "no run has succeeded yet",
    }


def _status_when_idle(status: application_statuses.ApplicationStatus) -> dict[str, object]:
    """Return the columns of an application that does not run what Git says; empty: it does."""
    differs = application_statuses.why_out_of_sync(status)
    word = application_statuses.StatusWord.OUT_OF_SYNC.value
    return {"status": word, "reason": differs} if differs else {}


async def _refuse(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    reason: str,
) -> None:
    """Make a commit that breaks the file, or leaves it broken, a run that has failed."""
    status = reconciler.status
    run_request = await _decide(
        leader,
        reconciler,
        discovered,
        applications.Triggers(),
        previous=status.unusable_at or status.looked_at,
    )
    if run_request is not None:
        clean = ready_runs.masker(leader.dependencies, application=discovered.name).clean
        # Who died after it kept the run left it under the same id, which is no digest of secrets.
        said = clean(reason)
        about = f"{reconciler.name} {run_request.commit} {said}"
        run = hashlib.blake2s(about.encode("utf-8", "replace"), digest_size=6).hexdigest()
        await reconciler.refuse(replace(run_request, id=run), said)


async def _decide(
    leader: context.LeaderContext,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    options: applications.Triggers,
    *,
    previous: str,
) -> run_requests.RunRequest | None:
    """Return what a commit requests, given what changed since `previous`; None: nothing."""
    repository = await leader.dependencies.repositories.repository(reconciler.record.repository)
    decision = await _trigger(leader, repository, reconciler, discovered, options, previous)
    if not decision.starts:
        return None
    commit = await repository.resolve(discovered.commit)
    return run_requests.RunRequest(
        id=leader.new_id(),
        commit=commit.id,
        kind=run_requests.KindName.RELEASE,
        reason=decision.reason,
        at=leader.dependencies.clock.now(),
        by=commit.author,
        author=commit.author,
        trigger=triggers.Kind.COMMIT,
    )


async def _trigger(
    leader: context.LeaderContext,
    repository: repositories.Repository,
    reconciler: reconcilers.ApplicationReconciler,
    discovered: repository_state.DiscoveredApplication,
    options: applications.Triggers,
    previous: str,
) -> triggers.Decision:
    changed: tuple[str, ...] = ()
    if previous:
        name = reconciler.record.repository
        try:
            changed = await leader.differences.between(
                name, repository, previous, discovered.commit
            )
        except errors.UserError:
            # A force-push took the commit away; what changed since cannot be told.
            previous = ""
    head = triggers.Head(discovered.commit, previous, changed, discovered.directory)
    return await work_threads.run_many(
        changed, "matching the changed paths", triggers.on_commit, options, head
    )
