"""Probes every cluster again and again, and reports what follows.

In each round every cluster is asked once, at its own moment of the first half of the interval.
What fails in a round in which this process was not awake is no evidence and is passed over; so
are the streaks that led there.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.clusters.client import client_pool
from volary.clusters.observe import probes
from volary.concurrency import fan_out
from volary.controller.fleet import cluster_registry
from volary.model import clocks
from volary.model.fleet import cluster_health, fleets
from volary.model.runs import run_records
from volary.placement import health_states

_LOG = logging.getLogger(__name__)
_State = cluster_health.ClusterState
#: Clusters asked at the same time.
_MOST_AT_ONCE = 64
#: Rounds between two questions whether a cluster is still the same one.
_IDENTITY_ROUNDS = 60
#: How long a cluster that left is remembered.
_KEPT_AFTER_LEAVING = timedelta(days=90)

#: Seconds between two ticks, and how late one may be.
_TICK = 0.5
_LATE = 1.5
#: Seconds that the clock on the wall may run otherwise than the one that only goes forward.
_DRIFT = 2.0

#: Called with a cluster before and after a change of its state.
OnStateChange = Callable[[cluster_health.ClusterHealth, cluster_health.ClusterHealth], None]
OnRound = Callable[[cluster_health.FleetHealth], Awaitable[None]]
#: Asks a cluster once, for no longer than the given time.
Ask = Callable[[client_pool.ClientPool, str, timedelta], Awaitable[cluster_health.ProbeResult]]


async def probe_awaited(
    register: cluster_registry.ClusterRegistry,
    awaited: Callable[[], Collection[str]],
    *,
    ask: Ask = probes.probe,
) -> None:
    """Probe the clusters that somebody waits for, until cancelled; report those that answer.

    For processes that keep no health of clusters: nothing is asked while nobody waits.
    """
    rules = register.rules
    while True:
        await asyncio.sleep(rules.interval.total_seconds())
        names = tuple(awaited())
        answers = await fan_out.run_all(
            names, lambda name: ask(register.clusters, name, rules.timeout)
        )
        known = zip(names, answers, strict=True)
        ready = {name for name, answer in known if answer.state is _State.READY}
        if ready:
            register.on_reachable(ready)


@dataclass(frozen=True, slots=True)
class _Probed:
    probe: cluster_health.ProbeResult
    at: datetime

    @property
    def is_ready(self) -> bool:
        return self.probe.state is _State.READY


@dataclass(slots=True)
class HealthProbe:
    """For one term of leadership."""

    register: cluster_registry.ClusterRegistry
    fence: run_records.Fence | None
    #: Called after each round, one after another.
    listeners: tuple[OnRound, ...] = ()
    news: OnStateChange = lambda _, __: None
    #: Told of a cluster the moment it is back, before that counts for its state; and after each
    #: round of all that are ready, for whoever failed on one between two looks at it.
    on_reachable: cluster_registry.OnReachable = lambda _: None
    ask: Ask = probes.probe
    #: Of its own: who runs in the same process and counts on the common one is not disturbed.
    chance: Callable[[], float] = field(default_factory=lambda: random.Random().random)
    _rounds: int = field(default=0, init=False)
    _slots: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(_MOST_AT_ONCE), init=False
    )

    async def keep_probing(self) -> None:
        """Probe until cancelled."""
        await self.register.load()
        self.register.is_leader, self.register.on_reachable = True, self.on_reachable
        try:
            await self._keep_probing()
        finally:
            self.register.is_leader, self.register.on_reachable = False, lambda _: None

    async def _keep_probing(self) -> None:
        watch = StallDetector(self.register.clock)
        async with asyncio.TaskGroup() as group:
            group.create_task(watch.keep_watching(), name="stall detector")
            while True:
                began = asyncio.get_running_loop().time()
                await self.register.enter(self.register.members, fence=self.fence)
                health = await self._round(watch)
                for listener in self.listeners:
                    await listener(health)
                spent = asyncio.get_running_loop().time() - began
                await asyncio.sleep(max(self._interval() - spent, 0.0))

    async def _round(self, watch: "StallDetector") -> cluster_health.FleetHealth:
        members = [cluster for cluster in self.register.members.clusters if not cluster.suspended]
        results = await fan_out.run_all(
            members, lambda member: self._probe_member(member.name, is_alone=len(members) == 1)
        )
        probed = {member.name: result for member, result in zip(members, results, strict=True)}
        self._rounds += 1
        doubt = watch.doubt()
        await self._take(members, probed, doubt)
        await self._forget()
        self.on_reachable({name for name, result in probed.items() if result.is_ready})
        now = self.register.clock.now()
        return cluster_health.FleetHealth(
            now, tuple(map(self.register.of, self.register.members.names)), doubt
        )

    async def _probe_member(self, name: str, *, is_alone: bool) -> _Probed:
        rules, known = self.register.rules, self.register.of(name)
        if not is_alone:
            await asyncio.sleep(self.chance() * rules.interval.total_seconds() / 2)
        try:
            async with self._slots:
                probe_result, stumbled = await self._probe(name)
                asks = stumbled or self._asks_identity(known)
                if probe_result.state is _State.READY and asks:
                    identity = await probes.identity(self.register.clusters, name, rules.timeout)
                    probe_result = replace(probe_result, identity=identity)
        # A bug about one cluster must not stop the others; it is logged with its trace.
        except (LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
            _LOG.exception("cluster %s cannot be probed", name)
            reason = f"internal error ({type(error).__name__}), see the log"
            probe_result = cluster_health.ProbeResult(_State.NOT_READY, reason)
        result = _Probed(probe_result, self.register.clock.now())
        if result.is_ready:
            self.register.observe_requests(name, "")
        return result

    async def _probe(self, name: str) -> tuple[cluster_health.ProbeResult, bool]:
        """Ask once; again when it failed and the kubeconfig says something else by now.

        Also says whether it failed at first.
        """
        clusters, patience = self.register.clusters, self.register.rules.timeout
        probe_result = await self.ask(clusters, name, patience)
        if probe_result.state is _State.READY or not clusters.refresh(name):
            return probe_result, False
        return await self.ask(clusters, name, patience), True

    def _asks_identity(self, known: cluster_health.ClusterHealth) -> bool:
        """Say whether it is time to ask: once in a while, and whenever it was away."""
        ready = known.state is _State.READY and known.pending is None
        return not ready or known.observed is None or self._rounds % _IDENTITY_ROUNDS == 0

    async def _take(
        self, members: list[fleets.Cluster], seen: Mapping[str, _Probed], doubt: str
    ) -> None:
        rules, observed = self.register.rules, []
        for member in members:
            known, result = self.register.of(member.name), seen[member.name]
            if doubt:
                known = health_states.forget_observations(known)
            if not doubt or result.probe.state is _State.READY:
                known = health_states.observe(known, result.probe, result.at, rules)
            observed.append(health_states.apply_taint_rules(known, member, result.at, rules))
        before = {member.name: self.register.of(member.name) for member in members}
        for health in await self.register.take(observed, fence=self.fence):
            self.news(before[health.cluster], health)

    async def _forget(self) -> None:
        before = self.register.clock.now() - _KEPT_AFTER_LEAVING
        old = [
            name
            for name, health in self.register.known.items()
            if health.left is not None and health.left < before
        ]
        if old:
            await self.register.forget(old, fence=self.fence)

    def _interval(self) -> float:
        """Return the seconds from one round to the next, give or take a tenth."""
        return self.register.rules.interval.total_seconds() * (0.9 + 0.2 * self.chance())


@dataclass(slots=True)
class RoundListener:
    """Looks at all applications after each round, beside the next one.

    What a look takes does not hold up the next round; of several that came meanwhile the last
    one counts.

    Args:
        look: Looks at all applications after one round of probes.
    """

    look: OnRound
    _roll: cluster_health.FleetHealth | None = field(default=None, init=False)
    _called: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def take(self, roll: cluster_health.FleetHealth) -> None:
        """Take what a round of probes found; it is handled beside the next round."""
        self._roll = roll
        self._called.set()

    async def keep_running(self) -> None:
        """Look after each round of probes until cancelled."""
        while True:
            await self._called.wait()
            self._called.clear()
            if self._roll is not None:
                await self.look(self._roll)


@dataclass(slots=True)
class StallDetector:
    """Notices when this process stood still, or its clock was changed."""

    clock: clocks.Clock
    _doubt: str = field(default="", init=False)
    _wall: datetime | None = field(default=None, init=False)
    _steady: float = field(default=0.0, init=False)

    async def keep_watching(self) -> None:
        """Notice until cancelled."""
        while True:
            before = _now()
            await asyncio.sleep(_TICK)
            late = _now() - before - _TICK
            if late > _LATE:
                self._doubt = f"the event loop stalled for {late:.1f} s"

    def doubt(self) -> str:
        """Say what happened since this was asked last; empty: nothing."""
        doubt, self._doubt = self._doubt, ""
        wall, steady = self.clock.now(), _now()
        if self._wall is not None:
            drift = (wall - self._wall).total_seconds() - (steady - self._steady)
            if abs(drift) > _DRIFT:
                doubt = doubt or f"the clock was changed by {drift:+.1f} s"
        self._wall, self._steady = wall, steady
        return doubt


def _now() -> float:
    """Seconds of a clock that only goes forward; the loop's own, so that tests can turn it."""
    return asyncio.get_running_loop().time()
