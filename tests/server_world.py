"""A real server on a real socket, over a controller whose store is in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import fastapi

import fixed_clock
from volary.controller import composition, inputs
from volary.controller.api import service as api_service
from volary.controller.status import run_origins
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.engine.state_machine import events, machine
from volary.gitops import webhooks
from volary.model import errors, server_settings, statuses
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records
from volary.server import app, server_state, serving
from volary.server.authentication import tokens
from volary.server.connections import bounds
from volary.store import records

STAGE = "1-K8S_SYNC"


class _NoRepositories:
    async def repository(self, name: str) -> Any:
        raise errors.user_error(f"there is no repository {name}")

    async def fetch_head(self, name: str) -> str:
        raise errors.user_error(f"there is no repository {name}")

    async def find(self, name: str, revision: str) -> str:
        raise errors.user_error(f"there is no repository {name}")

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        raise errors.user_error(f"there is no repository {name}")


@dataclass
class Served:
    """A server, and what is behind it."""

    url: str
    session: aiohttp.ClientSession
    made: composition.Controller
    application: fastapi.FastAPI
    tokens: tokens.TokenFile
    clock: fixed_clock.FixedClock
    hastened: list[tuple[str, webhooks.PushEvent]] = field(default_factory=list)

    @property
    def service(self) -> api_service.Service:
        return self.made.service

    def token(
        self, role: str, name: str = "", *, project: str = "", **labels: str
    ) -> dict[str, str]:
        """Return the header of a new token."""
        _, written = self.tokens.create(
            name or f"{role}-{len(self.tokens.all())}",
            server_settings.Role(role),
            now=self.clock.now(),
            match_labels=labels,
            project=project,
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

    async def keep_run(
        self, run_id: str, application: str, *, ended: bool = True, done_on: str = ""
    ) -> None:
        """Store a run of one stage on two clusters, one of which may be done.

        Nobody carries it out.
        """
        moment = self.clock.now()
        planned = run_builder.RunSpec(
            application=application,
            commit="c0ffee",
            groups=run_builder.one_group(("us", "eu")),
            stages=(pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions()),),
        )
        run = run_builder.new_run(run_id, planned, moment)
        if done_on:
            run = machine.advance(run, events.Start(moment)).run
            outcome = statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "applied", touched=True)
            done = events.TaskFinished(moment, run.current.id, done_on, 1, outcome)
            run = machine.advance(run, done).run
        if ended:
            run = replace(
                run,
                status=statuses.RunStatus.SUCCEEDED,
                reason="done",
                started=moment,
                finished=moment,
            )
        origin = run_origins.to_document(run_origins.Origin("shop", f"{application}/volary.yaml"))
        made = transitions.first_transition(run, origin, moment)
        await self.service.store.keep_transition(made, fence=None)

    async def tell(self, run_id: str, version: int, *events: str, target: str = "") -> None:
        """Add events to a run's feed, about a cluster where one is given."""
        stored = await self.service.store.runs.load(run_id)
        assert stored is not None
        told = tuple(
            run_records.EventRecord(
                self.clock.now(),
                each,
                {"event": each, "run": run_id, "reason": "because"}
                | ({"target": target} if target else {}),
                target=target,
            )
            for each in events
        )
        made = run_records.Transition(stored.head, version, self.clock.now(), feed=told)
        await self.service.store.keep_transition(made, fence=None)
        self.service.kept.notify_all()

    async def say(self, run_id: str, *texts: str) -> None:
        """Add lines to a run's log."""
        lines = [
            records.LogLine(run_id, STAGE, "us", 1, self.clock.now(), "info", text)
            for text in texts
        ]
        await self.service.store.logs.append(lines, fence=None)
        self.service.kept.notify_all()


@contextlib.asynccontextmanager
async def served(
    directory: Path,
    patience: server_state.StreamTimeouts | None = None,
    allowance: bounds.Bounds | None = None,
    members: fleets.Fleet | None = None,
    web: Path | None = None,
    **more: Any,
) -> AsyncIterator[Served]:
    """Serve beside the block, with applications web (team shop) and pay (team money).

    `members` are the clusters; no applications are there with them. `web` is a build of the web
    UI. `more` are settings.
    """
    settings = server_settings.Settings(
        "fleet.yaml",
        str(directory),
        "memory:",
        port=0,
        **{"authentication": server_settings.Authentication.NONE, **more},
    )
    clock, kept = fixed_clock.FixedClock(), tokens.TokenFile(directory)
    has_loaded = asyncio.Event()

    async def watch(_: inputs.OnSeen) -> None:
        has_loaded.set()
        await asyncio.Event().wait()

    parts = composition.ControllerParts(
        clock=clock,
        members=members or fleets.Fleet(),
        repositories=_NoRepositories(),
        watch=watch,
        rules=inputs.Rules(),
    )
    hastened: list[tuple[str, webhooks.PushEvent]] = []
    async with composition.open_controller(settings, parts) as made:
        application = app.build(
            made.service,
            settings,
            kept,
            clock,
            request_refresh=lambda name, hint: hastened.append((name, hint)),
            patience=patience,
            allowance=allowance,
            web=web,
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
                    # Nobody takes up what is stored from now on.
                    await has_loaded.wait()
                    if members is None:
                        await _fill(world)
                    yield world
                for each in running:
                    each.cancel()


async def _fill(world: Served) -> None:
    await world.keep_application("web", team="shop")
    await world.keep_application("pay", team="money")
    await world.keep_run("run-web", "web")
    await world.keep_run("run-pay", "pay")
