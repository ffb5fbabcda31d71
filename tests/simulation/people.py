"""People: they look, think for a while, and ask for something, not always for what is possible."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from volary.controller import refusals
from volary.controller.api.commands import command_client
from volary.controller.persistence import change_signal, redaction
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import deadlines, sightings
from volary.model import errors

if TYPE_CHECKING:
    from simulation import world

PLACE = "people"
#: What is asked for about a run, besides approvals, with what is said.
OF_RUN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cancel", {"rollback": True}),
    ("cancel", {"rollback": True, "now": True}),
    ("cancel", {"rollback": False}),
    ("reject", {}),
    ("pause", {}),
    ("resume", {}),
    ("retry", {}),
)
OF_APPLICATION = ("pause", "resume", "rollback", "sync")


@dataclass(frozen=True, slots=True)
class Acts:
    """What people of a world ask for, besides approvals."""

    of_run: tuple[tuple[str, dict[str, Any]], ...] = OF_RUN
    of_application: tuple[str, ...] = OF_APPLICATION


@dataclass
class People:
    """Ana and whoever shares her account."""

    world: "world.World"
    acts: Acts = field(default_factory=Acts)
    #: The stage that somebody said yes to, as they saw it.
    asked: dict[str, str] = field(default_factory=dict)
    #: What was said in requests that were told to be refused.
    refused: set[str] = field(default_factory=set)
    _said: int = 0

    def act(self) -> None:
        """Let somebody do something."""
        lot = self.world.loop.lot
        chance, acts = lot.random(), self.acts
        if chance < 0.25 and acts.of_run:
            work = self._steer_run(*lot.choice(acts.of_run), thinks=lot.random() * 4)
        elif chance > 0.85 and acts.of_application:
            work = self._steer_application(lot.choice(acts.of_application))
        else:
            times = 2 if lot.random() < 0.3 else 1
            work = self.approve(times, same=lot.random() < 0.5, thinks=lot.random() * 4)
        self.world.loop.start(PLACE, work)

    async def approve(self, times: int = 1, *, same: bool = False, thinks: float = 0.0) -> None:
        """Approve what waits, as it is seen, and perhaps is no more; the `same` has a key."""
        for run in await self._unfinished():
            if waiting := _waiting(run):
                await asyncio.sleep(thinks)
                yes = self._next("yes")
                async with asyncio.TaskGroup() as group:
                    for _ in range(times):
                        group.create_task(self._approve(run, waiting, yes, key=yes if same else ""))
                        yes = yes if same else self._next("yes")

    async def _approve(
        self, run: state.Run, waiting: state.StageState, yes: str, *, key: str
    ) -> None:
        self.asked[yes] = waiting.id
        await self._ask("approve", yes, run=run, key=key, comment=yes)

    async def _steer_run(self, kind: str, said: dict[str, Any], thinks: float) -> None:
        for run in await self._unfinished():
            await asyncio.sleep(thinks)
            reason = self._next(kind)
            named = {"comment": reason} if kind == "reject" else {"reason": reason}
            await self._ask(kind, reason, run=run, **named, **said)

    async def _steer_application(self, kind: str) -> None:
        name = self.world.loop.lot.choice(self.world.applications)
        reason = self._next(kind)
        await self._ask(kind, reason, application=name, reason=reason)

    async def clear(self) -> None:
        """Let everything that is held up go on: pauses end, what waits is approved."""
        for name in self.world.applications:
            if (await self.world.status(name)).pause is not None:
                await self._ask("resume", self._next("resume"), application=name)
        for run in await self._unfinished():
            if run.pause is not None:
                await self._ask("resume", self._next("resume"), run=run)
        await self.approve()

    async def _unfinished(self) -> list[state.Run]:
        store = self.world.store
        loaded = [await store.runs.load(name) for name in await store.runs.unfinished()]
        return [codec.read_run(one) for one in loaded if one is not None]

    def _next(self, what: str) -> str:
        self._said += 1
        return f"{what}-{self._said}"

    async def _ask(
        self,
        kind: str,
        what: str,
        *,
        run: state.Run | None = None,
        application: str = "",
        key: str = "",
        **said: Any,
    ) -> None:
        world = self.world
        clock = world.clock_of()
        client = command_client.CommandClient(
            world.store_of(clock),
            clock,
            change_signal.ChangeSignal(),
            change_signal.ChangeSignal(),
            world.new_id,
            redaction.SecretValues(),
        )
        world.note(f"{what} to {run.id + ' at ' + run.current.id if run else application}")
        about = run.id if run else ""
        if run is not None:
            said["seen"] = msgspec.to_builtins(sightings.of_run(run))
        try:
            await client.ask(
                kind, "ana", run=about, application=application, document=said, key=key
            )
        except refusals.Conflict as error:
            self.refused.add(what)
            world.note(f"{what} is refused: {error.problems[0].message}")
        except (refusals.Busy, errors.TemporaryError, errors.UserError) as error:
            world.note(f"{what} has no answer: {error}")


def _waiting(run: state.Run) -> state.StageState | None:
    group = deadlines.waiting_group(run) if not run.is_final else None
    return run.current if group is not None else None
