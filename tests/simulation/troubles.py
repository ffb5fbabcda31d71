"""What happens to a simulated world while trouble lasts; what, when and to whom is drawn by lot."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from simulation import chats, databases

if TYPE_CHECKING:
    from simulation import world

DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Rates:
    """How often what happens, against one another."""

    push: float = 6
    person: float = 6
    kill: float = 2
    restart: float = 1
    pause: float = 1.5
    suspend: float = 0.5
    cut: float = 2
    outage: float = 0.5
    disk: float = 0.5
    refuse: float = 0.5
    leave: float = 0.7
    jump: float = 0.7
    collect: float = 1
    replace: float = 0.5
    #: The chance that a process stands still, or is killed, once a write of it has arrived,
    amid: float = 0.02
    #: and once a step of a run is kept, before the process hears of it.
    amid_step: float = 0.01
    #: The chance that a write arrives when somebody has written the same object since.
    late: float = 0.02
    #: The chance that a question, or an answer, is lost.
    loss: float = 0.01
    #: How long trouble lasts, in seconds, and the mean between two events.
    seconds: float = 300
    mean: float = 6

    def kinds(self) -> dict[str, float]:
        """Return how often each kind of trouble happens, by its name."""
        return {name: getattr(self, name) for name in (*KINDS, *CHANCES)}


#: What does not come from people, by the names of `Rates`: at times that are drawn by lot,
KINDS = (
    "kill",
    "restart",
    "pause",
    "suspend",
    "cut",
    "outage",
    "disk",
    "refuse",
    "leave",
    "jump",
    "collect",
    "replace",
)
#: and in the middle of what is done.
CHANCES = ("amid", "amid_step", "late", "loss")


@dataclass
class Troubles:
    """See the module."""

    world: "world.World"
    rates: Rates
    #: Nothing happens before it began, and once it has ended.
    is_over: bool = True

    async def happen(self) -> None:
        """Let things happen for as long as trouble lasts."""
        world, rates, lot = self.world, self.rates, self.world.loop.lot
        self.is_over = False
        happenings = self._happenings()
        weights = [weight for weight, _ in happenings]
        world.network.loss = rates.loss
        until = world.loop.now + rates.seconds
        while world.loop.now < until:
            await asyncio.sleep(lot.expovariate(1 / rates.mean))
            lot.choices([happening for _, happening in happenings], weights)[0]()
            world.check()
        self.is_over = True

    def _happenings(self) -> list[tuple[float, Callable[[], None]]]:
        rates = self.rates
        return [
            (rates.push, self.world.push),
            (rates.person, self.world.people.act),
            (rates.kill, self._kill),
            (rates.restart, self._restart),
            (rates.pause, self._pause),
            (rates.suspend, self._suspend),
            (rates.cut, self._cut),
            (rates.outage, self._lose),
            (rates.disk, self._break_disk),
            (rates.refuse, self._refuse),
            (rates.leave, self._leave),
            (rates.jump, self._jump),
            (rates.collect, self._collect),
            (rates.replace, self._replace_credentials),
        ]

    def _process(self) -> "world.Process":
        return self.world.loop.lot.choice(self.world.processes)

    def _kill(self) -> None:
        self._process().kill(self.world.loop.lot.uniform(0.1, 30))

    def _restart(self) -> None:
        self._process().restart(self.world.loop.lot.uniform(0.1, 5))

    def after_write(self, place: str) -> None:
        """Let a process stop in the middle of what it does to clusters."""
        self._stop_by_lot(place, self.rates.amid, kills=0.3)

    def is_late(self) -> bool:
        """Whether a write that is being sent now arrives late."""
        return not self.is_over and self.world.loop.lot.random() < self.rates.late

    def after_step(self, place: str) -> None:
        """Let a process stop once a step of a run is kept."""
        self._stop_by_lot(place, self.rates.amid_step, kills=0.7)

    def _stop_by_lot(self, place: str, rate: float, *, kills: float) -> None:
        if not self.is_over and self.world.loop.lot.random() < rate:
            self._stop(place, kills)

    def _stop(self, place: str, kills: float) -> None:
        here = [one for one in self.world.processes if one.place == place]
        if here and self.world.loop.lot.random() < kills:
            here[0].kill(self.world.loop.lot.uniform(0.1, 30))
        elif here:
            self._stand_still(place)

    def _pause(self) -> None:
        self._stand_still(self._process().place)

    def _stand_still(self, place: str) -> None:
        world = self.world
        seconds = world.loop.lot.uniform(1, 60)
        world.note(f"{place} stands still for {seconds:.1f} s")
        world.loop.pause(place, seconds)

    def _suspend(self) -> None:
        world, place = self.world, self._process().place
        seconds = world.loop.lot.uniform(1, 60)
        world.note(f"the machine of {place} sleeps for {seconds:.1f} s")
        world.loop.suspend(place, seconds)

    def _cut(self) -> None:
        world, lot = self.world, self.world.loop.lot
        place, there = self._process().place, lot.choice((DATABASE, *world.members))
        seconds = lot.uniform(1, 90)
        world.note(f"{place} and {there} do not hear each other for {seconds:.1f} s")
        pair = frozenset((place, there))
        world.network.cuts.add(pair)
        world.loop.call_later(seconds, world.network.cuts.discard, pair)

    def _lose(self) -> None:
        world, lot = self.world, self.world.loop.lot
        there = lot.choice((DATABASE, DATABASE, chats.PLACE, *world.members))
        seconds = lot.uniform(1, 60)
        world.note(f"nobody hears {there} for {seconds:.1f} s")
        world.network.silent.add(there)
        world.loop.call_later(seconds, world.network.silent.discard, there)

    def _jump(self) -> None:
        process, lot = self._process(), self.world.loop.lot
        process.ahead += (jump := timedelta(seconds=lot.choice((-90, -5, 20, 600, 7200))))
        self.world.note(f"the clock of {process.place} jumps by {jump.total_seconds():g} s")

    def _collect(self) -> None:
        if gone := self.world.feed.collect():
            self.world.note(f"nobody has {', '.join(sorted(one[:7] for one in gone))} any more")
            self.world.witness.lost(gone)

    def _break_disk(self) -> None:
        world, lot, disk = self.world, self.world.loop.lot, databases.DATABASES.disk
        disk.fault, seconds = lot.choice(databases.FAULTS), lot.uniform(1, 60)
        disk.is_noticed_late = lot.random() < 0.3
        when = "at commits" if disk.is_noticed_late else "at writes"
        world.note(f"the database says {disk.fault.code} {when} for {seconds:.1f} s")
        world.loop.call_later(seconds, setattr, disk, "fault", None)

    def _refuse(self) -> None:
        """Have a cluster know nobody's credentials, until they are replaced."""
        world, lot = self.world, self.world.loop.lot
        cluster, seconds = lot.choice(tuple(world.members.values())), lot.uniform(1, 40)
        world.note(f"{cluster.name} knows nobody for {seconds:.1f} s")
        cluster.knows_nobody = True
        world.loop.call_later(seconds, setattr, cluster, "knows_nobody", False)

    def _replace_credentials(self) -> None:
        """Have a cluster accept other credentials, which its kubeconfig has soon after it."""
        world, lot = self.world, self.world.loop.lot
        cluster, seconds = lot.choice(tuple(world.members.values())), lot.uniform(0, 20)
        world.note(f"the credentials of {cluster.name} are replaced, here in {seconds:.1f} s")
        cluster.accepted += 1
        world.loop.call_later(seconds, cluster.renew_kubeconfig)

    def _leave(self) -> None:
        """Take a cluster out of the fleet file for a while, and maybe its kubeconfig with it."""
        world, lot = self.world, self.world.loop.lot
        name, seconds = lot.choice(tuple(world.members)), lot.uniform(5, 120)
        is_gone = lot.random() < 0.5
        if name not in world.fleet.names:
            return
        what = "and its kubeconfig is gone" if is_gone else "and can be reached"
        world.note(f"{name} leaves the fleet for {seconds:.1f} s, {what}")
        world.leave(name, is_gone=is_gone)
        world.loop.call_later(seconds, world.join, name)
