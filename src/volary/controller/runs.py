"""Drives the runs of all applications while this process holds the lease.

`RunManager.drive` is one tenure: it takes up what an earlier process left behind, listens to
the repositories and to what people ask for, and goes on until it is cancelled. Being
cancelled is shutting down: every run stays as it was kept and goes on with the next tenure.
"""

import asyncio
import uuid
from collections.abc import Callable

from volary.controller import (
    answering,
    cluster_news,
    driving,
    inputs,
    moving,
    pulse,
    register,
    releases,
    roads,
    rollcall,
    rounds,
)
from volary.controller import catching_up as catching
from volary.model import attendance, record
from volary.notifying import notifier as notifiers
from volary.store import protocol


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
            all_roads = roads.Roads(tenure, self.troubles)
            await all_roads.load()
            desk = answering.Answers(tenure, all_roads, self._asked)
            mover = moving.Mover(tenure, all_roads.all, self._rules.failover)
            catching_up = catching.CatchingUp(tenure, all_roads.all)
            moves, catch_ups = rounds.Rounds(mover.look), rounds.Rounds(catching_up.look)
            listeners = (moves.take, catch_ups.take)
            calling = rollcall.RollCall(self._register, fence, listeners, self._tell)
            group.create_task(catch_ups.keep_looking(), name="catching up")
            group.create_task(moves.keep_looking(), name="moves")
            group.create_task(calling.keep_calling(), name="clusters")
            group.create_task(desk.keep_answering(), name="requests")
            group.create_task(self._watch(all_roads.see), name="repositories")

    def _tell(self, before: attendance.Attendance, after: attendance.Attendance) -> None:
        cluster_news.tell(self._notifier, self._desk.clock, before, after)
