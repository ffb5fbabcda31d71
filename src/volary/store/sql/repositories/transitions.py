"""Writes transitions, several runs' at once in one transaction.

Each statement is sent once for all transitions of the batch, so the price of a commit and of
the way to the database is shared.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import fencing
from volary.store.sql.database import connections, database
from volary.store.sql.repositories import notifications
from volary.store.sql.schema import answers, fences, rows, tables

#: Kept, or what it was refused with.
Result = run_records.KeptTransition | Exception
Write = fences.Fenced[run_records.Transition]

# Statements are made once: that takes longer than sending them.
_VERSIONS = (
    sa.select(
        tables.runs.c.id, tables.runs.c.version, tables.runs.c.last_event, tables.runs.c.digest
    )
    .where(tables.runs.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(tables.runs.c.id)  # locked in the same order by everybody
    .with_for_update()
)
_NEW_RUNS, _NEW_TARGETS, _NEW_MANIFESTS, _NEW_EVENTS, _NEW_APPROVALS = (
    sa.insert(table)
    for table in (
        *(tables.runs, tables.run_targets, tables.run_manifests),
        *(tables.events, tables.approvals),
    )
)


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A transition that is written, with the number of its run's last event before it."""

    transition: run_records.Transition
    digest: str
    last_event: int
    #: The name of the lease that was shown; None: none.
    lease: str | None


async def write_all(connection: connections.Connection, writes: Sequence[Write]) -> list[Result]:
    """Write what may be written, at most one transition of each run, and say how each went."""
    refused = await fences.refusals(connection, writes)
    stored_versions = await _versions(connection, [write.item.head.id for write in writes])
    unfinished = await _unfinished(connection, writes)
    given = await answers.given(
        connection, [answer.request for write in writes for answer in write.item.answers]
    )
    results: list[Result] = []
    accepted: list[_Accepted] = []
    for write, refusal in zip(writes, refused, strict=True):
        transition, digest = write.item, fencing.digest(write.item)
        stored_version = stored_versions.get(transition.head.id)
        result: Result | None = (
            refusal
            or fencing.judge_transition(transition, digest, stored_version)
            or answers.refusal(transition.answers, given)
        )
        if result is None and (place := _place(write)) is not None:
            other = unfinished.setdefault(place, transition.head.id)
            result = fencing.RunUnfinished(other) if other != transition.head.id else None
        if result is None:
            last = stored_version.last_event if stored_version else 0
            lease = write.fence.name if write.fence else None
            accepted.append(_Accepted(transition, digest, last, lease))
            given |= {answer.request: answer for answer in transition.answers}
            result = run_records.KeptTransition(transition.version, last + len(transition.feed))
        results.append(result)
    if accepted:
        await _write(connection, accepted)
    return results


def _place(write: Write) -> tuple[str, str] | None:
    """Return the place that a new run takes, of which there is one; None: it takes none."""
    transition = write.item
    if write.fence is None or transition.expected_version or transition.head.finished:
        return None
    return transition.head.application, write.fence.name


async def _unfinished(
    connection: connections.Connection, writes: Sequence[Write]
) -> dict[tuple[str, str], str]:
    """Return the runs that have not ended where new ones are to begin."""
    wanted = {place for place in map(_place, writes) if place is not None}
    if not wanted:
        return {}
    runs = tables.runs.c
    stored_rows = await connection.execute(
        sa.select(runs.application, runs.lease, runs.id).where(
            runs.finished.is_(None), sa.tuple_(runs.application, runs.lease).in_(sorted(wanted))
        )
    )
    return {(row.application, row.lease): row.id for row in stored_rows}


async def _versions(
    connection: connections.Connection, ids: Iterable[str]
) -> dict[str, fencing.StoredVersion]:
    stored_rows = await connection.execute(_VERSIONS, {"ids": sorted(ids)})
    return {
        row.id: fencing.StoredVersion(row.version, row.last_event, row.digest)
        for row in stored_rows
    }


async def _write(connection: connections.Connection, accepted: Sequence[_Accepted]) -> None:
    await _write_runs(connection, accepted)
    transitions = [write.transition for write in accepted]
    await _many(
        connection,
        _NEW_MANIFESTS,
        [
            {"run_id": transition.head.id, "body": transition.manifests}
            for transition in transitions
            if transition.manifests
        ],
    )
    await _many(
        connection,
        database.upsert(connection, tables.stages),
        [
            rows.values(stage, run_id=transition.head.id)
            for transition in transitions
            for stage in transition.stages
        ],
    )
    await _many(
        connection,
        database.upsert(connection, tables.tasks),
        [
            rows.values(task, run_id=transition.head.id)
            for transition in transitions
            for task in transition.tasks
        ],
    )
    await _many(
        connection,
        _NEW_EVENTS,
        [
            rows.values(
                event,
                run_id=write.transition.head.id,
                application=write.transition.head.application,
                number=write.last_event + offset,
            )
            for write in accepted
            for offset, event in enumerate(write.transition.feed, 1)
        ],
    )
    await _many(
        connection,
        _NEW_APPROVALS,
        [
            rows.values(approval, run_id=transition.head.id)
            for transition in transitions
            for approval in transition.approvals
        ],
    )
    await notifications.add(
        connection,
        [message for transition in transitions for message in transition.notifications],
    )
    await answers.keep(
        connection, [answer for transition in transitions for answer in transition.answers]
    )


async def _write_runs(connection: connections.Connection, accepted: Sequence[_Accepted]) -> None:
    new: list[rows.Values] = []
    with_document: list[rows.Values] = []
    without: list[rows.Values] = []
    for write in accepted:
        transition = write.transition
        values = rows.values(
            transition.head,
            version=transition.version,
            last_event=write.last_event + len(transition.feed),
            digest=write.digest,
        )
        if transition.document is not None:
            values["document"] = transition.document
        if transition.expected_version == 0:
            fixed = {
                "origin": transition.origin,
                "clusters": transition.clusters,
                "lease": write.lease,
                "by": str(transition.origin.get("by", "")),
            }
            new.append({"document": {}} | values | fixed)
        elif transition.document is not None:
            with_document.append(values)
        else:
            without.append(values)
    await _many(connection, _NEW_RUNS, new)
    await _many(connection, _NEW_TARGETS, [target for run in new for target in _targets(run)])
    for changed in (with_document, without):
        if changed:
            renamed = [{f"new_{key}": value for key, value in row.items()} for row in changed]
            await _many(connection, _change(tuple(changed[0])), renamed)


def _targets(run: rows.Values) -> Iterator[rows.Values]:
    """Yield the clusters of a new run, each once."""
    for target in dict.fromkeys(run["origin"].get("targets", ())):
        yield {"run_id": run["id"], "target": target, "created": run["created"]}


@functools.cache
def _change(names: tuple[str, ...]) -> sa.Update:
    """Return what changes columns of a run, the one that `new_id` names."""
    return (
        sa.update(tables.runs)
        .where(tables.runs.c.id == sa.bindparam("new_id"))
        .values({name: sa.bindparam(f"new_{name}") for name in names if name != "id"})
    )


async def _many(
    connection: connections.Connection,
    statement: sa.Executable,
    values: Sequence[dict[str, object]],
) -> None:
    if values:
        await connection.execute(statement, values)
