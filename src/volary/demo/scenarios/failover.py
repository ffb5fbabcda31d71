"""``volary demo --scenario failover``: a cluster is lost, replaced and back; then three are."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
from aiohttp import web
from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet
from volary.cli.remote import client, login
from volary.demo import definitions, git_repository, harness, server_process
from volary.model import errors, json

NAMES = ("asia", "eu", "sa", "us")
LOST = "eu"
_OTHERS = ("asia", "sa", "us")
_REPLICAS = 6
_PATIENCE = 40.0
_PERIOD = 0.05
_SPEED = 8.0
#: What the example says, and seconds instead of minutes.
_SHORTER_TIMES = (
    ("{toleration: 5m}", "{toleration: 1s}"),
    ("{toleration: 10m}", "{toleration: 10m}"),
)
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
    change=("example/market:v1", "example/market:v2"),
    subject="Release market v2",
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

    def reset(self) -> None:
        """Count from now on."""
        self.least, self.samples, self.unserved = _REPLICAS, 0, 0

    def look(self) -> None:
        """Count how many pods serve users right now."""
        ready_pods = sum(map(self.ready, NAMES))
        self.samples += 1
        self.unserved += not ready_pods
        self.least = min(self.least, ready_pods)


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the story plays."""

    console: rich_console.Console
    sandbox: fleet.Fleet
    load_balancer: _LoadBalancer
    server: server_process.DemoServer
    repository: pygit2.Repository

    def lose(self, *names: str) -> None:
        """Have nobody reach these clusters' API servers, and all others again."""
        for name, cluster in self.sandbox.clusters.items():
            cluster.faults.change({"lost": "refuse" if name in names else ""})


async def run(*, keep: bool) -> int:
    """Tell the story; 0 when it ended as it has to."""
    return await harness.play(_open, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    bare, work = base / "shop.git", base / "work"
    pygit2.init_repository(str(bare), bare=True, initial_head="main")
    async with (
        fleet.start(
            NAMES, directory=base / "fleet", settings=fleet.Settings(speed=_SPEED)
        ) as sandbox,
        _open_load_balancer(sandbox) as (load_balancer, address),
    ):
        repository = git_repository.create(work, _SCENARIO)
        _shorten(work / _SCENARIO.service / "volary.yaml", address)
        git_repository.commit(repository, "Seconds instead of minutes")
        repository.remotes.create("origin", str(bare))
        server = server_process.DemoServer(base, server_process.free_port())
        more = {"clusterHealth": _HEALTH_SETTINGS, "localWebhooks": "allow"}
        server_process.write_settings(server, sandbox.path, bare, more)
        try:
            yield _Environment(messages, sandbox, load_balancer, server, repository)
        finally:
            await server.stop()


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


def _shorten(file: Path, address: str) -> None:
    text = file.read_text(encoding="utf-8").replace("http://edge.example.com", address)
    for old, new in _SHORTER_TIMES:
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


async def _play(environment: _Environment) -> bool:
    messages, server = environment.console, environment.server
    messages.print(f"[bold]Volary: failover.[/] {_SCENARIO.intention}\n")
    await server.start()
    target = login.Target(server.url, server.token)
    async with client.Client.open(target) as asked:
        environment.repository.remotes["origin"].push(["refs/heads/main:refs/heads/main"])
        await _until(environment, asked, lambda placement: len(placement["clusters"]) == 3)
        messages.print("[bold]1.[/] A first release")
        _show(environment)
        environment.load_balancer.reset()
        moved = await _replaced(environment, asked)
        cleaned = await _returned(environment, asked)
        stood = await _stopped(environment, asked)
        planned = await asked.post("applications", _SCENARIO.service, "rebalance", "plan", body={})
    messages.print(f"\n[bold]5.[/] volary rebalance {_SCENARIO.service} --dry-run")
    _print_step(
        environment, f"{planned['reason']}; it would be on {', '.join(planned['clusters'])}"
    )
    load_balancer = environment.load_balancer
    messages.print(
        f"\nusers were looked at {load_balancer.samples} times: never fewer than"
        f" {load_balancer.least} of {_REPLICAS} pods served them"
    )
    return moved and cleaned and stood and not load_balancer.unserved


async def _replaced(environment: _Environment, asked: client.Client) -> bool:
    """Lose a cluster for good, and see it replaced."""
    messages = environment.console
    messages.print(f"\n[bold]2.[/] {LOST} is lost for good: its API server and its users")
    environment.lose(LOST)
    environment.load_balancer.gone.add(LOST)
    waiting = await _until(environment, asked, lambda placement: placement["waiting"])
    _print_step(environment, f"nothing moves yet: {waiting['waiting'][0]['reason']}")
    leaving = await _until(
        environment,
        asked,
        lambda placement: placement["leaving"] and placement["leaving"][0]["replaced"],
    )
    _print_step(environment, leaving["leaving"][0]["reason"])
    _show(environment)
    return list(leaving["clusters"]) == list(_OTHERS) and _pods(environment) == [2, 0, 2, 2]


async def _returned(environment: _Environment, asked: client.Client) -> bool:
    """Have it back, and see what moved away removed there, and nothing else."""
    messages = environment.console
    messages.print(f"\n[bold]3.[/] {LOST} is back, with what it ran")
    environment.lose()
    environment.load_balancer.gone.clear()
    settled = await _until(environment, asked, lambda placement: not placement["leaving"])
    runs = await _runs(asked)
    _print_step(environment, f"run {runs[0]['id']} {runs[0]['status']}: {runs[0]['trigger']}")
    _show(environment)
    return list(settled["clusters"]) == list(_OTHERS) and _pods(environment) == [2, 0, 2, 2]


async def _stopped(environment: _Environment, asked: client.Client) -> bool:
    """Lose the connection to three of four at once, and see nothing moved."""
    messages = environment.console
    before = len(await _runs(asked))
    messages.print("\n[bold]4.[/] Three of four do not answer at once; their users are served")
    environment.lose(*_OTHERS)
    settled = await _until(
        environment,
        asked,
        lambda placement: any("failover suppressed" in one for one in _reasons(placement)),
    )
    _print_step(
        environment, next(reason for reason in _reasons(settled) if "failover suppressed" in reason)
    )
    environment.lose()
    messages.print("   they answer again")
    settled = await _until(environment, asked, lambda placement: not placement["waiting"])
    _show(environment)
    runs = len(await _runs(asked))
    return list(settled["clusters"]) == list(_OTHERS) and not settled["leaving"] and runs == before


async def _runs(asked: client.Client) -> list[json.JsonObject]:
    """Return the runs, newest first."""
    return list((await asked.get("runs"))["items"])


def _reasons(placement: json.JsonObject) -> list[str]:
    return [move["reason"] for move in placement["waiting"]]


async def _until(
    environment: _Environment, asked: client.Client, holds: Callable[[json.JsonObject], object]
) -> json.JsonObject:
    """Return where the application is once that holds."""
    seen: json.JsonObject = {}
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                with contextlib.suppress(errors.UserError):
                    seen = await asked.get("applications", _SCENARIO.service, "placement")
                    if holds(seen):
                        return seen
                for _ in range(4):
                    environment.load_balancer.look()
                    await asyncio.sleep(_PERIOD)
    except TimeoutError:
        raise errors.user_error(
            f"the demo did not reach the expected state; the last one was {seen}"
        ) from None


def _pods(environment: _Environment) -> list[int]:
    return [environment.load_balancer.ready(name) for name in NAMES]


def _show(environment: _Environment) -> None:
    cells = (
        f"{name} {'gone' if name in environment.load_balancer.gone else count}"
        for name, count in zip(NAMES, _pods(environment), strict=True)
    )
    environment.console.print(f"   pods: {', '.join(cells)}")


def _print_step(environment: _Environment, text: str) -> None:
    environment.console.print(f"   {markup.escape(text)}", soft_wrap=True)


def _manual_commands(environment: _Environment) -> list[str]:
    return [f"volary server at {environment.server.url}, fleet file {environment.sandbox.path}"]
