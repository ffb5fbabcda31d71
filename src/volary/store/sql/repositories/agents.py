"""The agents that may connect, in a database: every server of this store knows them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from volary.model import json
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

_TABLE = tables.agents
_COLUMNS = _TABLE.c
_BY_HASH = (
    sa.select(_TABLE)
    .where(
        sa.or_(
            _COLUMNS.hash == sa.bindparam("wanted"),
            _COLUMNS.previous == sa.bindparam("wanted"),
        )
    )
    .limit(1)
)
_BY_NAME = sa.select(_TABLE).where(_COLUMNS.name == sa.bindparam("wanted"))


class Agents:
    """The agents that may connect: as many as people joined."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def add(self, agent: records.AgentRecord) -> bool:
        """Keep a new one; False: there is one of this name, which stays as it is."""
        async with self._base.writing() as connection:
            there = await connection.execute(_BY_NAME, {"wanted": agent.name})
            if there.first() is not None:
                return False
            await connection.execute(sa.insert(_TABLE).values(rows.values(agent)))
            return True

    async def find(self, digest: str) -> records.AgentRecord | None:
        """Return the one whose present or previous token has this hash; None: there is none."""
        if not digest:
            return None
        row = await self._base.row(_BY_HASH, {"wanted": digest})
        return None if row is None else rows.read(records.AgentRecord, row)

    async def get(self, name: str) -> records.AgentRecord | None:
        """Return the one of this name; None: there is none."""
        row = await self._base.row(_BY_NAME, {"wanted": name})
        return None if row is None else rows.read(records.AgentRecord, row)

    async def list(self) -> tuple[records.AgentRecord, ...]:
        """Return all, by name."""
        known = await self._base.rows(sa.select(_TABLE).order_by(_COLUMNS.name))
        return tuple(rows.read(records.AgentRecord, row) for row in known)

    @database.finished
    async def rotate(self, name: str, *, digest: str, sealing_key: str, at: datetime) -> bool:
        """Give an agent another token and key; False: there is none of this name.

        Those in use stay good until the new ones were seen. New ones that nobody used are replaced.
        """
        in_use = _COLUMNS.previous != ""
        changed = sa.update(_TABLE).values(
            previous=sa.case((in_use, _COLUMNS.previous), else_=_COLUMNS.hash),
            previous_sealing_key=sa.case(
                (in_use, _COLUMNS.previous_sealing_key), else_=_COLUMNS.sealing_key
            ),
            hash=digest,
            sealing_key=sealing_key,
            rotated=at,
        )
        return await self._change(changed.where(_COLUMNS.name == name))

    @database.finished
    async def confirm(self, name: str, *, digest: str) -> bool:
        """Note that the token of this hash was seen: the one before is good no more.

        False: it is not the present one any more.
        """
        changed = sa.update(_TABLE).values(previous="", previous_sealing_key="")
        return await self._change(changed.where(_COLUMNS.name == name, _COLUMNS.hash == digest))

    @database.finished
    async def pin(self, name: str, *, cluster_uid: str) -> bool:
        """Bind an agent to the cluster it comes from; False: it is another one's, or gone."""
        changed = sa.update(_TABLE).values(cluster_uid=cluster_uid)
        return await self._change(
            changed.where(_COLUMNS.name == name, _COLUMNS.cluster_uid.in_(("", cluster_uid)))
        )

    @database.finished
    async def note(
        self,
        name: str,
        *,
        seen: datetime,
        reason: str,
        version: str | None = None,
        protocol: int | None = None,
        document: json.JsonObject | None = None,
    ) -> bool:
        """Note that an agent was heard of, and what it said; None: as before. False: it is gone."""
        said: dict[str, Any] = {"version": version, "protocol": protocol, "document": document}
        told = {key: value for key, value in said.items() if value is not None}
        changed = sa.update(_TABLE).values(seen=seen, reason=reason, **told)
        return await self._change(changed.where(_COLUMNS.name == name))

    @database.finished
    async def remove(self, name: str) -> bool:
        """Forget an agent: its tokens let nobody in any more. False: there was none."""
        return await self._change(sa.delete(_TABLE).where(_COLUMNS.name == name))

    async def _change(self, statement: sa.Update | sa.Delete) -> bool:
        async with self._base.writing() as connection:
            done = await connection.execute(statement)
            return done.rowcount == 1
