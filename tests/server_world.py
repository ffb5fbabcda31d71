"""A real server on a real socket, over a controller whose store is in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import fastapi

import fixed_clock
from volary.controller import inputs, origins, server_loop
from volary.controller import service as controller_service
from volary.engine import plan as engine_plan
from volary.engine import transitions
from volary.gitops import webhooks
from volary.model import controller, errors, fleet, stage
from volary.model import record as run_records
from volary.model import status as words
from volary.server import app, serving, surroundings, tokens
from volary.store import records

STAGE = "1-K8S_SYNC"


async def _watch(_: inputs.OnSeen) -> None:
    await asyncio.Event().wait()


class _NoRepositories:
    async def repository(self, name: str) -> Any:
        raise errors.user_error(f"there is no repository {name}")


@dataclass
class Served:
    """A server, and what is behind it."""

    url: str
    session: aiohttp.ClientSession
    made: server_loop.Controller
    application: fastapi.FastAPI
    tokens: tokens.TokenFile
    clock: fixed_clock.FixedClock
    hastened: list[tuple[str, webhooks.Hint]] = field(default_factory=list)

    @property
    def service(self) -> controller_service.Service:
        return self.made.service

    def token(self, role: str, name: str = "", **labels: str) -> dict[str, str]:
        """Return the header of a new token."""
        _, written = self.tokens.create(
            name or f"{role}-{len(self.tokens.all())}",
            controller.Role(role),
            now=self.clock.now(),
            match_labels=labels,
        )
        return {"authorization": f"Bearer {written}"}

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        """Return status and JSON."""
        async with self.session.request(method, self.url + path, **more) as answer:
            kind = answer.headers.get("content-type", "")
            body = await answer.json(content_type=None) if "json" in kind else await answer.text()
            return answer.status, body

    async def keep_application(self, name: str, **labels: str) -> None:
        record = records.ApplicationRecord(name, "shop", f"{name}/volary.yaml", labels=labels)
        await self.service.store.applications.keep(record, fence=None)

    async def keep_run(self, run_id: str, application: str, *, ended: bool = True) -> None:
        """Keep a run of one stage on two clusters; nobody drives it."""
        moment = self.clock.now()
        planned = engine_plan.Plan(
            application=application,
            commit="c0ffee",
            groups=engine_plan.one_group(("us", "eu")),
            stages=(stage.Stage(stage.StageName.SYNC, stage.SyncOptions()),),
        )
        run = engine_plan.new_run(run_id, planned, moment)
        if ended:
            run = replace(
                run,
                status=words.RunStatus.SUCCEEDED,
                reason="done",
                started=moment,
                finished=moment,
            )
        origin = origins.to_document(origins.Origin("shop", f"{application}/volary.yaml"))
        made = transitions.of_new(run, origin, moment)
        made = replace(made, commands=())
        await self.service.store.keep_transition(made, fence=None)

    async def tell(self, run_id: str, version: int, *events: str) -> None:
        """Add events to a run's feed."""
        stored = await self.service.store.runs.load(run_id)
        assert stored is not None
        told = tuple(
            run_records.EventRecord(
                self.clock.now(), each, {"event": each, "run": run_id, "reason": "because"}
            )
            for each in events
        )
        made = run_records.Transition(stored.head, version, self.clock.now(), feed=told)
        await self.service.store.keep_transition(made, fence=None)
        self.service.kept.beat()

    async def say(self, run_id: str, *texts: str) -> None:
        """Add lines to a run's log."""
        lines = [
            records.LogLine(run_id, STAGE, "us", 1, self.clock.now(), "info", text)
            for text in texts
        ]
        await self.service.store.logs.append(lines, fence=None)
        self.service.kept.beat()


@contextlib.asynccontextmanager
async def served(
    directory: Path, patience: surroundings.Patience | None = None, **more: Any
) -> AsyncIterator[Served]:
    """Serve beside the block, with applications web (team shop) and pay (team money)."""
    settings = controller.Settings("fleet.yaml", str(directory), "memory:", port=0, **more)
    clock, kept = fixed_clock.FixedClock(), tokens.TokenFile(directory)
    parts = server_loop.Parts(
        clock=clock,
        members=fleet.Fleet(),
        repositories=_NoRepositories(),
        watch=_watch,
        rules=inputs.Rules(),
    )
    hastened: list[tuple[str, webhooks.Hint]] = []
    async with server_loop.open_controller(settings, parts) as made:
        application = app.build(
            made.service,
            settings,
            kept,
            clock,
            hasten=lambda name, hint: hastened.append((name, hint)),
            patience=patience,
        )
        url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with serving.bound("127.0.0.1", 0) as listening:
            async with asyncio.TaskGroup() as group:
                running = [
                    group.create_task(made.run()),
                    group.create_task(
                        serving.serve(application, settings, listening, ready=url.set_result)
                    ),
                ]
                async with aiohttp.ClientSession() as session:
                    world = Served(await url, session, made, application, kept, clock, hastened)
                    await _fill(world)
                    yield world
                for each in running:
                    each.cancel()


async def _fill(world: Served) -> None:
    await world.keep_application("web", team="shop")
    await world.keep_application("pay", team="money")
    await world.keep_run("run-web", "web")
    await world.keep_run("run-pay", "pay")
