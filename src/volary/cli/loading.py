"""``volary sandbox load``: requests at a fixed rate, and who answered how."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich import box, markup, table

from volary.cli import console, durations, exits
from volary.model import errors, json
from volary.sandbox.dataplane import counters, load, places


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    host: str
    clusters: str
    rate: float
    duration: str
    path: str
    headers: tuple[str, ...]
    directory: str
    as_json: bool


async def run(wish: Wish) -> int:
    """Send, count, show; 0 when every request got a good answer."""
    chosen = _chosen(wish, places.read(Path(wish.directory)).gateways)
    seconds = durations.parse(wish.duration, option="--for").total_seconds()
    aims = {name: load.Aim(url, wish.host, wish.path, _headers(wish)) for name, url in chosen}
    loads = {name: load.Load(aim, rate=wish.rate) for name, aim in aims.items()}
    async with asyncio.TaskGroup() as group:
        for each in loads.values():
            group.create_task(each.run(seconds=seconds))
    tallies = {name: each.tally for name, each in loads.items()}
    if wish.as_json:
        console.write_json({name: as_json(tally) for name, tally in tallies.items()})
    else:
        _show(tallies)
    good = all(not each.failed and not each.skipped for each in tallies.values())
    return exits.Exit.DONE if good else exits.Exit.FAILED


def _chosen(wish: Wish, gateways: Mapping[str, str]) -> list[tuple[str, str]]:
    names = [each.strip() for each in wish.clusters.split(",")] if wish.clusters else list(gateways)
    unknown = [each for each in names if each not in gateways]
    if unknown:
        raise errors.user_error(
            f"no cluster {unknown[0]!r} in {wish.directory}", hint=f"one of {', '.join(gateways)}"
        )
    return [(name, gateways[name]) for name in names]


def _headers(wish: Wish) -> dict[str, str]:
    found = {}
    for each in wish.headers:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            raise errors.user_error(f"{each!r} is not NAME:VALUE", hint="such as 'x-user: ana'")
        found[name.strip().lower()] = value.strip()
    return found


def as_json(tally: load.Tally) -> json.JsonObject:
    """A tally as it is printed with ``--output json``."""
    return {
        "sent": tally.sent,
        "failed": tally.failed,
        "notSent": tally.skipped,
        "answers": [
            {
                "version": kind.version,
                "variant": kind.variant,
                "status": kind.status,
                "requests": counted.count,
                "p50Milliseconds": milliseconds(counted.quantile(0.5)),
                "p99Milliseconds": milliseconds(counted.quantile(0.99)),
            }
            for kind, counted in _sorted(tally)
        ],
        "failures": list(dict.fromkeys(text for _, text in tally.failures)),
    }


def milliseconds(seconds: float | None) -> float | None:
    """A duration in milliseconds, to a hundredth."""
    return None if seconds is None else round(seconds * 1000, 2)


def _sorted(tally: load.Tally) -> list[tuple[load.Kind, counters.Histogram]]:
    return sorted(
        tally.answers.items(), key=lambda each: (each[0].version, each[0].variant, each[0].status)
    )


def _show(tallies: Mapping[str, load.Tally]) -> None:
    shown = table.Table(box=box.SIMPLE)
    for title in ("cluster", "version", "variant", "status"):
        shown.add_column(title)
    for title in ("requests", "share", "p50 ms", "p99 ms"):
        shown.add_column(title, justify="right")
    for name, tally in tallies.items():
        for kind, counted in _sorted(tally):
            shown.add_row(
                name,
                kind.version or "-",
                kind.variant or "-",
                str(kind.status or "none"),
                str(counted.count),
                f"{counted.count / tally.answered:.1%}",
                f"{milliseconds(counted.quantile(0.5)):g}",
                f"{milliseconds(counted.quantile(0.99)):g}",
            )
    out = console.data()
    out.print(shown)
    for name, tally in tallies.items():
        line = f"{name}: {tally.sent} requests, {tally.failed} failed"
        if tally.skipped:
            line += f", {tally.skipped} not sent: too many were under way"
        out.print(line)
        for at, text in tally.failures[:3]:
            out.print(f"  after {at:.1f} s: {markup.escape(text)}")
