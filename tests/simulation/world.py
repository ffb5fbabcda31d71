"""Two controllers on one store, clusters, people and a repository, until all is quiet."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

from simulation import (
    chats,
    clusters,
    databases,
    lateness,
    loops,
    networks,
    people,
    sources,
    swarm,
    troubles,
    witnesses,
)
from volary.controller import inputs
from volary.controller.api.commands import command_handler
from volary.controller.applications import registry
from volary.controller.fleet import cluster_registry
from volary.controller.leadership import context, election, planner_slots, tenures
from volary.controller.persistence import change_signal, notification_outbox
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.model import backoffs
from volary.model.fleet import cluster_health, fleets
from volary.model.runs import run_records
from volary.notifying import delivery, notifier
from volary.store import records, stores
from volary.store.sql.database import database

EPOCH = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROCESSES = ("first", "second")
_RULES = inputs.Rules(
    backoff=backoffs.Backoff(timedelta(seconds=1), timedelta(seconds=30)),
    patience=timedelta(seconds=8),
    again_after=timedelta(seconds=5),
    look=timedelta(seconds=3),
)
_TIMING = election.LeaseTiming(look=timedelta(seconds=3))


@dataclass
class Clock:
    """The time of a process, which may be ahead or behind; of nobody: the true time."""

    loop: loops.Loop
    process: "Process | None" = None

    def now(self) -> datetime:
        ahead = self.process.ahead if self.process else timedelta()
        return EPOCH + timedelta(seconds=self.loop.now) + ahead


@dataclass
class Process:
    """One process; each life of it is a place of its own."""

    world: "World"
    name: str
    life: int = 0
    place: str = ""
    is_alive: bool = False
    #: What its clock is ahead of the true time.
    ahead: timedelta = timedelta()
    #: Has it take another fleet file.
    change_fleet: Callable[[fleets.Fleet], None] = lambda _: None
    _main: "asyncio.Task[None] | None" = None
    #: How long it stays away once it has been asked to end; None: it was not asked.
    _away: float | None = None

    def start(self) -> None:
        self.life, self.is_alive, self._away = self.life + 1, True, None
        self.place = f"{self.name}-{self.life}"
        self.world.note(f"{self.place} starts")
        self._main = self.world.loop.start(self.place, self._live(self.place))

    def kill(self, seconds: float) -> None:
        """Let it die, and another life begin after some seconds."""
        if self.is_alive:
            self.world.note(f"{self.place} is killed")
            self.world.kills += 1
            self.world.loop.kill(self.place)
            self._come_again(seconds)

    def restart(self, seconds: float) -> None:
        """Ask it to end, as an upgrade does, and begin another life some seconds after that."""
        if self.is_alive and self._main and self._away is None:
            self.world.note(f"{self.place} is asked to end")
            self._away = seconds
            self._main.cancel()

    def _come_again(self, seconds: float) -> None:
        self.is_alive = False
        self.world.loop.call_later(seconds, self.start)

    async def _live(self, place: str) -> None:
        error: BaseException | None = None
        try:
            await self._lead()
        except asyncio.CancelledError as cancelled:
            error = cancelled if self._away is None else None
        except Exception as raised:  # noqa: BLE001 (noted: it must not happen)
            error = raised
        if self.world.network.is_over:
            return
        if self._away is None:
            self.world.broken.append(f"{place} ends by itself: {error!r}")
            return
        self.world.note(f"{place} has ended")
        self._come_again(self._away)

    async def _lead(self) -> None:
        world = self.world
        clock = world.clock_of(self)
        store = world.store_of(clock, self.place)
        tenure = tenures.Tenure(lambda: world.loop.now)
        members = world.network, world.fleet, world.members, world.gone
        pool = clusters.Pool(*members, world.wrote, tenure, world.lateness).pool
        known = ready_runs.Dependencies(
            world.feed,
            pool,
            clock,
            patience=_RULES.patience,
            again_after=_RULES.again_after,
            addresses={sources.NAME: "git.example.com/team/shop"},
        )
        signal, asked = change_signal.ChangeSignal(), change_signal.ChangeSignal()
        register = cluster_registry.ClusterRegistry(
            store, pool, clock, cluster_health.HealthRules(), signal, pool.fleet
        )
        self.change_fleet = register.replace
        outbox = notification_outbox.StoreOutbox(store)
        notifying = notifier.Notifier(
            chats.SETTINGS,
            delivery.DeliveryQueue(chats.senders(world.network, world.chat), outbox, chats.LIMITS),
        )

        async def drive(fence: run_records.Fence) -> None:
            world.note(f"{self.place} leads, term {fence.number}")
            outbox.fence = fence
            async with asyncio.TaskGroup() as group:
                leader = context.LeaderContext(
                    store=store,
                    fence=fence,
                    dependencies=known,
                    rules=_RULES,
                    change_signal=signal,
                    group=group,
                    planners=planner_slots.PlannerSlots(_RULES.planners),
                    notifier=notifying,
                    new_id=world.new_id,
                    register=register,
                )
                known_applications = registry.ApplicationRegistry(leader, {})
                await known_applications.load()
                commands = command_handler.CommandHandler(leader, known_applications, asked)
                group.create_task(commands.keep_handling())
                group.create_task(notifying.keep_delivering())
                group.create_task(world.feed.watch(known_applications.notice))

        await election.lead(store, self.place, drive, timing=_TIMING, tenure=tenure)


@dataclass
class World:
    """See the module."""

    loop: loops.Loop
    base: database.Database
    feed: sources.Feed
    plan: swarm.Plan = field(default_factory=swarm.Plan)
    notes: list[str] = field(default_factory=list)
    #: What does not hold.
    broken: list[str] = field(default_factory=list)
    kills: int = 0
    _ids: int = 0

    def __post_init__(self) -> None:
        self.note(str(self.plan))
        self.network = networks.Network(self.loop, delay=self.plan.delay)
        self.members = {name: clusters.Cluster(name=name) for name in self.plan.clusters}
        self.applications = self.plan.applications
        self.fleet = _fleet(self.plan.clusters)
        #: Clusters without a kubeconfig, and those that have ever left the fleet file.
        self.gone: set[str] = set()
        self.left: set[str] = set()
        self.processes = [Process(self, name) for name in PROCESSES]
        self.people = people.People(self, self.plan.acts)
        self.troubles = troubles.Troubles(self, self.plan.rates)
        self.lateness = lateness.Lateness(self.troubles.is_late, self.note, self.broken)
        self.chat = chats.Chat()
        self.witness = witnesses.Witness(self.now, self.troubles.after_step, broken=self.broken)
        self.store = self._own_store(self.clock_of())

    def clock_of(self, process: Process | None = None) -> Clock:
        """Return the clock of a process, or the true one."""
        return Clock(self.loop, process)

    def store_of(self, clock: Clock, place: str = "") -> stores.Store:
        """Return the store as somebody elsewhere reaches it, maybe a process at a place."""
        own = self._own_store(clock)
        self.witness.watch(own, place)
        return cast("stores.Store", networks.Remote(self.network, troubles.DATABASE, own))

    def _own_store(self, clock: Clock) -> stores.Store:
        # As PostgreSQL's: its own clock says whether a lease has expired.
        return stores.Store(
            self.base, clock=clock, limits=records.Limits(), lease_clock=self.clock_of()
        )

    def now(self) -> float:
        """Return the seconds since the beginning."""
        return self.loop.now

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids:04}"

    def note(self, text: str) -> None:
        self.notes.append(f"{self.loop.now:9.3f} {text}")

    def wrote(self, write: clusters.Write) -> None:
        self.witness.wrote(write)
        self.note(
            f"{write.place} → {write.cluster}: {write.verb} {write.kind} {write.name}"
            f" {write.commit[:7]}"
        )
        self.lateness.wrote(write)
        self.troubles.after_write(write.place)

    def leave(self, name: str, *, is_gone: bool) -> None:
        """Take a cluster out of the fleet file."""
        self.left.add(name)
        self.gone |= {name} if is_gone else set()
        self._change_fleet([other for other in self.fleet.names if other != name])

    def join(self, name: str) -> None:
        """Put a cluster into the fleet file again."""
        self.note(f"{name} joins the fleet")
        self.gone.discard(name)
        joined = {*self.fleet.names, name}
        self._change_fleet([other for other in self.plan.clusters if other in joined])

    def _change_fleet(self, names: Sequence[str]) -> None:
        self.fleet = _fleet(names)
        for process in self.processes:
            if process.is_alive:
                process.change_fleet(self.fleet)

    def push(self) -> None:
        """Let somebody push the next commit."""
        if self.feed.push():
            self.note(f"{self.feed.head[:7]} is pushed")

    def check(self) -> None:
        """Fail when something did not hold."""
        if self.broken:
            raise AssertionError("\n".join(dict.fromkeys(self.broken)))

    async def begin(self) -> None:
        """Have everybody run the first release, unless there is trouble from the beginning."""
        for process in self.processes:
            process.start()
        if not self.plan.begins_well:
            return
        await self._until_quiet(600, calm_looks=1)
        for name in self.applications:
            known = await self.store.applications.get(name)
            assert known is not None, f"{name} never began"
            assert known.status == "synced", f"{name} never began: {known.reason}"

    async def suffer(self) -> None:
        """Let things happen for a while."""
        await self.troubles.happen()

    async def settle(self) -> None:
        """Heal everything, and let all go to its end."""
        self.note("all is well again")
        self.network.heal()
        await self._until_quiet(4 * 3600)

    async def _until_quiet(self, seconds: float, calm_looks: int = 3) -> None:
        """Wait until nobody has anything to do, also some looks later; people go on approving."""
        until, calm = self.loop.now + seconds, 0
        while calm < calm_looks:
            await asyncio.sleep(7)
            await self.people.clear()
            self.check()
            calm = calm + 1 if await self._is_quiet() else 0
            if self.loop.now > until or self.loop.steps > self.plan.most_steps:
                waiting = [await self.status(name) for name in self.applications]
                raise AssertionError(
                    f"not quiet after {seconds} s: {await self.unfinished()}, {waiting}"
                )

    async def _is_quiet(self) -> bool:
        waiting = (
            self.unfinished,
            self.store.requests.unanswered,
            self.store.notifications.waiting,
        )
        if any([await look() for look in waiting]):
            return False
        known = [await self.status(name) for name in self.applications]
        head = self.feed.head
        return all(one.looked_at == head and one.next_request is None for one in known)

    def version_of(self, commit: str) -> str:
        """Return what the objects of a commit say."""
        return f"v{self.feed.commits.index(commit) + 1}"

    async def unfinished(self) -> tuple[str, ...]:
        return await self.store.runs.unfinished()

    async def status(self, name: str) -> application_statuses.ApplicationStatus:
        found = await self.store.applications.get(name)
        return application_statuses.from_document(found.document if found else {})

    async def runs(self) -> list[state.Run]:
        """Return all runs, in the order in which they began: clocks may say another one."""
        stored = [await self.store.runs.load(name) for name in self.witness.runs]
        assert None not in stored, "a run is lost"
        return [codec.read_run(one) for one in stored if one is not None]

    @property
    def digest(self) -> str:
        """What tells this simulation from every other."""
        return hashlib.sha256("\n".join(self.notes).encode()).hexdigest()


def _fleet(names: Sequence[str]) -> fleets.Fleet:
    return fleets.Fleet(tuple(fleets.Cluster(name) for name in names))


@asynccontextmanager
async def opened(
    loop: loops.Loop, source: sources.Source, plan: swarm.Plan
) -> AsyncIterator[World]:
    """Open a world with an empty store, and give everything back at the end."""
    base = await databases.DATABASES.take()
    world = World(loop, base, sources.Feed(source, lambda: loop.now, plan.applications), plan)
    try:
        yield world
    finally:
        world.network.is_over = True
        is_clean = await loop.end()
        await loop.shutdown_asyncgens()
        if is_clean:
            databases.DATABASES.give_back(base)
