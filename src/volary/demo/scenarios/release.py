"""``volary demo``: the main job on emulated clusters, from an empty fleet to a release."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet
from kube_sandbox.crds import definitions as crd_definitions
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

    scenario: definitions.Scenario


async def run(scenario: str, *, keep: bool) -> int:
    """Tell one story; 0 when it ended as it has to."""
    opens = functools.partial(_open, definitions.SCENARIOS[scenario])
    return await harness.play(opens, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(
    scenario: definitions.Scenario, messages: rich_console.Console, base: Path
) -> AsyncIterator[_Environment]:
    settings = fleet.Settings(
        speed=_SPEED, crds=crd_definitions.istio() if scenario.needs_istio else ()
    )
    async with (
        fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox,
        harness.open_clients(sandbox) as clusters,
    ):
        harness.add_image_faults(sandbox, scenario.broken_images)
        users = snapshots.TrafficProbe(scenario.service, sandbox.clusters)
        yield _Environment(messages, sandbox, clusters, base / "git", users, scenario)


async def _play(environment: _Environment) -> bool:
    scenario, messages = environment.scenario, environment.console
    messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {scenario.intention}\n")
    made = git_repository.create(environment.repository, scenario)
    messages.print(f"[bold]1.[/] The first version, on {', '.join(NAMES)}: a quick sync\n")
    first = await _release(environment, look=False)
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    await snapshots.show(messages, "running now", environment.clusters, environment.users)
    git_repository.release(made, environment.repository, scenario)
    messages.print("[bold]2.[/] A commit with the new version: the pipeline\n")
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(environment.users.watch())
        second = await _release(environment, look=True)
        watching.cancel()
    await snapshots.show(messages, "in the end", environment.clusters, environment.users)
    return _is_as_expected(environment, second)


async def _release(environment: _Environment, *, look: bool) -> state.Run:
    def looking(performer: executor.StageExecutor) -> executor.StageExecutor:
        if not look:
            return performer
        return snapshots.SnapshotExecutor(
            performer, environment.console, environment.clusters, environment.users
        )

    return await harness.release(
        environment.console,
        environment.clusters,
        environment.repository,
        environment.scenario.service,
        wrap=looking,
    )


def _is_as_expected(environment: _Environment, ended: state.Run) -> bool:
    """Say whether the story ended as it has to, and what users noticed."""
    users, messages = environment.users, environment.console
    lost = users.lost / users.samples if users.samples else 0.0
    messages.print(
        f"{users.samples} probe requests to {users.service} during the release, {lost:.1%} failed"
    )
    for reason in list(users.reasons)[:3]:
        messages.print(f"  {reason}", markup=False)
    return ended.status is environment.scenario.expected and not lost


def _manual_commands(environment: _Environment) -> list[str]:
    return harness.manual_commands(environment.sandbox, environment.repository)
