"""An application's runs, and the commits that never became one, as one list.

A commit that is refused before anything was planned is kept as a run that has failed, unless
nothing was requested yet: its file cannot be used, or a newer commit came first. Whoever looks
for it looks among the runs all the same.

Each run says what it left on its clusters. For most the list of runs tells; one that went back, or
on without some, is read whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from volary.controller.api import conversions
from volary.controller.api.screens import (
    action_representations,
    actions,
    overview_representations,
)
from volary.controller.status import application_statuses, run_requests
from volary.engine.persistence import codec
from volary.engine.runs import rollback, state
from volary.model import errors, statuses
from volary.store import pagination, records, stores

#: In a cursor: of this list there is nothing more.
_OVER = "-"
_NEVER = datetime.min.replace(tzinfo=UTC)
#: Ends after which it is known what the clusters run.
_TELLING = (*statuses.GOOD_ENDS, statuses.RunStatus.ROLLED_BACK)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One page of one of the two lists."""

    #: With the sort key of each, the newest first; None: it is not shown.
    entries: tuple[tuple[tuple[datetime, str], overview_representations.HistoryEntry | None], ...]
    #: Whether nothing comes after it.
    is_last: bool


#: Returns going back to a version; None: it is none to go back to.
BackTo = Callable[[actions.Version], action_representations.Action | None]


def _no_way(_: actions.Version) -> None:
    return None


async def page(
    store: stores.Store,
    application: str,
    *,
    cursor: str = "",
    limit: int = 50,
    back_to: BackTo = _no_way,
) -> records.Page[overview_representations.HistoryEntry]:
    """Return runs and refused commits, the newest first; a page may hold fewer than `limit`.

    The first one begins with the commit whose file cannot be used, where that is so now.

    Raises:
        errors.UserError: The cursor is none of this list.
    """
    first = await _unusable(store, application) if not cursor else None
    if first is None:
        return await _page(store, application, cursor, limit, back_to)
    # It is about the newest there is, and how it is now.
    if limit == 1:
        return records.Page((first,), pagination.write(("", "")))
    rest = await _page(store, application, "", limit - 1, back_to)
    return records.Page((first, *rest.items), rest.cursor)


async def _page(
    store: stores.Store, application: str, cursor: str, limit: int, back_to: BackTo
) -> records.Page[overview_representations.HistoryEntry]:
    of_runs, of_commits = pagination.by_pair(cursor) or ("", "")
    runs = await _runs(store, application, of_runs, limit, back_to)
    commits = await _commits(store, application, of_commits, limit)
    # Older ones of the other list may come between those that were not read.
    ends = [piece.entries[-1][0][0] for piece in (runs, commits) if not piece.is_last]
    oldest = max(ends, default=None)
    shown = sorted(
        (
            (key, entry)
            for piece in (runs, commits)
            for key, entry in piece.entries
            if entry is not None and (oldest is None or key[0] >= oldest)
        ),
        key=lambda item: item[0],
        reverse=True,
    )
    last = shown[limit - 1][0] if len(shown) >= limit else None
    until = last or ((oldest, "") if oldest is not None else None)
    follows = (_rest(runs, of_runs, until), _rest(commits, of_commits, until))
    return records.Page(
        tuple(entry for _, entry in shown[:limit]),
        "" if follows == (_OVER, _OVER) else pagination.write(follows),
    )


async def _unusable(
    store: stores.Store, application: str
) -> overview_representations.HistoryEntry | None:
    """Return the newest commit where the application's file cannot be used; None: it can be."""
    known = await store.applications.get(application)
    if known is None or application_statuses.why_unreadable(known):
        return None
    commit = application_statuses.from_document(known.document).unusable_at
    if known.status != application_statuses.StatusWord.BROKEN or not commit:
        return None
    of_commit = records.RunFilter(frozenset({application}), commit=commit)
    if (await store.runs.list(of_commit, limit=1)).items:
        return None
    refused = records.CommitRecord(
        application, commit, known.updated or _NEVER, status=known.status, reason=known.reason
    )
    return _of_commit(refused)


def _rest(piece: _Piece, cursor: str, until: tuple[datetime, str] | None) -> str:
    """Return where a list goes on after what is not older than `until`; None: after all of it."""
    done = [key for key, _ in piece.entries if until is None or key >= until]
    if piece.is_last and len(done) == len(piece.entries):
        return _OVER
    return pagination.write(done[-1]) if done else cursor


async def _runs(
    store: stores.Store, application: str, cursor: str, limit: int, back_to: BackTo
) -> _Piece:
    if cursor == _OVER:
        return _Piece((), is_last=True)
    wanted = records.RunFilter(frozenset({application}))
    read = await store.runs.list(wanted, cursor=cursor, limit=limit)
    shown = [_of_run(item, await _commits_after(store, item), back_to) for item in read.items]
    keys = [(item.head.created, item.head.id) for item in read.items]
    return _Piece(tuple(zip(keys, shown, strict=True)), is_last=not read.cursor)


async def _commits_after(
    store: stores.Store, kept: records.RunSummary
) -> tuple[overview_representations.CommitOnClusters, ...]:
    shown, origin = conversions.of_summary(kept), conversions.origin_of(kept.origin)
    if kept.head.finished is None or origin.kind is run_requests.KindName.MOVE:
        return ()
    if kept.head.status is statuses.RunStatus.SUCCEEDED and not origin.kind.is_rollback:
        return (overview_representations.CommitOnClusters(shown.commit, shown.targets),)
    if kept.head.status not in _TELLING or (stored := await store.runs.load(shown.id)) is None:
        return ()
    try:
        run = codec.read_run(stored)
    except errors.PermanentError:
        return ()
    by_commit: dict[str, list[str]] = {}
    for name, commit in commits_after(run).items():
        by_commit.setdefault(commit, []).append(name)
    return tuple(
        overview_representations.CommitOnClusters(commit, tuple(names))
        for commit, names in by_commit.items()
    )


def commits_after(run: state.Run) -> dict[str, str]:
    """Return what each cluster of a run that has ended runs; none of those nobody knows it of."""
    if run.rollback_of:
        return rollback.commits_after(run)
    holds = {name: run.commit for name in rollback.clusters_with_release(run)}
    # Those that it never wrote to run what they ran, as those do that are back.
    written = set(rollback.clusters_left(run))
    before = (name for name in run.targets if name not in written)
    return {name: run.running_commit_of(name) for name in before} | holds


async def _commits(store: stores.Store, application: str, cursor: str, limit: int) -> _Piece:
    if cursor == _OVER:
        return _Piece((), is_last=True)
    read = await store.commits.list(application, cursor=cursor, limit=limit)
    # What was refused names the run that it would have been.
    begun = await store.runs.summaries({item.run_id for item in read.items if item.run_id})
    entries = tuple(_with_key(item, begun) for item in read.items)
    return _Piece(entries, is_last=not read.cursor)


def _with_key(
    commit: records.CommitRecord, begun: dict[str, records.RunSummary]
) -> tuple[tuple[datetime, str], overview_representations.HistoryEntry | None]:
    entry = None if commit.run_id in begun else _of_commit(commit)
    return ((commit.seen, commit.commit), entry)


def _of_run(
    kept: records.RunSummary,
    after: tuple[overview_representations.CommitOnClusters, ...],
    back_to: BackTo,
) -> overview_representations.HistoryEntry:
    shown, kind = conversions.of_summary(kept), conversions.origin_of(kept.origin).kind
    # What took another run back brought no version of its own.
    brings = kind.is_release and kind is not run_requests.KindName.ROLLBACK
    version = actions.Version(shown.id, shown.commit, kept.head.status, shown.targets)
    return overview_representations.HistoryEntry(
        kind="run",
        at=shown.created,
        run=shown.id,
        commit=shown.commit,
        subject=shown.subject,
        status=shown.status,
        reason=shown.reason,
        trigger=shown.trigger,
        by=shown.by,
        strategy=shown.strategy,
        clusters=shown.targets,
        started=shown.started,
        finished=shown.finished,
        commits_after=after,
        rollback=back_to(version) if brings else None,
    )


def _of_commit(commit: records.CommitRecord) -> overview_representations.HistoryEntry:
    reason = commit.reason
    if commit.unreadable:
        reason = f"what is stored of it cannot be read: {commit.unreadable}"
    return overview_representations.HistoryEntry(
        kind="commit",
        at=commit.seen,
        run="",
        commit=commit.commit,
        subject=commit.subject,
        status=commit.status,
        reason=reason,
        trigger="",
        by=commit.author,
        strategy="",
        clusters=(),
        started=None,
        finished=None,
    )
