"""``volary demo --scenario failover``: a cluster is lost, replaced and back; then three are."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet
from volary.cli.remote import client, login
from volary.demo import definitions, git_repository, harness, kept_runs, server_process
from volary.model import json

NAMES = ("asia", "eu", "sa", "us")
LOST = "eu"
_OTHERS = ("asia", "sa", "us")
_REPLICAS = 6
_PATIENCE = 180.0
_PERIOD = 0.05
_SPEED = 8.0
_HEALTH_SETTINGS = {
    "interval": "1s",
    "timeout": "1s",
    "failureThreshold": "1s",
    "successThreshold": "1s",
    # Nothing is moved because of a cluster's health unless somebody writes this.
    "taints": [
        {
            "states": ["unreachable"],
            "key": "volary.dev/unreachable",
            "effect": "NoExecute",
        }
    ],
}

_SCENARIO = definitions.Scenario(
    example="failover",
    service="market",
    intention="Six replicas are shared by three of four clusters, wherever these are.",
)


@dataclass(slots=True)
class _LoadBalancer:
    """A load balancer outside of the clusters: it knows where users are served."""

    sandbox: fleet.Fleet
    #: Clusters that are really gone; others may only be unreachable for us.
    gone: set[str] = field(default_factory=set)
    least: int = _REPLICAS
    samples: int = 0
    unserved: int = 0

    def ready(self, name: str) -> int:
        """Return the ready pods of a cluster that users get to."""
        body = self.sandbox.clusters[name].view.get("Deployment", "default", _SCENARIO.service)
        if body is None or name in self.gone:
            return 0
        return int(body.get("status", {}).get("readyReplicas", 0))

    async def answer(self, request: web.Request) -> web.Response:
        """Say whether users of a cluster are served."""
        served = self.ready(request.match_info["name"]) > 0
        return web.Response(status=200 if served else 503)

    async def watch(self) -> None:
        """Count how many pods serve users, until cancelled."""
        while True:
            ready_pods = sum(map(self.ready, NAMES))
            self.samples += 1
            self.unserved += not ready_pods
            self.least = min(self.least, ready_pods)
            await asyncio.sleep(_PERIOD)


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the scenario plays."""

    base: server_process.ServerEnvironment
    load_balancer: _LoadBalancer
    api: client.Client

    def lose(self, *names: str) -> None:
        """Have nobody reach these clusters' API servers, and all others again."""
        for name, cluster in self.base.sandbox.clusters.items():
            cluster.faults.change({"lost": "refuse" if name in names else ""})

    def print(self, text: str) -> None:
        """Print what was seen in a step."""
        self.base.console.print(f"   {markup.escape(text)}", soft_wrap=True)

    async def placement(self) -> json.JsonObject:
        """Return where the application is."""
        return await self.api.get("applications", _SCENARIO.service, "placement")

    async def until(self, holds: Callable[[json.JsonObject], object]) -> json.JsonObject:
        """Return where the application is once that holds."""
        return await server_process.until(self.placement, holds, patience=_PATIENCE)

    async def runs(self) -> list[json.JsonObject]:
        """Return the runs, newest first."""
        return list((await self.api.get("runs"))["items"])

    def pods(self) -> list[int]:
        """Return the ready pods of each cluster."""
        return [self.load_balancer.ready(name) for name in NAMES]

    def show_pods(self) -> None:
        """Print the ready pods of each cluster."""
        cells = (
            f"{name} {'gone' if name in self.load_balancer.gone else count}"
            for name, count in zip(NAMES, self.pods(), strict=True)
        )
        self.print(f"pods: {', '.join(cells)}")

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        return self.base.manual_commands()


_REPOSITORY = "shop"


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    return await harness.play(_open, _play, keep=keep, goes_on=_go_on)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    settings = {"clusterHealth": _HEALTH_SETTINGS, "localWebhooks": "allow"}
    async with (
        fleet.start(
            NAMES, directory=base / "fleet", settings=fleet.Settings(speed=_SPEED)
        ) as sandbox,
        _open_load_balancer(sandbox) as (load_balancer, address),
    ):
        repository = git_repository.ExampleRepository(base / "work", _SCENARIO)
        changes = {"http://edge.example.com": address, "{toleration: 5m}": "{toleration: 1s}"}
        repository.edit(changes, "Seconds instead of minutes")
        async with (
            server_process.prepare(
                messages, base, sandbox, {_REPOSITORY: repository}, settings
            ) as prepared,
            client.Client.open(login.Target(prepared.server.url)) as api,
        ):
            yield _Environment(prepared, load_balancer, api)


@contextlib.asynccontextmanager
async def _open_load_balancer(sandbox: fleet.Fleet) -> AsyncIterator[tuple[_LoadBalancer, str]]:
    load_balancer = _LoadBalancer(sandbox)
    application = web.Application()
    application.router.add_get("/{name}", load_balancer.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    port = server_process.free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield load_balancer, f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def _play(environment: _Environment) -> bool:
    messages, load_balancer = environment.base.console, environment.load_balancer
    messages.print(f"[bold]Volary: failover.[/] {_SCENARIO.intention}\n")
    await environment.base.server.start()
    environment.base.repositories[_REPOSITORY].push()
    await environment.until(lambda placement: len(placement["clusters"]) == 3)
    messages.print("[bold]1.[/] A first release")
    environment.show_pods()
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(load_balancer.watch())
        moved = await _replaced(environment)
        cleaned = await _returned(environment)
        stood = await _stopped(environment)
        watching.cancel()
    planned = await environment.api.post(
        "applications", _SCENARIO.service, "rebalance", "plan", body={}
    )
    messages.print(f"\n[bold]5.[/] volary rebalance {_SCENARIO.service} --dry-run")
    environment.print(f"{planned['reason']}; it would be on {', '.join(planned['clusters'])}")
    messages.print(
        f"\n{load_balancer.samples} samples of what serves users: never fewer than"
        f" {load_balancer.least} of {_REPLICAS} pods"
    )
    return moved and cleaned and stood and not load_balancer.unserved


@contextlib.asynccontextmanager
async def _go_on(environment: _Environment, _: Path) -> AsyncIterator[list[str]]:
    """Push the next version, which asks somebody before it goes to the chosen clusters."""
    repository = environment.base.repositories[_REPOSITORY]
    repository.ask_before("K8S_SYNC", kept_runs.ANYBODY)
    repository.edit(dict([_SCENARIO.change]), _SCENARIO.subject)
    yield await kept_runs.pushed(environment.base.server, repository)


async def _replaced(environment: _Environment) -> bool:
    """Lose a cluster for good, and see it replaced."""
    environment.base.console.print(
        f"\n[bold]2.[/] {LOST} is lost for good: its API server and its users"
    )
    environment.lose(LOST)
    environment.load_balancer.gone.add(LOST)
    waiting = await environment.until(lambda placement: placement["waiting"])
    environment.print(f"nothing moves yet: {waiting['waiting'][0]['reason']}")
    leaving = await environment.until(
        lambda placement: placement["leaving"] and placement["leaving"][0]["replaced"]
    )
    environment.print(leaving["leaving"][0]["reason"])
    environment.show_pods()
    return list(leaving["clusters"]) == list(_OTHERS) and environment.pods() == [2, 0, 2, 2]


async def _returned(environment: _Environment) -> bool:
    """Have it back, and see what moved away removed there, and nothing else."""
    environment.base.console.print(f"\n[bold]3.[/] {LOST} is back, with what it ran")
    environment.lose()
    environment.load_balancer.gone.clear()
    settled = await environment.until(lambda placement: not placement["leaving"])
    newest = (await environment.runs())[0]
    environment.print(f"run {newest['id']} {newest['status']}: {newest['trigger']}")
    environment.show_pods()
    return list(settled["clusters"]) == list(_OTHERS) and environment.pods() == [2, 0, 2, 2]


async def _stopped(environment: _Environment) -> bool:
    """Lose the connection to three of four at once, and see nothing moved."""
    messages, before = environment.base.console, await environment.runs()
    messages.print("\n[bold]4.[/] Three of four do not answer at once; their users are served")
    environment.lose(*_OTHERS)
    settled = await environment.until(_suppression)
    environment.print(_suppression(settled))
    environment.lose()
    messages.print("   they answer again")
    settled = await environment.until(lambda placement: not placement["waiting"])
    environment.show_pods()
    is_unmoved = list(settled["clusters"]) == list(_OTHERS) and not settled["leaving"]
    return is_unmoved and len(await environment.runs()) == len(before)


def _suppression(placement: json.JsonObject) -> str:
    """Return why failover is suppressed; empty: it is not."""
    reasons = [str(move["reason"]) for move in placement["waiting"]]
    return next((reason for reason in reasons if "failover suppressed" in reason), "")
