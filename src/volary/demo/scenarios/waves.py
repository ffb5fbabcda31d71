"""``volary demo --scenario waves``: twelve clusters in four regions, and one is lost midway."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console

from kube_sandbox import fleet
from volary.clusters.client import client_pool
from volary.demo import definitions, git_repository, harness, snapshots
from volary.engine import executor
from volary.engine.runs import state
from volary.model import errors, statuses

REGIONS = ("us", "eu", "asia", "sa")
#: By region; the first of each is in the first wave.
NAMES = tuple(f"{region}-{number}" for number in (1, 2, 3) for region in REGIONS)
LOST = "eu-2"
_LOST_IN = "quarter"
_SPEED = 8.0
#: Seconds after which the breaker has tried again.
_PATIENCE = 60

_SCENARIO = definitions.Scenario(
    example="waves",
    service="fleet",
    intention="Version 2 moves over twelve clusters of four regions in three waves.",
    change=("example/fleet:v1", "example/fleet:v2"),
    subject="Release fleet v2",
    expected=statuses.RunStatus.FAILED,
)


@dataclass(frozen=True, slots=True)
class _Environment(harness.Environment):
    """Where the story plays."""

    def lose(self, lost: str) -> None:
        """Cut the cluster off (``refuse``), or bring it back (empty)."""
        self.sandbox.clusters[LOST].faults.change({"lost": lost})


class _ClusterLossExecutor:
    """An executor that loses a cluster when its wave begins."""

    def __init__(self, performer: executor.StageExecutor, environment: _Environment) -> None:
        self._performer = performer
        self._environment = environment
        self._is_lost = False

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        """Lose the cluster before the first task of its wave, then carry the task out."""
        if not self._is_lost and task.stage_id.startswith(f"{_LOST_IN}/"):
            self._is_lost = True
            self._environment.console.print(f"\n[bold]{LOST} is lost now: nobody can reach it[/]\n")
            self._environment.lose("refuse")
        return await self._performer.execute(task, report)


async def run(*, keep: bool) -> int:
    """Tell the story; 0 when it ended as it has to."""
    return await harness.play(_open, _play, _manual_commands if keep else None)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    labels: Mapping[str, Mapping[str, str]] = {
        name: {"region": name.partition("-")[0]} for name in NAMES
    }
    settings = fleet.Settings(speed=_SPEED, labels=labels)
    async with (
        fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox,
        harness.open_clients(sandbox) as clusters,
    ):
        users = snapshots.TrafficProbe(_SCENARIO.service, sandbox.clusters)
        yield _Environment(messages, sandbox, clusters, base / "git", users)


def _manual_commands(environment: _Environment) -> list[str]:
    return harness.manual_commands(environment.sandbox, environment.repository)


async def _play(environment: _Environment) -> bool:
    messages = environment.console
    messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {_SCENARIO.intention}\n")
    made = git_repository.create(environment.repository, _SCENARIO)
    messages.print("[bold]1.[/] The first version, in the same waves: a quick sync\n")
    first = await _release(environment, lose=False)
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    git_repository.release(made, environment.repository, _SCENARIO)
    messages.print(f"\n[bold]2.[/] Version 2; {LOST} is lost in the middle, and the budget holds\n")
    second = await _release(environment, lose=True)
    await snapshots.show(messages, "running now", environment.clusters, environment.users)
    messages.print(f"[bold]3.[/] {LOST} is back: the same release again brings it up to date\n")
    environment.lose("")
    await _until_it_answers(environment)
    third = await _release(environment, lose=False, before=second)
    await snapshots.show(messages, "in the end", environment.clusters, environment.users)
    return _is_as_expected(second, third)


def _is_as_expected(second: state.Run, third: state.Run) -> bool:
    """Say whether one cluster was left out, alone, and backfilled."""
    left_out = [cluster.name for cluster in second.clusters if cluster.left_out]
    return (
        second.status is _SCENARIO.expected
        and left_out == [LOST]
        and third.status is statuses.RunStatus.SUCCEEDED
    )


async def _until_it_answers(environment: _Environment) -> None:
    """Wait until the breaker lets a request through to the cluster again."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            client = await environment.clusters.client(LOST)
            if not isinstance(client, client_pool.Unavailable):
                with contextlib.suppress(errors.VolaryError):
                    await client.discover(refresh=True)
                    return
            await asyncio.sleep(0.5)


async def _release(
    environment: _Environment, *, lose: bool, before: state.Run | None = None
) -> state.Run:
    return await harness.release(
        environment.console,
        environment.clusters,
        environment.repository,
        _SCENARIO.service,
        wrap=lambda performer: _ClusterLossExecutor(performer, environment) if lose else performer,
        before=before,
    )
