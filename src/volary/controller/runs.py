"""Drives the runs of all applications while this process holds the lease.

`RunManager.drive` is one tenure: it takes up what an earlier process left behind, listens to
the repositories and to what people ask for, and goes on until it is cancelled. Being
cancelled is shutting down: every run stays as it was kept and goes on with the next tenure.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime
from typing import Any

from volary.controller import (
    answering,
    cluster_news,
    driving,
    inputs,
    insistence,
    lanes,
    moving,
    pulse,
    register,
    releases,
    rollcall,
    sightings,
    standings,
)
from volary.controller import catching_up as catching
from volary.engine import codec
from volary.gitops import seen as sights
from volary.model import attendance, errors, problem, record
from volary.notifying import notifier as notifiers
from volary.store import protocol, records

_LOG = logging.getLogger(__name__)

_PAGE = 500


def new_id() -> str:
    """Return a fresh id of a run or a request."""
    return uuid.uuid4().hex[:12]


class RunManager:
    """Makes tenures; one per process.

    Args:
        store: Where everything is kept.
        desk: What planning works with.
        rules: How runs are driven.
        watch: Looks at the repositories for as long as this process drives.
        known: The clusters.
        asked: Beats when somebody asked for something through this process.
        notifier: Is told what happens.
    """

    def __init__(
        self,
        store: protocol.Store,
        desk: releases.Desk,
        rules: inputs.Rules,
        watch: inputs.Watch,
        known: register.Register,
        *,
        asked: pulse.Pulse,
        notifier: notifiers.Notifier,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._desk = desk
        self._rules = rules
        self._watch = watch
        self._register = known
        self._asked = asked
        self._notifier = notifier
        self._make_id = make_id
        #: Why a repository could not be looked at last, by name; only of those.
        self.troubles: dict[str, str] = {}

    async def drive(self, fence: record.Fence | None) -> None:
        """Drive until cancelled.

        Raises:
            ExceptionGroup: Of `faults.Overtaken` when another process drives now.
        """
        async with asyncio.TaskGroup() as group:
            tenure = driving.Driving(
                store=self._store,
                fence=fence,
                desk=self._desk,
                rules=self._rules,
                pulse=self._register.kept,
                group=group,
                planners=asyncio.Semaphore(self._rules.planners),
                notifier=self._notifier,
                new_id=self._make_id,
                register=self._register,
            )
            roads = _Roads(tenure, self.troubles)
            await roads.load()
            desk = answering.Answers(tenure, roads.lane, self._asked)
            mover = moving.Mover(tenure, roads.all, self._rules.failover)
            catching_up = catching.CatchingUp(tenure, roads.all)
            listeners = (mover.take, catching_up.take)
            calling = rollcall.RollCall(self._register, fence, listeners, self._tell)
            group.create_task(catching_up.keep_catching_up(), name="catching up")
            group.create_task(mover.keep_moving(), name="moves")
            group.create_task(calling.keep_calling(), name="clusters")
            group.create_task(desk.keep_answering(), name="requests")
            group.create_task(self._watch(roads.see), name="repositories")

    def _tell(self, before: attendance.Attendance, after: attendance.Attendance) -> None:
        cluster_news.tell(self._notifier, self._desk.clock, before, after)


class _Roads:
    """All lanes of one tenure."""

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
