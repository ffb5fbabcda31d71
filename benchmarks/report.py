"""Writes the findings down: ``about.md`` is the text, its ``{{names}}`` are filled with tables."""

import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import aims, applying, engines, objects, running, starting, usage

_ABOUT = Path(__file__).parent / "about.md"
_PLACE = re.compile(r"\{\{(\w+)\}\}")

#: Cells of a table.
Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was measured in one run."""

    quick: bool
    #: Load of the machine before it began, over one minute.
    load: float
    started: starting.Measured
    engines: Sequence[engines.Measured]
    applied: Sequence[applying.Measured]
    runs: Sequence[running.Measured]


def render(findings: Findings) -> str:
    """Return the page."""
    judged = aims.judge(findings.applied, findings.engines, findings.started)
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "aims": lambda: _aims(judged),
        "wall": lambda: _ratios(findings.applied, lambda used: used.wall),
        "cpu": lambda: _ratios(findings.applied, lambda used: used.cpu),
        "objects": lambda: _per_object(findings.applied),
        "runs": lambda: _runs(findings),
        "engine": lambda: _engine(findings.engines),
        "sandbox": lambda: _sandbox(findings),
    }

    return fill(_ABOUT, _facts(findings), parts)


def fill(about: Path, facts: str, parts: Mapping[str, Callable[[], Iterator[Row]]]) -> str:
    """Return a text with its facts and its tables in their places.

    Raises:
        KeyError: The text has a place that nothing was measured for.
    """

    def fill_place(place: re.Match[str]) -> str:
        name = place.group(1)
        return facts if name == "facts" else _table(list(parts[name]()))

    return _PLACE.sub(fill_place, about.read_text())


def _facts(findings: Findings) -> str:
    kind = "a quick run (`--quick`)" if findings.quick else "a full run"
    return (
        f"Measured by {kind} on {os.cpu_count()} cores, {platform.system()}, Python"
        f" {platform.python_version()}. Other work on the machine before it began: a load of"
        f" {findings.load:.1f}; the more there is, the less wall times say."
    )


def _table(rows: Sequence[Row]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _aims(judged: Sequence[aims.Judged]) -> Iterator[Row]:
    yield "Work", "Against", "Aim", "Measured", ""
    for each in judged:
        verdict = "met" if each.met else "**not met**"
        yield each.work, each.against, each.aim, each.measured, verdict


def _ratios(
    applied: Sequence[applying.Measured], of: Callable[[usage.Usage], float]
) -> Iterator[Row]:
    """Floors as Volary's share of them; kubectl as so many times Volary."""
    yield (
        "Clusters",
        "Pass",
        "Volary ÷ bare writes",
        "Volary ÷ bare tries and writes",
        "kubectl per cluster ÷ Volary",
        "kubectl per object ÷ Volary",
    )
    for measured in applied:
        for when in applying.PASSES:
            ours = measured.of(applying.VOLARY, when)
            if ours is None:
                continue
            floors = [measured.of(name, when) for name in (applying.FLOOR, applying.TWICE)]
            others = [measured.of(name, when) for name in (applying.DIRECTORY, applying.EACH)]
            yield (
                str(measured.size),
                when,
                *(f"{of(ours) / of(each):.2f}" if each else "–" for each in floors),
                *(f"{of(each) / of(ours):.1f}" if each else "–" for each in others),
            )


def _per_object(applied: Sequence[applying.Measured]) -> Iterator[Row]:
    names = (
        applying.VOLARY,
        applying.FLOOR,
        applying.TWICE,
        applying.DIRECTORY,
        applying.EACH,
    )
    titles = ("Volary", "bare writes", "bare tries and writes", "kubectl per cluster")
    yield "Clusters", "Pass", *titles, "kubectl per object"
    for measured in applied:
        count = measured.size.clusters * objects.TOTAL
        for when in applying.PASSES:
            every = [measured.of(name, when) for name in names]
            yield (
                str(measured.size),
                when,
                *(f"{each.cpu / count * 1000:.2f}" if each else "–" for each in every),
            )


def _runs(findings: Findings) -> Iterator[Row]:
    python = findings.started.python
    yield "Clusters", "Run", "Peak memory", "÷ `python -c pass`", "CPU ÷ that of one cluster"
    base = findings.runs[0]
    for measured in findings.runs:
        for when in applying.PASSES:
            used: usage.Usage = getattr(measured, when)
            one: usage.Usage = getattr(base, when)
            yield (
                str(measured.clusters),
                when,
                f"{used.peak:.0f} MiB",
                f"{used.peak / python.peak:.1f}",
                f"{used.cpu / one.cpu:.1f}",
            )


def _engine(measured: Sequence[engines.Measured]) -> Iterator[Row]:
    yield "Runs", "Clusters", "Tasks", "CPU per task", "÷ bare asyncio tasks", "Peak memory"
    for each in measured:
        yield (
            str(each.runs),
            str(each.clusters),
            f"{each.tasks:,}",
            f"{each.per_task:.2f} ms",
            f"{each.engine.cpu / each.floor.cpu:.0f}",
            f"{each.engine.peak:.0f} MiB",
        )


def _sandbox(findings: Findings) -> Iterator[Row]:
    python = findings.started.python
    yield (
        "Clusters",
        "Start ÷ `python -c pass`",
        "Memory idle",
        "Memory per cluster, idle",
        "Memory after the measurements",
    )
    for measured in findings.applied:
        start = measured.start
        idle = (start.peak - python.peak) / measured.size.clusters
        yield (
            str(measured.size),
            f"{start.wall / python.wall:.0f}",
            f"{start.peak:.0f} MiB",
            f"{idle:.1f} MiB",
            f"{measured.full:.0f} MiB",
        )
