"""The demos with real traffic: pods that answer, proxies that follow, metrics that decide."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet, proxies
from kube_sandbox.crds import definitions as crd_definitions
from volary.clusters.client import client_pool
from volary.demo import (
    definitions,
    git_repository,
    harness,
    metrics_source,
    probe_clients,
    snapshots,
)
from volary.engine import executor
from volary.engine.runs import state
from volary.model import statuses

NAMES = ("us", "eu", "asia")
_SPEED = 4.0
#: Real proxies follow within moments; a busy computer may need some more.
_DRAIN = 2.0


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the story plays."""

    scenario: definitions.TrafficScenario
    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: client_pool.ClientPool
    repository: Path
    metrics: metrics_source.Source
    #: Of each cluster's proxy.
    urls: Mapping[str, str]
    traffic_probe: snapshots.TrafficProbe


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, definitions.TRAFFIC_SCENARIOS[scenario])
    return await harness.play(opens, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(
    scenario: definitions.TrafficScenario, messages: rich_console.Console, base: Path
) -> AsyncIterator[_Environment]:
    kind = proxies.Kind.BUILT_IN if proxies.missing(scenario.proxy) else scenario.proxy
    kinds = (
        crd_definitions.istio()
        if scenario.proxy is proxies.Kind.ENVOY
        else crd_definitions.gateway_api()
    )
    settings = fleet.Settings(speed=_SPEED, crds=kinds, traffic=True, drain=_DRAIN)
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            fleet.start(NAMES, directory=base / "fleet", settings=settings)
        )
        harness.add_image_faults(sandbox, scenario.broken_images)
        urls = await stack.enter_async_context(proxies.before(sandbox, kind))
        metrics = await stack.enter_async_context(metrics_source.source(sandbox))
        metrics_source.register(sandbox, metrics)
        clusters = await stack.enter_async_context(harness.open_clients(sandbox))
        traffic_probe = snapshots.TrafficProbe(scenario.host, sandbox.clusters)
        messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {scenario.intention}\n")
        messages.print(f"  requests go through {_describe_proxy(scenario.proxy)}, one per cluster")
        messages.print(f"  metrics come from {metrics.words}\n")
        yield _Environment(
            scenario, messages, sandbox, clusters, base / "git", metrics, urls, traffic_probe
        )


def _describe_proxy(wanted: proxies.Kind) -> str:
    missing = proxies.missing(wanted)
    if missing:
        return f"the sandbox's own proxy, as {missing}"
    return f"real {wanted.value.capitalize()}"


async def _play(environment: _Environment) -> bool:
    scenario, messages = environment.scenario, environment.console
    made = git_repository.create(environment.repository, scenario)
    described = environment.repository / scenario.service / "volary.yaml"
    metrics_source.rewrite(described, environment.metrics)
    git_repository.commit(made, "Ask the metrics that there are")
    messages.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(environment, look=False)
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    await probe_clients.wait_until_served(scenario, environment.urls)
    await snapshots.show(messages, "running now", environment.clusters, environment.traffic_probe)
    git_repository.release(made, environment.repository, scenario)
    messages.print("[bold]2.[/] A commit with the new version, under constant load\n")
    users = probe_clients.create(scenario, environment.urls)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(probe_clients.send_requests(users))
        second = await _release(environment, look=True)
        await asyncio.sleep(1)
        asking.cancel()
    await snapshots.show(messages, "in the end", environment.clusters, environment.traffic_probe)
    return _is_as_expected(environment, second, users)


async def _release(environment: _Environment, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.SnapshotExecutor(
            performer, environment.console, environment.clusters, environment.traffic_probe
        )

    return await harness.release(
        environment.console,
        environment.clusters,
        environment.repository,
        environment.scenario.service,
        wrap=looking,
    )


def _is_as_expected(
    environment: _Environment, ended: state.Run, users: Sequence[probe_clients.ProbeClient]
) -> bool:
    """Say whether the story ended as it has to, and what users noticed."""
    scenario, messages = environment.scenario, environment.console
    probe_clients.show(messages, users)
    nothing_lost = probe_clients.check_losses(messages, scenario, users)
    left = [
        f"{name}: {body['metadata']['name']}"
        for name, cluster in environment.sandbox.clusters.items()
        for body in cluster.view.list("Deployment", snapshots.NAMESPACE)
        if body["metadata"]["name"] != scenario.service
    ]
    if left:
        messages.print(f"[red]variants were left behind:[/] {', '.join(left)}")
    right = ended.status is scenario.expected and nothing_lost and not left
    if right and scenario.lesson:
        messages.print(f"\n{scenario.lesson}")
    return right


def _manual_commands(environment: _Environment) -> list[str]:
    width = max(map(len, NAMES))
    host = environment.scenario.host
    return [
        *(f"{name:{width}} curl -H 'Host: {host}' {environment.urls[name]}" for name in NAMES),
        *harness.manual_commands(environment.sandbox, environment.repository),
    ]
