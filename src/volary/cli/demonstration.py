"""``volary demo``: the main job on emulated clusters, from an empty fleet to a release."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from volary.cli import (
    closing,
    console,
    demo_release,
    demo_repository,
    exits,
    snapshots,
    stories,
)
from volary.clusters import pool
from volary.config import fleet as fleet_files
from volary.controller import system_clock
from volary.engine import executor, state
from volary.model import status as words
from volary.sandbox import crds, fleet

NAMES = ("us", "eu", "asia")
#: Pods take as long as small ones with a cached image do.
_SPEED = 4.0


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where the story plays."""

    story: stories.Story
    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: pool.Pool
    repository: Path
    users: snapshots.Users


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    story = stories.STORIES[scenario]
    talk = console.data()
    with tempfile.TemporaryDirectory(prefix="volary-demo-") as base:
        async with _stage(story, talk, Path(base)) as stage:
            try:
                right = await _tell(stage)
            except asyncio.CancelledError:
                closing.undisturbed(talk)
                return exits.Exit.INTERRUPTED
            if keep:
                await _keep(stage)
    return exits.Exit.DONE if right else exits.Exit.FAILED


@contextlib.asynccontextmanager
async def _stage(
    story: stories.Story, talk: rich_console.Console, base: Path
) -> AsyncIterator[_Stage]:
    settings = fleet.Settings(speed=_SPEED, crds=crds.istio() if story.needs_istio else ())
    async with fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox:
        for cluster, images in story.broken_images.items():
            for pattern, behaviour in images.items():
                sandbox.clusters[cluster].faults.images.add(pattern, behaviour)
        members = fleet_files.parse(
            sandbox.path.read_text(), file=str(sandbox.path), directory=str(sandbox.directory)
        ).require()
        async with pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
            users = snapshots.Users(story.service, sandbox.clusters)
            yield _Stage(story, talk, sandbox, clusters, base / "git", users)


async def _tell(stage: _Stage) -> bool:
    story, talk = stage.story, stage.console
    talk.print(f"[bold]Volary: one pipeline, every cluster.[/] {story.intention}\n")
    made = demo_repository.create(stage.repository, story)
    talk.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(stage, look=False)
    if first.status is not words.RunStatus.SUCCEEDED:
        return False
    await snapshots.show(talk, "running now", stage.clusters, stage.users)
    demo_repository.release(made, stage.repository, story)
    talk.print("[bold]2.[/] A commit with the new version: the pipeline\n")
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(stage.users.watch())
        second = await _release(stage, look=True)
        watching.cancel()
    await snapshots.show(talk, "in the end", stage.clusters, stage.users)
    return _judge(stage, second)


async def _release(stage: _Stage, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.Looking(performer, stage.console, stage.clusters, stage.users)

    return await demo_release.carry_out(
        stage.console, stage.clusters, stage.repository, stage.story.service, wrap=looking
    )


def _judge(stage: _Stage, ended: state.Run) -> bool:
    """Say whether the story ended as it has to, and what users noticed."""
    users, talk = stage.users, stage.console
    lost = users.lost / users.samples if users.samples else 0.0
    talk.print(
        f"users of {users.service} were asked {users.samples} times during the release:"
        f" {lost:.1%} of their requests would have been lost"
    )
    for reason in list(users.reasons)[:3]:
        talk.print(f"  {reason}", markup=False)
    return ended.status is stage.story.expected and not lost


async def _keep(stage: _Stage) -> None:
    talk = stage.console
    talk.print("\nthe clusters stay up until Ctrl-C:")
    for name, cluster in stage.sandbox.clusters.items():
        talk.print(f"  {name:6} kubectl --kubeconfig {cluster.kubeconfig_path} get deploy,pods,svc")
    talk.print(f"  git log in {stage.repository}, fleet file {stage.sandbox.path}")
    await closing.until_told(talk)
