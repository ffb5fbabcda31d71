"""The demos with real traffic: pods that answer, proxies that follow, metrics that decide."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet, proxies
from kube_sandbox.crds import definitions
from volary.cli import (
    demo_metrics,
    demo_release,
    demo_repository,
    demo_users,
    performance,
    snapshots,
    traffic_stories,
)
from volary.clusters import pool
from volary.engine import executor, state
from volary.model import status as words

NAMES = ("us", "eu", "asia")
_SPEED = 4.0
#: Real proxies follow within moments; a busy computer may need some more.
_DRAIN = 2.0


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where the story plays."""

    story: traffic_stories.TrafficStory
    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: pool.Pool
    repository: Path
    metrics: demo_metrics.Source
    #: Of each cluster's proxy.
    urls: Mapping[str, str]
    sight: snapshots.Users


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, traffic_stories.STORIES[scenario])
    return await performance.give(opens, _tell, _goodbye if keep else None)


@contextlib.asynccontextmanager
async def _open(
    story: traffic_stories.TrafficStory, talk: rich_console.Console, base: Path
) -> AsyncIterator[_Stage]:
    kind = proxies.Kind.BUILT_IN if proxies.missing(story.proxy) else story.proxy
    kinds = definitions.istio() if story.proxy is proxies.Kind.ENVOY else definitions.gateway_api()
    settings = fleet.Settings(speed=_SPEED, crds=kinds, traffic=True, drain=_DRAIN)
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(
            fleet.start(NAMES, directory=base / "fleet", settings=settings)
        )
        performance.spoil(sandbox, story.broken_images)
        urls = await stack.enter_async_context(proxies.before(sandbox, kind))
        metrics = await stack.enter_async_context(demo_metrics.source(sandbox))
        demo_metrics.register(sandbox, metrics)
        clusters = await stack.enter_async_context(performance.clients(sandbox))
        sight = snapshots.Users(story.host, sandbox.clusters)
        talk.print(f"[bold]Volary: one pipeline, every cluster.[/] {story.intention}\n")
        talk.print(f"  requests go through {_said(story.proxy)}, one per cluster")
        talk.print(f"  metrics come from {metrics.words}\n")
        yield _Stage(story, talk, sandbox, clusters, base / "git", metrics, urls, sight)


def _said(wanted: proxies.Kind) -> str:
    missing = proxies.missing(wanted)
    if missing:
        return f"the sandbox's own proxy, as {missing}"
    return f"real {wanted.value.capitalize()}"


async def _tell(stage: _Stage) -> bool:
    story, talk = stage.story, stage.console
    made = demo_repository.create(stage.repository, story)
    described = stage.repository / story.service / "volary.yaml"
    demo_metrics.rewrite(described, stage.metrics)
    demo_repository.commit(made, "Ask the metrics that there are")
    talk.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(stage, look=False)
    if first.status is not words.RunStatus.SUCCEEDED:
        return False
    await demo_users.answered(story, stage.urls)
    await snapshots.show(talk, "running now", stage.clusters, stage.sight)
    demo_repository.release(made, stage.repository, story)
    talk.print("[bold]2.[/] A commit with the new version, while users ask all the time\n")
    users = demo_users.ready(story, stage.urls)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(demo_users.ask(users))
        second = await _release(stage, look=True)
        await asyncio.sleep(1)
        asking.cancel()
    await snapshots.show(talk, "in the end", stage.clusters, stage.sight)
    return _judge(stage, second, users)


async def _release(stage: _Stage, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.Looking(performer, stage.console, stage.clusters, stage.sight)

    return await demo_release.carry_out(
        stage.console, stage.clusters, stage.repository, stage.story.service, wrap=looking
    )


def _judge(stage: _Stage, ended: state.Run, users: Sequence[demo_users.Asking]) -> bool:
    """Say whether the story ended as it has to, and what users noticed."""
    story, talk = stage.story, stage.console
    demo_users.show(talk, users)
    nothing_lost = demo_users.judge(talk, story, users)
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


def _goodbye(stage: _Stage) -> list[str]:
    width = max(map(len, NAMES))
    host = stage.story.host
    return [
        *(f"{name:{width}} curl -H 'Host: {host}' {stage.urls[name]}" for name in NAMES),
        *performance.by_hand(stage.sandbox, stage.repository),
    ]
