"""An application's runs, and the commits that never became one, as one list.

A commit that is refused before anything was planned is kept as a run that has failed, unless
nothing was requested yet: its file cannot be used, or a newer commit came first. Whoever looks
for it looks among the runs all the same.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from volary.controller.api import conversions
from volary.controller.api.screens import overview_representations
from volary.controller.status import application_statuses
from volary.store import pagination, records, stores

#: In a cursor: of this list there is nothing more.
_OVER = "-"
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One page of one of the two lists."""

    #: With the sort key of each, the newest first; None: it is not shown.
    entries: tuple[tuple[tuple[datetime, str], overview_representations.HistoryEntry | None], ...]
    #: Whether nothing comes after it.
    is_last: bool


async def page(
    store: stores.Store, application: str, *, cursor: str = "", limit: int = 50
) -> records.Page[overview_representations.HistoryEntry]:
    """Return runs and refused commits, the newest first; a page may hold fewer than `limit`.

    The first one begins with the commit whose file cannot be used, where that is so now.

    Raises:
        errors.UserError: The cursor is none of this list.
    """
    first = await _unusable(store, application) if not cursor else None
    if first is None:
        return await _page(store, application, cursor, limit)
    # It is about the newest there is, and how it is now.
    if limit == 1:
        return records.Page((first,), pagination.write(("", "")))
    rest = await _page(store, application, "", limit - 1)
    return records.Page((first, *rest.items), rest.cursor)


async def _page(
    store: stores.Store, application: str, cursor: str, limit: int
) -> records.Page[overview_representations.HistoryEntry]:
    of_runs, of_commits = pagination.by_pair(cursor) or ("", "")
    runs = await _runs(store, application, of_runs, limit)
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


async def _runs(store: stores.Store, application: str, cursor: str, limit: int) -> _Piece:
    if cursor == _OVER:
        return _Piece((), is_last=True)
    wanted = records.RunFilter(frozenset({application}))
    read = await store.runs.list(wanted, cursor=cursor, limit=limit)
    entries = tuple(((item.head.created, item.head.id), _of_run(item)) for item in read.items)
    return _Piece(entries, is_last=not read.cursor)


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


def _of_run(kept: records.RunSummary) -> overview_representations.HistoryEntry:
    shown = conversions.of_summary(kept)
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
