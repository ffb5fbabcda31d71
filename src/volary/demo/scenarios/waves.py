"""``volary demo --scenario waves``: twelve clusters in four regions, and one is lost midway."""

import asyncio
import contextlib
import functools
from dataclasses import dataclass

from kube_sandbox import fleet
from volary.clusters.client import client_pool
from volary.demo import definitions, harness, kept_runs
from volary.engine.observers import feed
from volary.model import errors, statuses

REGIONS = ("us", "eu", "asia", "sa")
#: By region; the first of each is in the first wave.
NAMES = tuple(f"{region}-{number}" for number in (1, 2, 3) for region in REGIONS)
LOST = "eu-2"
_LOST_IN = "quarter"
_SPEED = 8.0
#: Seconds after which the breaker has tried again.
_PATIENCE = 180

_SCENARIO = definitions.Scenario(
    example="waves",
    service="fleet",
    intention="Version 2 moves over twelve clusters of four regions in three waves.",
    expected=statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS,
)


@dataclass(slots=True)
class _ClusterLoss:
    """An observer of a run that cuts a cluster off when the cluster's wave begins."""

    environment: harness.ReleaseEnvironment
    is_lost: bool = False

    def notify(self, event: feed.RunEvent) -> None:
        """Cut the cluster off before the first task of its wave."""
        if self.is_lost or not isinstance(event, feed.StageStarted):
            return
        self.is_lost = event.stage.startswith(f"{_LOST_IN}/")
        if self.is_lost:
            _change_fault(self.environment, "refuse")
            self.environment.console.print(f"\n[bold]{LOST} is lost now: nobody can reach it[/]\n")


def _change_fault(environment: harness.ReleaseEnvironment, lost: str) -> None:
    """Cut the cluster off (``refuse``), or bring it back (empty)."""
    environment.sandbox.clusters[LOST].faults.change({"lost": lost})


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    labels = {name: {"region": name.partition("-")[0]} for name in NAMES}
    settings = fleet.Settings(speed=_SPEED, labels=labels)
    opens = functools.partial(harness.open_sandbox, _SCENARIO, NAMES, settings)
    return await harness.play(opens, _play, keep=keep, goes_on=kept_runs.one_more_release)


async def _play(environment: harness.ReleaseEnvironment) -> bool:
    messages = environment.console
    messages.print(f"[bold]Volary: one pipeline, every cluster.[/] {_SCENARIO.intention}\n")
    messages.print("[bold]1.[/] The first version, in the same waves: a quick sync\n")
    first = await environment.release()
    if first.status is not statuses.RunStatus.SUCCEEDED:
        return False
    environment.repository.release()
    messages.print(f"\n[bold]2.[/] Version 2; {LOST} is lost in the middle, and the budget holds\n")
    second = await environment.release(_ClusterLoss(environment))
    environment.show("running now")
    messages.print(f"[bold]3.[/] {LOST} is back: the same release again brings it up to date\n")
    _change_fault(environment, "")
    await _until_it_answers(environment)
    third = await environment.release()
    environment.show("in the end")
    # One cluster was left out, alone, and backfilled.
    left_out = [cluster.name for cluster in second.clusters if cluster.left_out]
    return (
        second.status is _SCENARIO.expected
        and left_out == [LOST]
        and third.status is statuses.RunStatus.SUCCEEDED
    )


async def _until_it_answers(environment: harness.ReleaseEnvironment) -> None:
    """Wait until the breaker lets a request through to the cluster again."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            client = await environment.clusters.client(LOST)
            if not isinstance(client, client_pool.Unavailable):
                with contextlib.suppress(errors.VolaryError):
                    await client.discover(refresh=True)
                    return
            await asyncio.sleep(0.5)
