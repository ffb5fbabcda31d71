"""Brings the last completed release to clusters that have missed it, by itself.

Looks after each roll call at applications that nothing else is wanted of: which of the clusters
they are on are ready and do not have it, because they joined, came back, were uncordoned or were
built anew. It waits for a run under way (which is pinned), for windows, for a pause, and ever
longer after each failure, so that a cluster that comes and goes causes no storm. What an
application waits for is kept with it.

A cluster that is cordoned in the middle of a run is left out of it where nothing has begun.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.config import admission, crosscheck
from volary.controller import (
    dividing,
    driving,
    lanes,
    moves,
    pinning,
    reaching,
    releases,
    standings,
    wants,
)
from volary.engine import events
from volary.model import application as applications
from volary.model import attendance, errors, fleet, selection, taints
from volary.model import status as words
from volary.placement import destinations, windows
from volary.store import records

_LOG = logging.getLogger(__name__)
_REMEMBERED = 1024
#: Applications that catch up at the same time.
_TOGETHER = 8
#: After a first failure, and at most.
_FIRST, _LONGEST = timedelta(seconds=30), timedelta(minutes=30)
_BY = "volary"
#: How long a connection that nobody is given any more may still be in use.
_SWEEP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Try:
    """How often a cluster was tried in vain, and when it may be again."""

    times: int
    not_before: datetime


@dataclass(slots=True)
class CatchingUp:
    """One tenure's.

    Args:
        tenure: What everything that drives shares.
        all_lanes: Those of the tenure.
    """

    tenure: driving.Driving
    all_lanes: Callable[[], Iterable[lanes.Lane]]
    _roll: attendance.Roll | None = field(default=None, init=False)
    _called: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _tries: dict[tuple[str, str], _Try] = field(default_factory=dict, init=False)
    _swept: datetime = field(init=False)
    _known: OrderedDict[tuple[str, str, str], applications.Application] = field(
        default_factory=OrderedDict, init=False
    )

    def __post_init__(self) -> None:
        """Begin to count."""
        self._swept = self.tenure.desk.clock.now()

    async def take(self, roll: attendance.Roll) -> None:
        """Take what a roll call found; it is looked at beside."""
        self._roll = roll
        self._called.set()

    async def keep_catching_up(self) -> None:
        """Look after each roll call until cancelled."""
        while True:
            await self._called.wait()
            self._called.clear()
            if self._roll is not None and not self._roll.doubt:
                await self.look(self._roll)

    async def look(self, roll: attendance.Roll) -> None:
        """Look at all applications after one roll call."""
        known = {each.cluster: each for each in roll.clusters}
        everybody = list(self.all_lanes())
        await self._let_go(everybody)
        busy = sum(_is_catching_up(each.standing) for each in everybody)
        for lane in everybody:
            try:
                await self._leave_out_cordoned(lane, known)
                busy += await self._look(lane, known, may_begin=busy < _TOGETHER)
            except (errors.UserError, errors.TemporaryError) as error:
                _LOG.warning("application %s is not caught up now: %s", lane.name, error)
            # A bug in one application must not stop the others; it is logged with its trace.
            except Exception as error:
                if driving.is_overtaken(error):
                    raise
                _LOG.exception("application %s is not caught up", lane.name)

    async def _let_go(self, everybody: list[lanes.Lane]) -> None:
        """Let go of clusters that left and that no run under way is pinned to."""
        clusters, now = self.tenure.desk.clusters, self.tenure.desk.clock.now()
        if clusters.former:
            under_way = [each for each in everybody if each.standing.under_way]
            runs = [each.run_under_way for each in under_way]
            if None not in runs:
                used = {name for run in runs if run is not None for name in run.targets}
                clusters.release(set(clusters.former) - used)
        if now - self._swept > _SWEEP:
            self._swept = now
            await clusters.sweep()

    async def _leave_out_cordoned(
        self, lane: lanes.Lane, known: Mapping[str, attendance.Attendance]
    ) -> None:
        run = lane.run_under_way
        if run is None or run.is_final or run.rollback is not None:
            return
        if moves.is_move(run):
            return  # what leaves a drained cluster is no new work there
        for each in run.clusters:
            found = known.get(each.name)
            cordon = found.cordon if found else None
            if cordon is None or each.left_out or each.touched:
                continue
            if any(task and task.started for task in (one.task(each.name) for one in run.stages)):
                continue
            app = await self._application(lane, run.commit)
            if not taints.untolerated((cordon,), app.tolerations):
                continue
            now = self.tenure.desk.clock.now()
            event = events.SkipCluster(now, each.name, cordon.by, cordon.reason, cordoned=True)
            refused = await lane.request(run.id, event)
            if not refused:
                _LOG.info("run %s goes on without %s, which is cordoned", run.id, each.name)

    async def _look(
        self, lane: lanes.Lane, known: Mapping[str, attendance.Attendance], *, may_begin: bool
    ) -> bool:
        """Look at one application; say whether it begins to catch up."""
        standing = lane.standing
        if lane.record.removed is not None or not lane.record.repository:
            return False
        if standing.catch_up is not None:
            await self._withdraw(lane, standing.catch_up, known)
            return False
        commit = standing.reached.commit or lane.record.running_commit
        if not commit or standing.under_way or standing.next_want is not None:
            return False
        if not standing.reached.commit:
            await self._begin_with(lane, commit)
            standing = lane.standing
        await self._learn_identities(lane)
        app = await self._application(lane, commit)
        names = self._where(app, standing)
        missing = reaching.missing(standing.reached, names, self.tenure.register.identity)
        self._forget_tries(lane.name, missing)
        why = {name: self._why_not_now(lane, app, name, known) for name in missing}
        ready = tuple(name for name in missing if not why[name]) if may_begin else ()
        if not ready:
            await self._note(lane, {name: told for name, told in why.items() if told})
            return False
        await self._want(lane, commit, {name: missing[name] for name in ready})
        return True

    async def _withdraw(
        self, lane: lanes.Lane, want: wants.Want, known: Mapping[str, attendance.Attendance]
    ) -> None:
        """Take a want back that has not begun when one of its clusters is gone again."""
        gone = [name for name in want.targets if not _is_ready(known.get(name))]
        if gone:
            await lane.amend(lambda now: _without(now, want))

    async def _begin_with(self, lane: lanes.Lane, commit: str) -> None:
        """Find out who has a release that was completed before anybody kept a record of it."""
        wanted = records.RunFilter(
            applications=frozenset({lane.name}), statuses=frozenset({words.RunStatus.SUCCEEDED})
        )
        page = await self.tenure.store.runs.list(wanted, limit=1)
        names = lane.standing.placed.chosen
        for summary in page.items:
            names = names or tuple(summary.origin.get("targets") or ())
        if not names:
            names = self._where(await self._application(lane, commit), lane.standing)
        identity = self.tenure.register.identity
        reached = reaching.Reached(commit, {name: identity(name) for name in names})
        await lane.amend(lambda now: now if now.reached.commit else replace(now, reached=reached))

    async def _learn_identities(self, lane: lanes.Lane) -> None:
        """Keep who a cluster is that was not known when it got the release."""
        identity = self.tenure.register.identity
        had = lane.standing.reached.clusters
        learned = {name: identity(name) for name, one in had.items() if not one and identity(name)}
        if learned:
            await lane.amend(
                lambda now: replace(
                    now,
                    reached=replace(now.reached, clusters={**now.reached.clusters, **learned}),
                )
            )

    def _where(
        self, app: applications.Application, standing: standings.Standing
    ) -> tuple[str, ...]:
        """Return the clusters that the application is on and that take something new."""
        members = self.tenure.desk.clusters.fleet
        there = crosscheck.deployed(app, members)
        open_to = {each.name for each in there if not admission.why_not(app, each)}
        qualified = [
            each for each in there if each.name in open_to or each.name in standing.placed.chosen
        ]
        leaving = {each.cluster for each in standing.placed.leaving}
        chosen = destinations.choose(app, qualified, standing.placed).names
        return tuple(name for name in chosen if name in open_to and name not in leaving)

    def _why_not_now(
        self,
        lane: lanes.Lane,
        app: applications.Application,
        name: str,
        known: Mapping[str, attendance.Attendance],
    ) -> str:
        """Return why a cluster does not get the release now; empty: it does."""
        found = known.get(name)
        if found is None or not _is_ready(found):
            return f"it is {found.state.value}" if found else "it was not looked at yet"
        if dividing.divides(app) and not _has_share(lane.standing, name):
            return "replicas are divided, and it has no share before the next run or rebalance"
        pinned = pinning.why(lane.standing, None)
        if pinned:
            return pinned
        now = self.tenure.desk.clock.now()
        closed = _closure(app, self.tenure.desk.clusters.member(name), now)
        if closed is not None:
            return f"{closed.why}; opens {closed.opening}"
        tried = self._tries.get((lane.name, name))
        if tried is not None and now < tried.not_before:
            before = lane.standing.reached.waiting.get(name, "")
            return before or f"tried again at {tried.not_before:%H:%M:%S}"
        return ""

    async def _want(self, lane: lanes.Lane, commit: str, why: Mapping[str, str]) -> None:
        now = self.tenure.desk.clock.now()
        told = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        want = wants.Want(
            id=self.tenure.new_id(),
            commit=commit,
            kind=wants.Kind.CATCH_UP,
            reason=f"the last completed release, {commit[:7]}, for clusters that miss it ({told})",
            at=now,
            by=_BY,
            targets=tuple(why),
        )
        for name in why:
            before = self._tries.get((lane.name, name))
            times = before.times + 1 if before else 1
            pause = min(_FIRST * 2 ** (min(times, 16) - 1), _LONGEST)
            self._tries[lane.name, name] = _Try(times, now + pause)
        _LOG.info("application %s: %s", lane.name, want.reason)
        await lane.amend(lambda standing: _with(standing, want))

    async def _note(self, lane: lanes.Lane, waiting: Mapping[str, str]) -> None:
        """Keep why clusters wait, when that changed."""
        if waiting == lane.standing.reached.waiting:
            return
        await lane.amend(
            lambda now: replace(now, reached=replace(now.reached, waiting=dict(waiting)))
        )

    def _forget_tries(self, application: str, missing: Mapping[str, str]) -> None:
        done = [key for key in self._tries if key[0] == application and key[1] not in missing]
        for key in done:
            del self._tries[key]

    async def _application(self, lane: lanes.Lane, commit: str) -> applications.Application:
        place = lane.place
        targets = repr(place.targets)
        key = (place.name, commit, targets)
        if key not in self._known:
            async with self.tenure.planners:
                project = await releases.open_place(self.tenure.desk, place, commit)
            self._known[key] = project.application
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]


def _is_catching_up(standing: standings.Standing) -> bool:
    under_way = standing.under_way and standing.reached.run == standing.run != ""
    return under_way or standing.catch_up is not None


def _is_ready(found: attendance.Attendance | None) -> bool:
    """Say whether a cluster is ready, and nothing else was seen since."""
    ready = attendance.ClusterState.READY
    return found is not None and found.state is ready and found.pending is None


def _has_share(standing: standings.Standing, name: str) -> bool:
    return any(name in each.replicas for each in standing.assigned.workloads)


def _closure(
    app: applications.Application, cluster: fleet.Cluster | None, now: datetime
) -> windows.Closure | None:
    if cluster is None:
        return None
    allow, deny = (
        [
            each.window
            for each in listed
            if each.selector is None or selection.matches(each.selector, cluster)
        ]
        for listed in (app.waves.windows.allow, app.waves.windows.deny)
    )
    return windows.closure(allow, deny, now)


def _with(standing: standings.Standing, want: wants.Want) -> standings.Standing:
    """Return the standing with a want, unless something else came up meanwhile."""
    if standing.under_way or standing.next_want is not None:
        return standing
    waiting = {
        name: why for name, why in standing.reached.waiting.items() if name not in want.targets
    }
    return replace(standing, catch_up=want, reached=replace(standing.reached, waiting=waiting))


def _without(standing: standings.Standing, want: wants.Want) -> standings.Standing:
    wanted = standing.catch_up
    if wanted is None or wanted.id != want.id:
        return standing
    return replace(standing, catch_up=None)
