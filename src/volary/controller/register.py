"""The clusters as the controller knows them: kept before it counts, and told to the pool.

One per process. The process that drives writes it; one that stands by reads what was kept.
What the fleet file says and what is known are put together for the pool, so that whoever
chooses clusters sees their marks without asking here.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from volary.clusters import pool
from volary.controller import attendance_documents, insistence, pulse
from volary.model import attendance as words
from volary.model import clock as clocks
from volary.model import fleet, record
from volary.placement import attendance
from volary.store import protocol

_LOG = logging.getLogger(__name__)

Change = Callable[[words.Attendance], words.Attendance]


@dataclass(slots=True)
class Register:
    """See the module."""

    store: protocol.Store
    clusters: pool.Pool
    clock: clocks.Clock
    rules: words.Rules
    #: Beats whenever something was kept.
    kept: pulse.Pulse
    #: The fleet as its file says, without what is known besides.
    members: fleet.Fleet
    #: Whether this process writes it now.
    drives: bool = field(default=False, init=False)
    _known: dict[str, words.Attendance] = field(default_factory=dict, init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def known(self) -> Mapping[str, words.Attendance]:
        """All clusters that are known, also those that left."""
        return self._known

    def of(self, cluster: str) -> words.Attendance:
        """Return what is known of a cluster."""
        return self._known.get(cluster) or words.Attendance(cluster)

    def identity(self, cluster: str) -> str:
        """Return what tells a cluster from one built in its place; empty: not known."""
        return self.of(cluster).identity

    async def load(self) -> None:
        """Read what was kept; what only this process saw stays where nothing else was kept."""
        stored = await insistence.insist(self.store.clusters.list, "reading clusters")
        found = {each.name: attendance_documents.read(each) for each in stored}
        for name, each in found.items():
            mine = self._known.get(name)
            if mine is not None and attendance.is_kept_same(mine, each):
                found[name] = mine
        self._known = found
        self._tell()

    def replace(self, members: fleet.Fleet) -> None:
        """Take another fleet file; who joined and who left is kept with the next roll call."""
        self.members = members
        self._tell()

    async def enter(self, members: fleet.Fleet, *, fence: record.Fence | None) -> None:
        """Take the fleet as its file says now: who joined, left, is suspended or no more."""
        self.members = members
        now = self.clock.now()
        here = {each.name: each for each in members.clusters}
        async with self._lock:
            changed = [
                attendance.leave(each, now)
                for name, each in self._known.items()
                if name not in here
            ]
            for name, cluster in here.items():
                known = self._known.get(name) or attendance.begin(name, now)
                known = attendance.resume(known, now) if not cluster.suspended else known
                changed.append(attendance.suspend(known, now) if cluster.suspended else known)
            before = self._known
            await self._keep(changed, fence)
        for each in changed:
            _log_membership(before.get(each.cluster), each)

    async def take(
        self, found: Sequence[words.Attendance], *, fence: record.Fence | None
    ) -> tuple[words.Attendance, ...]:
        """Take what a look found; returns those whose state changed.

        Marks made by hand meanwhile stay; who has left or was suspended meanwhile stays so.
        """
        async with self._lock:
            before = self._known
            here = {each.name for each in self.members.clusters if not each.suspended}
            merged = [
                _with_hand_made(each, before.get(each.cluster))
                for each in found
                if each.cluster in here
            ]
            changed = tuple(each for each in merged if _is_news(before.get(each.cluster), each))
            await self._keep(merged, fence)
        for each in changed:
            _log(each)
        return changed

    async def change(self, cluster: str, change: Change, *, fence: record.Fence | None) -> str:
        """Change what is known of a cluster of the fleet; returns why not, or nothing."""
        async with self._lock:
            if cluster not in self.members.names:
                return f"there is no cluster {cluster} in the fleet"
            known = self._known.get(cluster) or attendance.begin(cluster, self.clock.now())
            await self._keep([change(known)], fence)
        return ""

    async def forget(self, names: Sequence[str], *, fence: record.Fence | None) -> None:
        """Forget clusters that left long ago."""
        async with self._lock:
            await insistence.insist(
                lambda: self.store.clusters.forget(names, fence=fence), "forgetting clusters"
            )
            self._known = {
                name: each for name, each in self._known.items() if name not in set(names)
            }

    async def _keep(self, found: Sequence[words.Attendance], fence: record.Fence | None) -> None:
        now = self.clock.now()
        new = [
            each
            for each in found
            if each.cluster not in self._known
            or not attendance.is_kept_same(each, self._known[each.cluster])
        ]
        if new:
            written = [attendance_documents.write(each, now) for each in new]
            await insistence.insist(
                lambda: self.store.clusters.keep(written, fence=fence), "keeping clusters"
            )
        self._known = {**self._known, **{each.cluster: each for each in found}}
        if new:
            self.kept.beat()
        self._tell()

    def _tell(self) -> None:
        marked = attendance.with_taints(self.members, self._known)
        marked = replace(marked, providers=self.clusters.fleet.providers)
        if marked != self.clusters.fleet:
            self.clusters.change(marked)


def _with_hand_made(found: words.Attendance, before: words.Attendance | None) -> words.Attendance:
    return found if before is None else attendance.with_hand_made(found, before)


def _is_news(before: words.Attendance | None, after: words.Attendance) -> bool:
    return before is None or before.state is not after.state


def _log_membership(before: words.Attendance | None, now: words.Attendance) -> None:
    if before is None or (before.left is not None and now.left is None):
        _LOG.info("cluster %s joined the fleet", now.cluster)
    elif before.left is None and now.left is not None:
        _LOG.warning(
            "cluster %s left the fleet: runs under way there go on, and what runs there stays",
            now.cluster,
        )


def _log(now: words.Attendance) -> None:
    level = logging.INFO if now.state is words.ClusterState.READY else logging.WARNING
    reason = f": {now.reason}" if now.reason else ""
    _LOG.log(level, "cluster %s is %s%s", now.cluster, now.state.value, reason)
