"""The demo's users: they ask all the time, and remember who answered how."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box, table
from rich import console as rich_console

from kube_sandbox.dataplane import load
from kube_sandbox.dataplane.servers import counters
from volary.cli import traffic_stories


@dataclass(frozen=True, slots=True)
class Asking:
    """One group of users of one cluster."""

    cluster: str
    group: str
    load: load.Load


def ready(story: traffic_stories.TrafficStory, urls: Mapping[str, str]) -> list[Asking]:
    """Return the users of a story; they ask once `ask` runs."""
    return [
        Asking(
            name,
            group.name,
            load.Load(
                load.Aim(url, story.host, headers=group.headers),
                rate=group.rates.get(name, group.rate),
            ),
        )
        for name, url in urls.items()
        for group in story.groups
    ]


async def ask(users: Sequence[Asking]) -> None:
    """Ask until cancelled, and wait for the answers that are under way then."""
    async with asyncio.TaskGroup() as group:
        for each in users:
            group.create_task(each.load.run())


async def answered(story: traffic_stories.TrafficStory, urls: Mapping[str, str]) -> None:
    """Wait until every proxy has found the way to the first version.

    Raises:
        TimeoutError: One does not.
    """
    async with asyncio.timeout(20):
        for url in urls.values():
            while True:
                tally = await load.Load(load.Aim(url, story.host), rate=20).run(count=4)
                if not tally.failed:
                    break


def show(console: rich_console.Console, users: Sequence[Asking]) -> None:
    """Print who was answered by which version, and how."""
    shown = table.Table(box=box.SIMPLE, title="what users met during the release")
    grouped = len({each.group for each in users}) > 1
    for title in ("cluster", *(("group",) if grouped else ()), "version", "answer"):
        shown.add_column(title)
    for title in ("requests", "share", "p99 ms"):
        shown.add_column(title, justify="right")
    for each in users:
        for (version, status), counted in sorted(_outcomes(each.load.tally).items()):
            slowest = counted.quantile(0.99) or 0.0
            shown.add_row(
                each.cluster,
                *((each.group,) if grouped else ()),
                version or "-",
                "good" if status == 200 else str(status or "none"),
                str(counted.count),
                f"{counted.count / each.load.tally.answered:.1%}",
                f"{slowest * 1000:.1f}",
            )
    console.print(shown)


def _outcomes(tally: load.Tally) -> dict[tuple[str, int], counters.Histogram]:
    found: dict[tuple[str, int], counters.Histogram] = {}
    for kind, counted in tally.answers.items():
        key = (kind.version, kind.status)
        found.setdefault(key, counters.Histogram()).include(counted)
    return found


def _failures(users: Sequence[Asking], version: str) -> str:
    """Say how often a version failed in each cluster, and over all of them."""
    counted: dict[str, list[int]] = {}
    for each in users:
        found = counted.setdefault(each.cluster, [0, 0])
        for kind, durations in each.load.tally.answers.items():
            if kind.version == version:
                found[0] += durations.count if kind.status >= 400 else 0
                found[1] += durations.count
    parts = [f"{_share(*found)} in {name}" for name, found in counted.items()]
    total = [sum(column) for column in zip(*counted.values(), strict=True)]
    return f"{', '.join(parts)}; {_share(*total)} over all"


def _share(failed: int, total: int) -> str:
    return f"{failed / total:.1%}" if total else "nobody"


def judge(
    console: rich_console.Console,
    story: traffic_stories.TrafficStory,
    users: Sequence[Asking],
) -> bool:
    """Say what was lost; whether nothing was but what the bad version itself failed."""
    total = sum(each.load.tally.answered for each in users)
    failed = sum(each.load.tally.failed for each in users)
    by_version = sum(
        counted.count
        for each in users
        for kind, counted in each.load.tally.answers.items()
        if kind.status >= 400 and kind.version and kind.version == story.bad_version
    )
    lost = failed - by_version
    console.print(f"{total} requests were sent during the release, {failed / total:.2%} failed")
    if story.bad_version:
        console.print(f"  {by_version} by {story.bad_version} itself, {lost} were lost on the way")
        console.print(f"  {story.bad_version} failed {_failures(users, story.bad_version)}")
    for each in users:
        for at, text in each.load.tally.failures[:2]:
            if lost:
                console.print(f"  {each.cluster} after {at:.1f} s: {text}", markup=False)
    skipped = sum(each.load.tally.skipped for each in users)
    return not lost and not skipped
