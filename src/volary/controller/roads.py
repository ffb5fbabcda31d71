"""The lanes of all applications for one tenure, and which application file leads to which.

What was left behind is taken up first; what is seen of the repositories then goes to the lane of
the application that it is about. No error about one application harms another.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime
from typing import Any

from volary.controller import driving, insistence, lanes, sightings, standings
from volary.engine import codec
from volary.gitops import seen as sights
from volary.model import errors, problem, record
from volary.store import records

_LOG = logging.getLogger(__name__)

_PAGE = 500


class Roads:
    """All lanes of one tenure.

    Args:
        tenure: What everything that drives shares.
        troubles: Why a repository could not be looked at last, by name; kept up to date here.
    """

    def __init__(self, tenure: driving.Driving, troubles: dict[str, str]) -> None:
        self._tenure = tenure
        self._troubles = troubles
        self._lanes: dict[str, lanes.Lane] = {}
        #: Repository and file that a name belongs to.
        self._claims: dict[str, tuple[str, str]] = {}
        #: What was seen last, by the name of the lane.
        self._newest: dict[str, sights.FoundApplication] = {}

    async def load(self) -> None:
        """Take up what was left behind."""
        store = self._tenure.store
        for known in await self._records():
            self._lanes[known.name] = lanes.Lane(self._tenure, known)
            if known.removed is None and known.repository:
                self._claims[known.name] = (known.repository, known.path)
        unfinished = await insistence.insist(store.runs.unfinished, "taking up")
        left = [await self._load_run(run_id) for run_id in unfinished]
        for stored in left:
            if stored is not None:
                lane = self.lane_of(stored.head.application)
                lane.take_up(stored)
        for lane in self._lanes.values():
            await self._catch_up(lane, unfinished)
            lane.work()

    async def see(self, seen: sights.RepositorySeen) -> None:
        """Take what was seen of a repository."""
        if seen.problem:
            self._troubles[seen.name] = seen.problem
        else:
            self._troubles.pop(seen.name, None)
        names = self._claim(seen)
        async with asyncio.TaskGroup() as group:
            for name, found in names.items():
                self._newest[name] = found
                group.create_task(self._guarded(name, self._see_one(name, found, seen)))
        if seen.problem:
            return  # what is missing may only not have been read
        for name, lane in self._lanes.items():
            known = lane.record
            if known.repository == seen.name and name not in names and known.removed is None:
                self._claims.pop(name, None)
                await self._guarded(name, _remove(lane, self._tenure.desk.clock.now()))

    def all(self) -> tuple[lanes.Lane, ...]:
        """Return all lanes."""
        return tuple(self._lanes.values())

    def lane(self, name: str) -> lanes.Lane | None:
        """Return an application's lane; None when it is not known."""
        return self._lanes.get(name)

    def lane_of(self, name: str) -> lanes.Lane:
        """Return an application's lane, a new one if there is none."""
        if name not in self._lanes:
            self._lanes[name] = lanes.Lane(self._tenure, records.ApplicationRecord(name))
        return self._lanes[name]

    def _claim(self, seen: sights.RepositorySeen) -> dict[str, sights.FoundApplication]:
        """Return the applications by what they are called here: no two share a lane.

        Who had a name keeps it while its file is there; whole files come before broken ones.
        """
        names: dict[str, sights.FoundApplication] = {}
        here = {found.path for found in seen.applications}
        for found in sorted(seen.applications, key=lambda each: each.application is None):
            mine = (seen.name, found.path)
            owner = self._claims.get(found.name, mine)
            gone = owner[0] == seen.name and owner[1] not in here
            if owner == mine or gone:
                self._claims[found.name] = mine
                names[found.name] = found
            else:
                names[f"{found.name}@{seen.name}/{found.path}"] = found
        return names

    async def _see_one(
        self, name: str, found: sights.FoundApplication, seen: sights.RepositorySeen
    ) -> None:
        lane = self.lane_of(name)
        if name != found.name and found.application is not None:
            taken = problem.Problem(
                f"another file is called {found.name} already; names are unique"
            )
            found = self._newest[name] = replace(found, application=None, problems=(taken,))
        try:
            await sightings.take(self._tenure, lane, found, seen)
        except errors.TemporaryError as error:
            _LOG.warning("application %s is looked at again soon: %s", name, error)
            again = self._guarded(name, self._see_again(lane, found, seen))
            self._tenure.group.create_task(again, name=f"look at {name} again")

    async def _see_again(
        self, lane: lanes.Lane, found: sights.FoundApplication, seen: sights.RepositorySeen
    ) -> None:
        """Take what was seen once it can be taken, unless there is something newer."""
        delay = self._tenure.rules.first_delay
        while True:
            await asyncio.sleep(delay)
            if self._newest.get(lane.name) is not found:
                return None
            try:
                return await sightings.take(self._tenure, lane, found, seen)
            except errors.TemporaryError:
                delay = min(delay * 2, self._tenure.rules.longest_delay)

    async def _guarded(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Do something about one application; its errors must not harm the others."""
        try:
            await work
        except errors.UserError as error:
            _LOG.warning("application %s cannot be looked at: %s", name, error)
        # A bug in one application must not stop the others; it is logged with its trace.
        except Exception as error:
            if driving.is_overtaken(error):
                raise
            _LOG.exception("application %s was not looked at", name)

    async def _records(self) -> list[records.ApplicationRecord]:
        found: list[records.ApplicationRecord] = []
        wanted, cursor = records.ApplicationFilter(with_removed=True), ""
        while True:
            page = await self._page(wanted, cursor)
            found += page.items
            cursor = page.cursor
            if not cursor:
                return found

    async def _page(
        self, wanted: records.ApplicationFilter, cursor: str
    ) -> records.Page[records.ApplicationRecord]:
        store = self._tenure.store
        return await insistence.insist(
            lambda: store.applications.list(wanted, cursor=cursor, limit=_PAGE), "taking up"
        )

    async def _load_run(self, run_id: str) -> record.StoredRun | None:
        store = self._tenure.store
        return await insistence.insist(lambda: store.runs.load(run_id), "taking up")

    async def _catch_up(self, lane: lanes.Lane, unfinished: tuple[str, ...]) -> None:
        """Conclude a run whose end was kept, but not yet what it means for the application."""
        run_id = lane.standing.run
        if not lane.standing.under_way or run_id in unfinished:
            return
        stored = await self._load_run(run_id)
        if stored is not None:
            await lane.conclude(codec.read_run(stored))


async def _remove(lane: lanes.Lane, now: datetime) -> None:
    reason = "its file went away; what runs stays as it is"
    await lane.change(status=standings.Status.REMOVED.value, reason=reason, removed=now)
