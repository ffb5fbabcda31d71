"""``volary demo``: the main job on emulated clusters, from an empty fleet to a release."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet
from kube_sandbox.crds import definitions
from volary.cli import demo_release, demo_repository, performance, snapshots, stories
from volary.engine import executor, state
from volary.model import status as words

NAMES = ("us", "eu", "asia")
#: Pods take as long as small ones with a cached image do.
_SPEED = 4.0


@dataclass(frozen=True, slots=True)
class _Stage(performance.Scene):
    """Where the story plays."""

    story: stories.Story


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, stories.STORIES[scenario])
    return await performance.give(opens, _tell, _goodbye if keep else None)


@contextlib.asynccontextmanager
async def _open(
    story: stories.Story, talk: rich_console.Console, base: Path
) -> AsyncIterator[_Stage]:
    settings = fleet.Settings(speed=_SPEED, crds=definitions.istio() if story.needs_istio else ())
    async with (
        fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox,
        performance.clients(sandbox) as clusters,
    ):
        performance.spoil(sandbox, story.broken_images)
        users = snapshots.Users(story.service, sandbox.clusters)
        yield _Stage(talk, sandbox, clusters, base / "git", users, story)


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


def _goodbye(stage: _Stage) -> list[str]:
    return performance.by_hand(stage.sandbox, stage.repository)
