"""Requests at a fixed rate, and who answered how."""

import asyncio
import json as text
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich import box, console, markup, table

from kube_sandbox import errors, json
from kube_sandbox.cli import terminal
from kube_sandbox.dataplane import address_file, load
from kube_sandbox.dataplane.servers import counters

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_LENGTHS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    host: str
    clusters: str
    rate: float
    duration: str
    path: str
    headers: tuple[str, ...]
    directory: str
    as_json: bool


async def run(options: Options) -> int:
    """Send, count, show; 0 when every request got a good answer."""
    chosen = _chosen(options, address_file.read(Path(options.directory)).gateways)
    seconds = _seconds(options.duration)
    aims = {
        name: load.Aim(url, options.host, options.path, _headers(options)) for name, url in chosen
    }
    loads = {name: load.Load(aim, rate=options.rate) for name, aim in aims.items()}
    async with asyncio.TaskGroup() as group:
        for each in loads.values():
            group.create_task(each.run(seconds=seconds))
    tallies = {name: each.tally for name, each in loads.items()}
    if options.as_json:
        counted = {name: _as_json(tally) for name, tally in tallies.items()}
        sys.stdout.write(text.dumps(counted) + "\n")
    else:
        _show(tallies)
    good = all(not each.failed and not each.skipped for each in tallies.values())
    return terminal.DONE if good else terminal.FAILED


def _chosen(options: Options, gateways: Mapping[str, str]) -> list[tuple[str, str]]:
    names = (
        [each.strip() for each in options.clusters.split(",")]
        if options.clusters
        else list(gateways)
    )
    unknown = [each for each in names if each not in gateways]
    if unknown:
        raise errors.UserError(
            f"no cluster {unknown[0]!r} in {options.directory}",
            hint=f"one of {', '.join(gateways)}",
        )
    return [(name, gateways[name]) for name in names]


def _seconds(duration: str) -> float:
    parts = _DURATION.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise errors.UserError(
            f"--for {duration!r} is not a duration", hint="write it as 90s, 10m or 1h30m"
        )
    total = sum(float(number) * _LENGTHS[unit] for number, unit in parts)
    if not total:
        raise errors.UserError("--for must be longer than nothing")
    return total


def _headers(options: Options) -> dict[str, str]:
    found = {}
    for each in options.headers:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            raise errors.UserError(f"{each!r} is not NAME:VALUE", hint="such as 'x-user: ana'")
        found[name.strip().lower()] = value.strip()
    return found


def _as_json(tally: load.Tally) -> json.JsonObject:
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
                "p50Milliseconds": _milliseconds(counted.quantile(0.5)),
                "p99Milliseconds": _milliseconds(counted.quantile(0.99)),
            }
            for kind, counted in _sorted(tally)
        ],
        "failures": list(dict.fromkeys(said for _, said in tally.failures)),
    }


def _milliseconds(seconds: float | None) -> float | None:
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
                markup.escape(terminal.printable(kind.version)) or "-",
                markup.escape(terminal.printable(kind.variant)) or "-",
                str(kind.status or "none"),
                str(counted.count),
                f"{counted.count / tally.answered:.1%}",
                f"{_milliseconds(counted.quantile(0.5)):g}",
                f"{_milliseconds(counted.quantile(0.99)):g}",
            )
    out = console.Console(highlight=False, soft_wrap=True)
    out.print(shown)
    for name, tally in tallies.items():
        line = f"{name}: {tally.sent} requests, {tally.failed} failed"
        if tally.skipped:
            line += f", {tally.skipped} not sent: too many were under way"
        out.print(line)
        for at, said in tally.failures[:3]:
            out.print(f"  after {at:.1f} s: {markup.escape(terminal.printable(said))}")
