"""Writes transitions, several runs' at once in one transaction.

Each statement is sent once for all transitions of the batch, so the price of a commit and of
the way to the database is shared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import errors
from volary.model.runs import run_records
from volary.store import fencing
from volary.store.sql.database import database
from volary.store.sql.schema import fences, rows, tables


@dataclass(frozen=True, slots=True)
class Write:
    """A transition with the fence it shows."""

    transition: run_records.Transition
    fence: run_records.Fence | None
    digest: str

    @property
    def run_id(self) -> str:
        """The run it belongs to."""
        return self.transition.head.id


#: Kept, or what it was refused with.
Result = run_records.KeptTransition | Exception


async def write_all(connection: sa_async.AsyncConnection, writes: Sequence[Write]) -> list[Result]:
    """Write what may be written, at most one transition of each run, and say how each went."""
    numbers = await fences.numbers(
        connection, {write.fence.name for write in writes if write.fence}
    )
    stored_versions = await _versions(connection, [write.run_id for write in writes])
    results: list[Result] = []
    accepted: list[tuple[Write, int]] = []
    for write in writes:
        stored_version = stored_versions.get(write.run_id)
        verdict = _decide(write, numbers, stored_version)
        if verdict is None:
            last = stored_version.last_event if stored_version else 0
            accepted.append((write, last))
            verdict = run_records.KeptTransition(
                write.transition.version, last + len(write.transition.feed)
            )
        results.append(verdict)
    if accepted:
        await _write(connection, accepted)
    return results


def _decide(
    write: Write, numbers: Mapping[str, int], stored_version: fencing.StoredVersion | None
) -> Result | None:
    try:
        fencing.check_fence(write.fence, numbers)
        return fencing.check_transition(write.transition, write.digest, stored_version)
    except errors.VolaryError as error:
        return error


async def _versions(
    connection: sa_async.AsyncConnection, ids: Iterable[str]
) -> dict[str, fencing.StoredVersion]:
    runs = tables.runs.c
    stored_rows = await connection.execute(
        sa.select(runs.id, runs.version, runs.last_event, runs.digest)
        .where(runs.id.in_(sorted(ids)))
        .order_by(runs.id)  # locked in the same order by everybody
        .with_for_update()
    )
    return {
        row.id: fencing.StoredVersion(row.version, row.last_event, row.digest)
        for row in stored_rows
    }


async def _write(
    connection: sa_async.AsyncConnection, accepted: Sequence[tuple[Write, int]]
) -> None:
    """Write the accepted transitions, each with the number of its run's last event."""
    await _write_runs(connection, accepted)
    transitions = [write.transition for write, _ in accepted]
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
    await _write_history(connection, accepted)


async def _write_runs(
    connection: sa_async.AsyncConnection, accepted: Sequence[tuple[Write, int]]
) -> None:
    new: list[rows.Values] = []
    with_document: list[rows.Values] = []
    without: list[rows.Values] = []
    for write, last in accepted:
        transition = write.transition
        values = rows.values(
            transition.head,
            version=transition.version,
            last_event=last + len(transition.feed),
            digest=write.digest,
        )
        if transition.document is not None:
            values["document"] = transition.document
        if transition.expected_version == 0:
            new.append({"document": {}} | values | {"origin": transition.origin})
        elif transition.document is not None:
            with_document.append(values)
        else:
            without.append(values)
    await _many(connection, sa.insert(tables.runs), new)
    for changed in (with_document, without):
        if changed:
            renamed = [{f"new_{key}": value for key, value in row.items()} for row in changed]
            names = [name for name in changed[0] if name != "id"]
            statement = (
                sa.update(tables.runs)
                .where(tables.runs.c.id == sa.bindparam("new_id"))
                .values({name: sa.bindparam(f"new_{name}") for name in names})
            )
            await _many(connection, statement, renamed)


async def _write_history(
    connection: sa_async.AsyncConnection, accepted: Sequence[tuple[Write, int]]
) -> None:
    transitions = [write.transition for write, _ in accepted]
    await _many(
        connection,
        sa.insert(tables.events),
        [
            rows.values(
                event,
                run_id=write.run_id,
                application=write.transition.head.application,
                number=last + offset,
            )
            for write, last in accepted
            for offset, event in enumerate(write.transition.feed, 1)
        ],
    )
    await _many(
        connection,
        sa.insert(tables.approvals),
        [
            rows.values(approval, run_id=transition.head.id)
            for transition in transitions
            for approval in transition.approvals
        ],
    )


async def _many(
    connection: sa_async.AsyncConnection,
    statement: sa.Executable,
    values: Sequence[dict[str, object]],
) -> None:
    if values:
        await connection.execute(statement, values)
