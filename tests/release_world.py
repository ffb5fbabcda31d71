"""Given sandbox clusters; when a whole pipeline runs under the engine; then look.

Beside `stage_world`, which runs single stages: here runs can fail, roll back, be killed and
taken up again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from aiohttp import web

import memory_journal
import process_time
import stage_contexts
import stage_world
from mesh_world import ISTIO as ISTIO
from mesh_world import meshed as meshed
from volary.analysis.metering import meters
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import policies, run_builder, state
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import stage_kind
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts, task_states


@dataclass
class Listener:
    """Keeps what is told, and says when a line or progress came that somebody waits for."""

    told: list[feed.RunEvent] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self, event: feed.RunEvent) -> None:
        self.told.append(event)
        self._changed.set()

    @property
    def lines(self) -> list[str]:
        return [each.line for each in self.told if isinstance(each, feed.TaskLogged)]

    def lines_of(self, target: str) -> list[str]:
        return [
            each.line
            for each in self.told
            if isinstance(each, feed.TaskLogged) and each.target == target
        ]

    @property
    def sentences(self) -> list[str]:
        return [each.sentence for each in self.told if isinstance(each, feed.TaskProgressed)]

    async def until(
        self, found: Callable[[], object], *, seconds: float = process_time.HANG
    ) -> None:
        async with asyncio.timeout(seconds):
            while not found():
                self._changed.clear()
                await self._changed.wait()


@dataclass
class Releases:
    """Runs pipelines of one world."""

    world: stage_world.World
    files: Mapping[str, str] = field(default_factory=dict)
    directory: Path = Path()
    permissions: contexts.Permissions = field(default_factory=contexts.Permissions)
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    keeper: task_states.TaskStateStore = field(default_factory=task_states.InProcessStore)
    kept: memory_journal.MemoryJournal = field(default_factory=memory_journal.MemoryJournal)
    listener: Listener = field(default_factory=Listener)
    runner: runners.Runner | None = None

    def planned(
        self,
        stages: Sequence[pipelines.Stage],
        *,
        concurrency: int = 0,
        policy: policies.Policy | None = None,
        running: str = stage_world.OLD,
    ) -> state.Run:
        made = run_builder.RunSpec(
            application=self.world.application.name,
            commit=stage_world.NEW,
            groups=run_builder.one_group(self.world.names, concurrency=concurrency),
            stages=tuple(stages),
            running_commit=running,
            policy=policy or policies.Policy(grace=timedelta(seconds=10)),
        )
        return run_builder.new_run(stage_contexts.RUN_ID, made, stage_world.Clock().now())

    async def carry_out(self, run: state.Run, *, seconds: float = process_time.HANG) -> state.Run:
        self.runner = runners.Runner(
            run,
            self.performer(),
            clock=stage_world.Clock(),
            keeper=self.kept,
            observers=(self.listener,),
        )
        async with asyncio.timeout(seconds):
            return await self.runner.carry_out()

    def performer(self) -> stage_executor.ClusterExecutor:
        async def render(at: str, target: str) -> list[manifest.Manifest]:
            return self.world.special.get((at, target)) or self.world.sources[at]

        return stage_executor.ClusterExecutor(
            self.world.application,
            self.world.clients,
            render,
            stage_world.Clock(),
            contexts.Options(
                image_grace=timedelta(seconds=0.3),
                drain_delay=timedelta(0),
                permissions=self.permissions,
            ),
            contexts.RunEnvironment("ana", "repository", "all of it", self._checkout),
            keeper=self.keeper,
            meter=self.meter,
        )

    @contextlib.asynccontextmanager
    async def _checkout(self, commit: str) -> AsyncIterator[contexts.Workspace]:
        place = self.directory / f"{commit[:4]}-{len(list(self.directory.iterdir()))}"
        (place / "home").mkdir(parents=True)
        (place / "app").mkdir()
        for name, text in self.files.items():
            (place / "app" / name).write_text(text)
        yield contexts.Workspace(place / "home", place / "app")


def step(name: str, options: stage_kind.StageOptions, **more: object) -> pipelines.Stage:
    return pipelines.Stage(name, options, **more)  # type: ignore[arg-type]


@dataclass
class Gate:
    """A real HTTP server that is asked, and answers as it is told."""

    url: str = ""
    asked: list[dict[str, object]] = field(default_factory=list)
    #: Status by path; 200 for others.
    answers: dict[str, int] = field(default_factory=dict)
    #: By path, instead of an answer.
    behaviours: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = field(
        default_factory=dict
    )
    paths: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def hang(self, _: web.Request) -> web.StreamResponse:
        """A behaviour: give no answer for as long as the gate stands."""
        await self.closing.wait()
        return web.Response(status=503)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.paths.append(request.path)
        self.changed.set()
        if request.path in self.behaviours:
            return await self.behaviours[request.path](request)
        return web.Response(status=self.answers.get(request.path, 200), text="said by the gate")

    def of(self, path: str) -> list[dict[str, object]]:
        """What was asked at a path."""
        return [body for body, where in zip(self.asked, self.paths, strict=True) if where == path]

    async def until(self, path: str, count: int = 1, *, seconds: float = process_time.HANG) -> None:
        async with asyncio.timeout(seconds):
            while self.paths.count(path) < count:
                self.changed.clear()
                await self.changed.wait()


@contextlib.asynccontextmanager
async def gate() -> AsyncIterator[Gate]:
    """Start a gate on loopback."""
    made = Gate()
    app = web.Application()
    app.router.add_post("/{path:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # no public way
    made.url = f"http://127.0.0.1:{port}"
    try:
        yield made
    finally:
        made.closing.set()
        await asyncio.sleep(0)
        await runner.cleanup()


def hook(url: str, kind: webhook.WebhookType, **more: object) -> webhook.Webhook:
    return webhook.Webhook(url=url, name=kind.value, type=kind, **more)  # type: ignore[arg-type]


def weights(releases: Releases, target: str) -> list[int]:
    """Canary's weights as they were read back, one after another."""
    found: list[int] = []
    for each in releases.listener.told:
        observed = getattr(each, "observed_weights", {})
        if getattr(each, "target", "") == target and observed:
            weight = observed.get("canary", 0)
            if not found or found[-1] != weight:
                found.append(weight)
    return found


def live(releases: Releases, target: str) -> int:
    """Canary's weight in the live VirtualService."""
    body = releases.world.get(target, "VirtualService.networking.istio.io", "shop")
    return sum(
        each.get("weight", 0)
        for route in body["spec"]["http"]
        for each in route["route"]
        if each["destination"].get("subset") == "canary"
    )


def reason_of(run: state.Run, position: int, target: str) -> str:
    task = run.stages[position].task(target)
    assert task is not None
    return task.reason
