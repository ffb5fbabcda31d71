"""The demo's users: they send requests all the time and count who answered how."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box, table
from rich import console as rich_console

from kube_sandbox.dataplane import load
from kube_sandbox.dataplane.servers import counters
from volary.demo import definitions

#: Requests of one group under way at once. With more, a computer that is busy with something else
#: would do nothing but answer late; what is due meanwhile is not sent, and is not lost.
_MOST = 50
#: Seconds within which proxies know the way, also on such a computer.
_SERVED = 120


@dataclass(frozen=True, slots=True)
class ProbeClient:
    """One group of users of one cluster."""

    cluster: str
    group: str
    load: load.Load


def create(scenario: definitions.TrafficScenario, urls: Mapping[str, str]) -> list[ProbeClient]:
    """Return the users of a scenario; they are idle until `send_requests` runs."""
    return [
        ProbeClient(
            name,
            group.name,
            load.Load(
                load.Aim(url, scenario.address, headers=group.headers),
                rate=group.rates.get(name, group.rate),
                most=_MOST,
            ),
        )
        for name, url in urls.items()
        for group in scenario.groups
    ]


async def send_requests(users: Sequence[ProbeClient]) -> None:
    """Send requests until cancelled, and wait for the answers that are under way then."""
    async with asyncio.TaskGroup() as group:
        for user in users:
            group.create_task(user.load.run())


async def wait_until_served(scenario: definitions.TrafficScenario, urls: Mapping[str, str]) -> None:
    """Wait until every proxy has found the way to the first version.

    Raises:
        TimeoutError: One does not.
    """
    async with asyncio.timeout(_SERVED):
        for url in urls.values():
            while True:
                tally = await load.Load(load.Aim(url, scenario.address), rate=20).run(count=4)
                if not tally.failed:
                    break


def show(console: rich_console.Console, users: Sequence[ProbeClient]) -> None:
    """Print who was answered by which version, and how."""
    shown = table.Table(box=box.SIMPLE, title="responses during the release")
    grouped = len({user.group for user in users}) > 1
    for title in ("cluster", *(("group",) if grouped else ()), "version", "answer"):
        shown.add_column(title)
    for title in ("requests", "share", "p99 ms"):
        shown.add_column(title, justify="right")
    for probe_client in users:
        for (version, status), counted in sorted(_outcomes(probe_client.load.tally).items()):
            slowest = counted.quantile(0.99) or 0.0
            shown.add_row(
                probe_client.cluster,
                *((probe_client.group,) if grouped else ()),
                version or "-",
                "good" if status == 200 else str(status or "none"),
                str(counted.count),
                f"{counted.count / probe_client.load.tally.answered:.1%}",
                f"{slowest * 1000:.1f}",
            )
    console.print(shown)


def _outcomes(tally: load.Tally) -> dict[tuple[str, int], counters.Histogram]:
    outcomes: dict[tuple[str, int], counters.Histogram] = {}
    for kind, counted in tally.answers.items():
        key = (kind.version, kind.status)
        outcomes.setdefault(key, counters.Histogram()).include(counted)
    return outcomes


def _failures(users: Sequence[ProbeClient], version: str) -> str:
    """Say how often a version failed in each cluster, and over all of them."""
    counted: dict[str, list[int]] = {}
    for user in users:
        counts = counted.setdefault(user.cluster, [0, 0])
        for kind, durations in user.load.tally.answers.items():
            if kind.version == version:
                counts[0] += durations.count if kind.status >= 400 else 0
                counts[1] += durations.count
    parts = [f"{_share(*amounts)} in {name}" for name, amounts in counted.items()]
    total = [sum(column) for column in zip(*counted.values(), strict=True)]
    return f"{', '.join(parts)}; {_share(*total)} over all"


def _share(failed: int, total: int) -> str:
    return f"{failed / total:.1%}" if total else "nobody"


def check_losses(
    console: rich_console.Console,
    scenario: definitions.TrafficScenario,
    users: Sequence[ProbeClient],
) -> bool:
    """Say what was lost; whether nothing was but what the bad version itself failed."""
    total = sum(user.load.tally.answered for user in users)
    failed = sum(user.load.tally.failed for user in users)
    by_version = sum(
        counted.count
        for user in users
        for kind, counted in user.load.tally.answers.items()
        if kind.status >= 400 and kind.version and kind.version == scenario.bad_version
    )
    lost = failed - by_version
    console.print(f"{total} requests were sent during the release, {failed / total:.2%} failed")
    if scenario.bad_version:
        console.print(
            f"  {by_version} by {scenario.bad_version} itself, {lost} were lost on the way"
        )
        console.print(f"  {scenario.bad_version} failed {_failures(users, scenario.bad_version)}")
    for probe_client in users:
        for at, text in probe_client.load.tally.failures[:2]:
            if lost:
                console.print(f"  {probe_client.cluster} after {at:.1f} s: {text}", markup=False)
    if skipped := sum(user.load.tally.skipped for user in users):
        console.print(f"  {skipped} more were due while this computer was busy, and not sent")
    return not lost
