"""``volary demo``: the main job on emulated clusters, from an empty fleet to a release."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import crds, fleet
from volary.demo import definitions, git_repository, harness, snapshots
from volary.engine import executor
from volary.engine.runs import state
from volary.model import statuses

NAMES = ("us", "eu", "asia")
#: Pods take as long as small ones with a cached image do.
_SPEED = 4.0


@dataclass(frozen=True, slots=True)
class _Environment(harness.Environment):
    """Where the story plays."""

    story: definitions.Scenario


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, definitions.SCENARIOS[scenario])
    return await harness.play(opens, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(
    story: definitions.Scenario, talk: rich_console.Console, base: Path
) -> AsyncIterator[_Environment]:
    settings = fleet.Settings(speed=_SPEED, crds=crds.istio() if story.needs_istio else ())
    async with (
        fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox,
        harness.open_clients(sandbox) as clusters,
    ):
        harness.add_image_faults(sandbox, story.broken_images)
        users = snapshots.TrafficProbe(story.service, sandbox.clusters)
        yield _Environment(talk, sandbox, clusters, base / "git", users, story)


async def _play(stage: _Environment) -> bool:
    story, talk = stage.story, stage.console
    talk.print(f"[bold]Volary: one pipeline, every cluster.[/] {story.intention}\n")
    made = git_repository.create(stage.repository, story)
    talk.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(stage, look=False)
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    await snapshots.show(talk, "running now", stage.clusters, stage.users)
    git_repository.release(made, stage.repository, story)
    talk.print("[bold]2.[/] A commit with the new version: the pipeline\n")
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(stage.users.watch())
        second = await _release(stage, look=True)
        watching.cancel()
    await snapshots.show(talk, "in the end", stage.clusters, stage.users)
    return _is_as_expected(stage, second)


async def _release(stage: _Environment, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.SnapshotExecutor(performer, stage.console, stage.clusters, stage.users)

    return await harness.release(
        stage.console, stage.clusters, stage.repository, stage.story.service, wrap=looking
    )


def _is_as_expected(stage: _Environment, ended: state.Run) -> bool:
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


def _manual_commands(stage: _Environment) -> list[str]:
    return harness.manual_commands(stage.sandbox, stage.repository)
