"""Given clusters, a repository and a controller; when something is pushed or asked; then look."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

import command_world
import engine_fixtures
import git_feed
import process_time
from volary.clusters.transport import circuit_breaker, transports
from volary.config.fleet import fleet_files
from volary.controller import composition, inputs, refusals
from volary.controller.api import representations
from volary.controller.api import service as api_service
from volary.controller.leadership import election
from volary.model import backoffs, json, server_settings
from volary.stages.runtime import contexts
from volary.store import records

ANA = representations.Actor("ana", "192.0.2.7")
SPEED = 60.0
BACKOFF = backoffs.Backoff(timedelta(seconds=0.2), timedelta(minutes=2))
RULES = inputs.Rules(backoff=BACKOFF, look=timedelta(seconds=0.1), patience=timedelta(seconds=2))

#: Seconds after which is looked again though nothing was stored, and in which things that are
#: stored one after another are looked at once.
_AT_LATEST, _TOGETHER = 0.1, 0.02


class Clock:
    def now(self) -> datetime:
        return process_time.now()


async def changed(controller: composition.Controller) -> None:
    """Wait until something may look different than it did: soon after the next thing that is
    stored, or after a while, for not all that is seen is stored by this process.
    """
    await controller.service.kept.wait(_AT_LATEST)
    await asyncio.sleep(_TOGETHER)


@dataclass
class Controlled:
    """A world with a controller that runs."""

    world: command_world.World
    controller: composition.Controller
    feed: git_feed.Feed

    @property
    def service(self) -> api_service.Service:
        return self.controller.service

    async def changed(self) -> None:
        """Wait until something may look different than it did."""
        await changed(self.controller)

    def push(self, text: str, new: str, *, message: str = "Change it") -> str:
        """Replace a text of the Deployment and commit."""
        return self.world.edit("deployment.yaml", text, new, message=message)

    async def ask_run(
        self, kind: str, run: str, asker: representations.Actor, **options: object
    ) -> representations.Accepted:
        """Ask for something about a run as it is now, unless `seen` says as it was."""
        if "seen" not in options and kind != "pause":
            options["seen"] = await self.seen(run)
        return await self.service.ask_run(kind, run, asker, **options)

    async def seen(self, run: str) -> dict[str, object]:
        """Return where a run is, as a request about it says it."""
        return msgspec.to_builtins((await self.service.run(run)).seen)

    async def application(self) -> representations.Application:
        return await self.service.application("simple")

    async def runs(self) -> tuple[representations.RunSummary, ...]:
        return (await self.service.runs(records.RunFilter())).items

    async def until_application(
        self,
        holds: Callable[[representations.Application], bool],
        *,
        timeout: float = process_time.HANG,
    ) -> representations.Application:
        """Wait until the application stands so."""
        found = None
        try:
            async with asyncio.timeout(timeout):
                while True:
                    page = await self.service.applications(records.ApplicationFilter())
                    found = next((each for each in page.items if each.name == "simple"), None)
                    if found is not None and holds(found):
                        return found
                    await self.changed()
        except TimeoutError:
            raise AssertionError(f"it never stood so, but: {found}") from None

    async def until_run(
        self,
        run: str,
        holds: Callable[[representations.Run], bool],
        *,
        timeout: float = process_time.HANG,
    ) -> representations.Run:
        """Wait until a run is so."""
        found = None
        try:
            async with asyncio.timeout(timeout):
                while True:
                    # A run that was asked for is there only once it was prepared.
                    with contextlib.suppress(refusals.NotFound):
                        found = await self.service.run(run)
                    if found is not None and holds(found):
                        return found
                    await self.changed()
        except TimeoutError:
            raise AssertionError(f"the run never was so, but: {found}") from None

    async def ended(
        self, run: str, *, timeout: float = process_time.HANG
    ) -> representations.RunSummary:
        """Wait for a run's end, and until the application knows of it."""
        await self.until_run(run, lambda each: each.summary.finished is not None, timeout=timeout)
        await self.until_application(lambda each: each.status != "running" or each.run != run)
        return (await self.service.run(run)).summary

    async def asks(self, commit: str) -> str:
        """Wait until the run of a commit asks for approval, and return it."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                newest = next(iter(await self.runs()), None)
                if newest is not None and (newest.commit, newest.status) == (commit, "waiting"):
                    return newest.id
                await self.changed()

    async def told(self) -> list[json.JsonObject]:
        """Return all that all runs told so far, in order."""
        found = await self.service.all_events(0, applications={"simple"}, limit=100_000)
        return [each.document for each in found]

    async def logs(self, run: str) -> tuple[representations.LogLine, ...]:
        """Return a run's log once some of it was written: lines are kept in batches."""
        async with asyncio.timeout(process_time.HANG):
            while not (lines := await self.service.logs(run)):  # noqa: ASYNC110 - in batches
                await asyncio.sleep(0.1)
        return lines

    async def back_at(self, commit: str) -> representations.Application:
        """Wait until a commit runs again that is not what Git says."""
        return await self.until_application(
            lambda each: each.running_commit == commit and each.status == "out_of_sync"
        )

    async def synced(
        self, commit: str, *, timeout: float = process_time.HANG
    ) -> representations.Application:
        """Wait until a commit is what runs."""
        return await self.until_application(
            lambda each: each.running_commit == commit and each.status == "synced",
            timeout=timeout,
        )


def parts_of(feed: git_feed.Feed, fleet_file: Path, **more: Any) -> composition.ControllerParts:
    """Return what a controller for the local repository is given."""
    members = fleet_files.parse(
        fleet_file.read_text(), file=str(fleet_file), directory=str(fleet_file.parent)
    ).require()
    given: dict[str, Any] = {
        "clock": Clock(),
        "members": members,
        "repositories": feed,
        "watch": feed.watch,
        "rules": RULES,
        # A cluster that is back is asked again soon.
        "reach": transports.Limits(circuit=circuit_breaker.Rules(lasting=1.0, pause=0.5)),
        "executor_options": contexts.Options(
            image_grace=timedelta(seconds=0.3), drain_delay=timedelta(0)
        ),
        **more,
    }
    return composition.ControllerParts(**given)


def settings_of(store: str, fleet_file: Path, **more: Any) -> server_settings.Settings:
    given: dict[str, Any] = {"engine": engine_fixtures.settings(), **more}
    return server_settings.Settings(
        fleet=str(fleet_file), data_directory=str(fleet_file.parent), store=store, **given
    )


QUICK = election.LeaseTiming(
    ttl=timedelta(seconds=1.5), renew=timedelta(seconds=0.3), look=timedelta(seconds=0.1)
)


@contextlib.asynccontextmanager
async def controlled(
    world: command_world.World,
    *,
    store: str = "memory:",
    is_leader: bool = True,
    parts: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[Controlled]:
    """Run a controller beside the block; it is shut down at its end."""
    feed = git_feed.Feed(world.directory)
    fleet_file = Path(world.fleet)
    wanted = settings_of(store, fleet_file, **more)
    # The lease goes by the time of the test's own process, as everything here does.
    timing = {"timing": QUICK, "elapsed": asyncio.get_running_loop().time}
    given = parts_of(feed, fleet_file, **{**timing, **(parts or {})})
    async with composition.open_controller(wanted, given) as made, asyncio.TaskGroup() as group:
        running = group.create_task(made.run() if is_leader else asyncio.sleep(0))
        try:
            yield Controlled(world, made, feed)
        finally:
            running.cancel()
