"""The demos with real traffic: pods that answer, proxies that follow, metrics that decide."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import crds, fleet, proxies
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

    story: definitions.TrafficScenario
    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: client_pool.ClientPool
    repository: Path
    metrics: metrics_source.Source
    #: Of each cluster's proxy.
    urls: Mapping[str, str]
    sight: snapshots.TrafficProbe


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, definitions.TRAFFIC_SCENARIOS[scenario])
    return await harness.play(opens, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(
    story: definitions.TrafficScenario, talk: rich_console.Console, base: Path
) -> AsyncIterator[_Environment]:
    kind = proxies.Kind.BUILT_IN if proxies.missing(story.proxy) else story.proxy
    kinds = crds.istio() if story.proxy is proxies.Kind.ENVOY else crds.gateway_api()
    settings = fleet.Settings(speed=_SPEED, crds=kinds, traffic=True, drain=_DRAIN)
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            fleet.start(NAMES, directory=base / "fleet", settings=settings)
        )
        harness.add_image_faults(sandbox, story.broken_images)
        urls = await stack.enter_async_context(proxies.before(sandbox, kind))
        metrics = await stack.enter_async_context(metrics_source.source(sandbox))
        metrics_source.register(sandbox, metrics)
        clusters = await stack.enter_async_context(harness.open_clients(sandbox))
        sight = snapshots.TrafficProbe(story.host, sandbox.clusters)
        talk.print(f"[bold]Volary: one pipeline, every cluster.[/] {story.intention}\n")
        talk.print(f"  requests go through {_describe_proxy(story.proxy)}, one per cluster")
        talk.print(f"  metrics come from {metrics.words}\n")
        yield _Environment(story, talk, sandbox, clusters, base / "git", metrics, urls, sight)


def _describe_proxy(wanted: proxies.Kind) -> str:
    missing = proxies.missing(wanted)
    if missing:
        return f"the sandbox's own proxy, as {missing}"
    return f"real {wanted.value.capitalize()}"


async def _play(stage: _Environment) -> bool:
    story, talk = stage.story, stage.console
    made = git_repository.create(stage.repository, story)
    described = stage.repository / story.service / "volary.yaml"
    metrics_source.rewrite(described, stage.metrics)
    git_repository.commit(made, "Ask the metrics that there are")
    talk.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(stage, look=False)
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    await probe_clients.wait_until_served(story, stage.urls)
    await snapshots.show(talk, "running now", stage.clusters, stage.sight)
    git_repository.release(made, stage.repository, story)
    talk.print("[bold]2.[/] A commit with the new version, while users ask all the time\n")
    users = probe_clients.create(story, stage.urls)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(probe_clients.send_requests(users))
        second = await _release(stage, look=True)
        await asyncio.sleep(1)
        asking.cancel()
    await snapshots.show(talk, "in the end", stage.clusters, stage.sight)
    return _is_as_expected(stage, second, users)


async def _release(stage: _Environment, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.SnapshotExecutor(performer, stage.console, stage.clusters, stage.sight)

    return await harness.release(
        stage.console, stage.clusters, stage.repository, stage.story.service, wrap=looking
    )


def _is_as_expected(
    stage: _Environment, ended: state.Run, users: Sequence[probe_clients.ProbeClient]
) -> bool:
    """Say whether the story ended as it has to, and what users noticed."""
    story, talk = stage.story, stage.console
    probe_clients.show(talk, users)
    nothing_lost = probe_clients.check_losses(talk, story, users)
    left = [
        f"{name}: {body['metadata']['name']}"
        for name, cluster in stage.sandbox.clusters.items()
        for body in cluster.view.list("Deployment", snapshots.NAMESPACE)
        if body["metadata"]["name"] != story.service
    ]
    if left:
        talk.print(f"[red]variants were left behind:[/] {', '.join(left)}")
    right = ended.status is story.expected and nothing_lost and not left
    if right and story.lesson:
        talk.print(f"\n{story.lesson}")
    return right


def _manual_commands(stage: _Environment) -> list[str]:
    width = max(map(len, NAMES))
    host = stage.story.host
    return [
        *(f"{name:{width}} curl -H 'Host: {host}' {stage.urls[name]}" for name in NAMES),
        *harness.manual_commands(stage.sandbox, stage.repository),
    ]
