"""The section about the long-lived server: what is measured for it, and how it is written down."""

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import application_load, durable, listing, report

_ABOUT = Path(__file__).parent / "about_server.md"
_BEGIN, _END = "<!-- server -->", "<!-- end of server -->"
#: Runs and clusters; the tasks of one run come together.
_SIZES = ((100, 10), (100, 100), (10, 1000))
_QUICK_SIZES = ((10, 10), (10, 100))
_PER_TASK, _MEMORY, _LINEAR = 1.0, 1024.0, 1.5


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was measured of a server."""

    #: Load of the machine before it began, over one minute.
    load: float
    durable: Sequence[durable.Measured]
    application_load: application_load.Measured
    lists: listing.Measured


def measure(say: Callable[[str], None], *, quick: bool) -> Findings:
    """Measure; some minutes, or one when `quick`."""
    load = os.getloadavg()[0]
    found = []
    for database in (durable.SQLITE, durable.POSTGRES):
        for runs, clusters in _QUICK_SIZES if quick else _SIZES:
            measured = durable.measure(database, runs, clusters)
            if measured is None:
                say(f"{database}: not installed")
                break
            say(
                f"{database}, {runs} runs on {clusters} clusters: {measured.per_task:.2f} ms a task"
            )
            found.append(measured)
    many = application_load.measure(100 if quick else 1000, idle_seconds=10 if quick else 60)
    say(f"{many.applications} applications: planned after {many.planned.wall:.0f} s")
    lists = listing.measure(5 if quick else 20)
    say(f"lists: {lists.cpu:.0f} ms of CPU a page")
    return Findings(load, found, many, lists)


def place(page: str, findings: Findings) -> str:
    """Return the page with its section about the server replaced, or added at the end."""
    section = f"{_BEGIN}\n{render(findings)}{_END}"
    before, begin, rest = page.partition(_BEGIN)
    if not begin:
        return f"{page.rstrip()}\n\n{section}\n"
    _, _, after = rest.partition(_END)
    return f"{before}{section}{after}"


def render(findings: Findings) -> str:
    """Return the section."""
    parts: dict[str, Callable[[], Iterator[report.Row]]] = {
        "aims": lambda: _aims(findings),
        "durable": lambda: _durable(findings.durable),
        "application_load": lambda: _application_load(findings.application_load),
        "lists": lambda: _lists(findings.lists),
    }

    return report.fill(_ABOUT, _facts(findings), parts)


def _facts(findings: Findings) -> str:
    return (
        f"Measured on {os.cpu_count()} cores, {platform.system()}, Python"
        f" {platform.python_version()}; load of other work before it began: {findings.load:.1f}."
    )


def _aims(findings: Findings) -> Iterator[report.Row]:
    yield "Work", "Aim", "Measured", ""
    for database in dict.fromkeys(each.database for each in findings.durable):
        found = [each for each in findings.durable if each.database == database]
        worst = max(each.per_task for each in found)
        peak = max(each.used.peak for each in found)
        growth = found[-1].per_task / found[0].per_task
        met = worst <= _PER_TASK and peak <= _MEMORY and growth <= _LINEAR
        yield (
            f"engine on {database}, stages that do nothing",
            "≤ 1 ms CPU per task, ≤ 1 GiB, linear from 10 to 1000 clusters",
            f"{worst:.2f} ms, {peak:.0f} MiB, {growth:.1f} × as much per task at the most clusters",
            "met" if met else "**not met**",
        )
    many = findings.application_load
    yield (
        f"a commit that changes {many.applications:,} applications of one repository",
        "1 fetch",
        f"{many.fetches}",
        "met" if many.fetches == 1 else "**not met**",
    )


def _durable(found: Sequence[durable.Measured]) -> Iterator[report.Row]:
    yield (
        "Database",
        "Runs",
        "Clusters",
        "Tasks",
        "CPU per task",
        "Transactions",
        "Peak memory",
        "Database afterwards",
    )
    for each in found:
        yield (
            each.database,
            str(each.runs),
            str(each.clusters),
            f"{each.tasks:,}",
            f"{each.per_task:.2f} ms",
            f"{each.steps:,}",
            f"{each.used.peak:.0f} MiB",
            f"{each.size:.0f} MiB" if each.size else "–",
        )


def _application_load(many: application_load.Measured) -> Iterator[report.Row]:
    yield "Applications", "Figure", "Measured"
    count = f"{many.applications:,}"
    yield count, "commit until all runs are planned", f"{many.planned.wall:.0f} s"
    per = many.planned.cpu / many.applications * 1000
    yield count, "CPU of it, per application", f"{per:.0f} ms"
    yield count, "commit until it runs everywhere", f"{many.done.wall:.0f} s"
    yield count, "fetches", str(many.fetches)
    yield count, "peak memory", f"{many.done.peak:.0f} MiB"
    yield count, "CPU per minute when nothing happens", f"{many.idle_per_minute:.2f} s"


def _lists(lists: listing.Measured) -> Iterator[report.Row]:
    yield (
        "List",
        "A page of 500, p50",
        "p99",
        "The whole list, p50",
        "p99",
    )
    for each in lists.lists:
        yield (
            f"{each.items:,} {each.noun}",
            f"{each.page_median:.0f} ms",
            f"{each.page_slowest:.0f} ms",
            f"{each.median / 1000:.1f} s",
            f"{each.slowest / 1000:.1f} s",
        )
