"""``volary demo --scenario distributed``: nothing that one machine's loss can stop.

A real PostgreSQL, a real Temporal and two servers release on three clusters. The servers have no
kubeconfig: an agent works beside each cluster, and calls out. On the way a server is killed, then
Temporal, then an agent.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich import box, markup, table
from rich import console as rich_console

from kube_sandbox import fleet
from volary import secret_files
from volary.agents.orders import keys
from volary.cli.remote import client, login
from volary.concurrency import background_tasks
from volary.demo import (
    agents,
    definitions,
    git_repository,
    harness,
    kept_runs,
    postgres_server,
    processes,
    server_process,
    snapshots,
    temporal_server,
)
from volary.model import errors, json

NAMES = ("us", "eu", "asia")
_SCENARIO = definitions.SCENARIOS["canary"]
_REPOSITORY = "shop"
_SPEED = 4.0
#: Begun again elsewhere this soon after a process died: half a minute is too long to watch.
_HEARTBEAT = "5s"
#: On a slow machine an agent takes long to come back: nobody is unreachable for that.
_PATIENCE = "5m"
#: Seconds between two requests of people who look at the servers.
_PERIOD = 0.1
_DOWN = 2.0
#: What a person may look at besides.
_NOUNS = ("apps", "agents", "task-queues", "servers")
#: Whose agent is killed.
_UNLUCKY = "eu"


@dataclass(slots=True)
class _People:
    """People who look at the servers all the time, as through a load balancer."""

    doors: list[client.Client]
    asked: int = 0
    #: Answered by the other server, because the first did not.
    moved: int = 0
    lost: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    async def watch(self) -> None:
        """Ask the servers in turn, until cancelled."""
        for first in itertools.cycle(range(len(self.doors))):
            await self._ask(first)
            await asyncio.sleep(_PERIOD)

    async def _ask(self, first: int) -> None:
        self.asked += 1
        for door in (*self.doors[first:], *self.doors[:first]):
            try:
                await door.get("applications")
            except (errors.TemporaryError, errors.UserError) as error:
                self.reasons[str(error)] = None
            else:
                return
            self.moved += 1
        self.lost += 1

    async def get(self, *path: str, **query: str) -> json.JsonObject:
        """Return what the first server that answers says."""
        for door in self.doors[1:]:
            with contextlib.suppress(errors.TemporaryError):
                return await door.get(*path, **query)
        return await self.doors[0].get(*path, **query)


@dataclass(frozen=True, slots=True)
class _Survived:
    """Something that was lost, and how the run went on."""

    what: str
    during: str
    then: str


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the scenario plays."""

    console: rich_console.Console
    sandbox: fleet.Fleet
    repository: git_repository.ExampleRepository
    servers: list[server_process.DemoServer]
    temporal: temporal_server.Server
    people: _People
    probe: snapshots.TrafficProbe
    base: Path
    #: By cluster, once they have joined.
    agents: dict[str, processes.Process] = field(default_factory=dict)
    survived: list[_Survived] = field(default_factory=list)

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        shown = harness.manual_commands(self.sandbox, self.repository)
        pages = [line for each in self.servers for line in server_process.page_of(each.url)]
        asked = [f"volary get {noun} --server {self.servers[0].url}" for noun in _NOUNS]
        return [*pages, *shown, *asked]

    def step(self, number: int, text: str) -> None:
        """Print what is done now."""
        self.console.print(f"\n[bold]{number}.[/] {markup.escape(text)}", soft_wrap=True)

    def print(self, text: str) -> None:
        """Print what was seen in a step."""
        self.console.print(f"   {markup.escape(text)}", soft_wrap=True)

    def note(self, what: str, during: str, then: str) -> None:
        """Remember what was lost, and say how it went on."""
        self.survived.append(_Survived(what, during, then))
        self.print(then)

    async def until(self, holds: Callable[[json.JsonObject], object]) -> json.JsonObject:
        """Return the run of the newest commit once that holds.

        Raises:
            errors.UserError: It ended in another way than well, or does not get there in time.
        """

        async def newest() -> json.JsonObject:
            runs = (await self.people.get("runs", commit=self.repository.head))["items"]
            if not runs:
                return {}
            if runs[0]["status"] in ("failed", "cancelled", "rolled_back"):
                raise errors.PermanentError(f"the demo failed: {runs[0]['reason']}")
            return await self.people.get("runs", runs[0]["id"])

        return await server_process.until(newest, lambda run: run and holds(run))


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    return await harness.play(_open, _play, keep=keep, goes_on=_go_on)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    (base / "temporal").mkdir()
    settings = fleet.Settings(speed=_SPEED)
    messages.print("starting PostgreSQL, Temporal and three clusters …")
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            fleet.start(NAMES, directory=base / "fleet", settings=settings)
        )
        database = await asyncio.to_thread(stack.enter_context, postgres_server.running())
        temporal = await asyncio.to_thread(
            stack.enter_context, temporal_server.running(base / "temporal")
        )
        repository = git_repository.ExampleRepository(base / "work", _SCENARIO)
        repository.ask_before("K8S_PRIMARY_ROLLOUT", kept_runs.ANYBODY)
        repository.commit("Ask somebody before promotion")
        repository.add_remote(base / f"{_REPOSITORY}.git")
        more = {
            "store": database.address,
            "engine": {"temporal": {"address": temporal.address, "heartbeat": _HEARTBEAT}},
            "clusterHealth": {"failureThreshold": _PATIENCE},
        }
        servers = _servers(base, sandbox.path, more)
        doors = [
            await stack.enter_async_context(client.Client.open(login.Target(each.url)))
            for each in servers
        ]
        for each in servers:
            stack.push_async_callback(each.stop)
        environment = _Environment(
            messages,
            sandbox,
            repository,
            servers,
            temporal,
            _People(doors),
            snapshots.TrafficProbe(_SCENARIO.service, sandbox.clusters),
            base,
        )
        stack.push_async_callback(_stop_agents, environment)
        yield environment


def _servers(
    base: Path, fleet_file: Path, more: Mapping[str, object]
) -> list[server_process.DemoServer]:
    """Return two servers that know of each cluster only that it has an agent."""
    without_kubeconfigs, key = base / "fleet.yaml", base / "signing-key.pem"
    agents.write_fleet(fleet_file, without_kubeconfigs)
    secret_files.write_private(key, keys.generate())
    servers = []
    for name in ("first", "second"):
        (base / name).mkdir()
        servers.append(server_process.DemoServer(base / name, server_process.free_port()))
    for each in servers:
        settings = {**more, "agents": {"signingKeyFile": str(key)}, "advertise": each.url}
        server_process.write_settings(each, without_kubeconfigs, base, (_REPOSITORY,), settings)
    return servers


async def _stop_agents(environment: _Environment) -> None:
    for each in environment.agents.values():
        await each.stop()


async def _play(environment: _Environment) -> bool:
    messages, people = environment.console, environment.people
    messages.print("[bold]Volary: beyond one machine.[/] Nothing here may be the one to lose.")
    for each in environment.servers:
        await each.start()
    environment.step(1, "Two servers beside one PostgreSQL and one Temporal; an agent joins each")
    await _join(environment)
    environment.step(2, "A first push")
    environment.repository.push()
    first = await environment.until(lambda run: run["summary"]["status"] == "succeeded")
    environment.print(f"run {first['summary']['id']} {first['summary']['reason']}")
    async with (
        background_tasks.in_background(people.watch()),
        background_tasks.in_background(environment.probe.watch()),
    ):
        await _release(environment)
    snapshots.show(messages, "in the end", environment.probe)
    return await _is_as_expected(environment)


async def _join(environment: _Environment) -> None:
    """Let an agent of each cluster join; no server has a kubeconfig."""
    server = environment.servers[0]
    for name, cluster in environment.sandbox.clusters.items():
        directory = environment.base / f"agent-{name}"
        agent = await agents.join(server, name, cluster.kubeconfig_path, directory)
        environment.agents[name] = agent
        await agent.start()
        environment.print(f"volary cluster join {name}; volary agent --cluster {name}")

    async def listed() -> json.JsonObject:
        return await environment.people.get("clusters")

    await server_process.until(
        listed, lambda found: found and all(each["status"] == "ready" for each in found["items"])
    )
    shown = await server_process.until(
        lambda: server.command("get", "agents"),
        lambda text: text.count(" connected ") == len(environment.agents),
    )
    for line in shown.splitlines():
        environment.print(line)


async def _release(environment: _Environment) -> None:
    one = environment.servers[0]
    environment.repository.release()
    environment.repository.push()
    environment.step(3, "Version 2 is pushed; a server is killed while the canary is rolled out")
    await environment.until(lambda run: _is_in(run, "K8S_CANARY_ROLLOUT"))
    began = time.monotonic()
    killed = await one.kill()
    run = await environment.until(lambda run: _is_beyond(run, "K8S_CANARY_ROLLOUT"))
    environment.note(
        f"server {killed} (kill -9)",
        "K8S_CANARY_ROLLOUT",
        f"the other one finished the stage, {time.monotonic() - began:.0f} s after",
    )
    await one.start()
    environment.step(4, "Temporal is killed while the run waits for somebody")
    run = await environment.until(lambda run: run["summary"]["status"] == "waiting")
    name = run["summary"]["id"]
    await asyncio.to_thread(environment.temporal.kill)
    stage = run["seen"]["stage"]
    environment.print(f"volary approve {name} --stage {stage} -m 'looks good'")
    await asyncio.gather(
        one.command("approve", name, "--stage", stage, "-m", "looks good"),
        _come_back(environment.temporal),
    )
    run = await environment.until(lambda run: _is_beyond(run, "WAIT_APPROVAL"))
    environment.note(
        "Temporal (kill -9)", "WAIT_APPROVAL", "the approval given meanwhile was acted on, once"
    )
    environment.step(5, f"The agent of {_UNLUCKY} is killed during the promotion")
    await environment.until(lambda run: _is_in(run, "K8S_PRIMARY_ROLLOUT"))
    began, agent = time.monotonic(), environment.agents[_UNLUCKY]
    await agent.kill()
    await asyncio.sleep(_DOWN)
    await agent.start()
    run = await environment.until(lambda run: run["summary"]["status"] == "succeeded")
    environment.note(
        f"agent of {_UNLUCKY} (kill -9)",
        "K8S_PRIMARY_ROLLOUT",
        f"the next one went on, {time.monotonic() - began:.0f} s after: {run['summary']['reason']}",
    )


async def _come_back(temporal: temporal_server.Server) -> None:
    """Start Temporal again after a while."""
    await asyncio.sleep(_DOWN)
    await asyncio.to_thread(temporal.start)


def _statuses(run: json.JsonObject, kind: str) -> list[str]:
    return [str(stage["status"]) for stage in run["stages"] if stage["name"] == kind]


def _is_in(run: json.JsonObject, kind: str) -> bool:
    """Whether a run is in such a stage, or beyond."""
    return any(status != "pending" for status in _statuses(run, kind))


def _is_beyond(run: json.JsonObject, kind: str) -> bool:
    """Whether a run has such a stage behind it."""
    return all(status in ("succeeded", "skipped") for status in _statuses(run, kind))


async def _is_as_expected(environment: _Environment) -> bool:
    people, probe = environment.people, environment.probe
    shown = table.Table(box=box.SIMPLE, title="what was survived")
    for title in ("lost", "during", "then"):
        shown.add_column(title)
    for each in environment.survived:
        shown.add_row(each.what, each.during, each.then)
    environment.console.print(shown)
    environment.console.print(
        f"{people.asked} requests to the servers, {people.moved} answered by the other one,"
        f" {people.lost} lost"
    )
    environment.console.print(
        f"{probe.samples} probe requests to {probe.service}, {probe.lost:.0f} lost"
    )
    runs = (await people.get("runs"))["items"]
    environment.console.print(f"{len(runs)} commits, {len(runs)} runs: none was lost or doubled")
    for reason in (*people.reasons, *probe.reasons)[:3] if people.lost or probe.lost else ():
        environment.print(reason)
    return len(runs) == 2 and not people.lost and not probe.lost


@contextlib.asynccontextmanager
async def _go_on(environment: _Environment, _: Path) -> AsyncIterator[list[str]]:
    """Push one version more, whose run waits for somebody who looks at it in the browser."""
    old = _SCENARIO.change[1]
    environment.repository.edit({old: f"{old.rpartition(':')[0]}:v3"}, "Release v3")
    yield await kept_runs.pushed(environment.servers[0], environment.repository)
