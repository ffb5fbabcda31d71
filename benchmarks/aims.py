"""The aims, and whether they are met; the measured worst case decides."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks import applying, engines, starting, usage

_PER_FLOOR = 1.3
_PER_OBJECT_WALL, _PER_OBJECT_CPU = 20.0, 50.0
_PER_TASK, _MEMORY = 1.0, 1024.0
#: CPU per task at the largest size may be so many times that at the smallest, to be linear.
_LINEAR = 1.5
_HELP = 0.3

Figure = Callable[[usage.Usage], float]


@dataclass(frozen=True, slots=True)
class Judged:
    """One aim beside what was measured."""

    work: str
    against: str
    aim: str
    measured: str
    met: bool


def judge(
    applied: Sequence[applying.Measured],
    engine: Sequence[engines.Measured],
    started: starting.Measured,
) -> list[Judged]:
    """Return every aim that could be judged, in the order of the design."""
    found: list[Judged] = []
    for when in applying.PASSES:
        found += _floors(applied, when)
    for when in applying.PASSES:
        found += _kubectl(applied, when)
    found += _engine(engine)
    found.append(
        Judged(
            "`volary --help`",
            "`python -c pass`",
            f"≤ {_HELP} s more",
            f"{started.more:.2f} s more",
            started.more <= _HELP,
        )
    )
    return found


def _floors(applied: Sequence[applying.Measured], when: str) -> Iterator[Judged]:
    named = (
        (applying.FLOOR, "bare writes"),
        (applying.TWICE, "bare tries and writes, Volary's own requests"),
    )
    # What is unchanged is not tried: there only the writes are a floor.
    for name, against in named if when == "first" else named[:1]:
        wall = _worst(applied, when, name, lambda used: used.wall)
        cpu = _worst(applied, when, name, lambda used: used.cpu)
        if wall and cpu:
            yield Judged(
                f"apply, {when}",
                against,
                f"≤ {_PER_FLOOR} × wall and CPU",
                f"{wall:.2f} × wall, {cpu:.2f} × CPU",
                max(wall, cpu) <= _PER_FLOOR,
            )


def _kubectl(applied: Sequence[applying.Measured], when: str) -> Iterator[Judged]:
    wall = _worst(applied, when, applying.DIRECTORY, lambda used: used.wall)
    if wall:
        measured = f"{1 / wall:.1f} × faster"
        yield Judged(f"apply, {when}", "kubectl per cluster", "faster", measured, wall < 1)
    wall = _worst(applied, when, applying.EACH, lambda used: used.wall)
    cpu = _worst(applied, when, applying.EACH, lambda used: used.cpu)
    if wall and cpu:
        yield Judged(
            f"apply, {when}",
            "kubectl per object",
            f"≥ {_PER_OBJECT_WALL:.0f} × faster, ≥ {_PER_OBJECT_CPU:.0f} × less CPU",
            f"{1 / wall:.0f} × faster, {1 / cpu:.0f} × less CPU",
            1 / wall >= _PER_OBJECT_WALL and 1 / cpu >= _PER_OBJECT_CPU,
        )


def _worst(
    applied: Sequence[applying.Measured], when: str, other: str, figure: Figure
) -> float | None:
    """Return Volary's largest share of another's figure; None when nothing was measured."""
    pairs = [(each.of(applying.VOLARY, when), each.of(other, when)) for each in applied]
    return max((figure(ours) / figure(them) for ours, them in pairs if ours and them), default=None)


def _engine(measured: Sequence[engines.Measured]) -> Iterator[Judged]:
    if not measured:
        return
    shares = [each.per_task for each in measured]
    peak = max(each.engine.peak for each in measured)
    ordered = sorted(measured, key=lambda each: each.tasks)
    growth = ordered[-1].per_task / ordered[0].per_task
    yield Judged(
        "engine with empty stages",
        "–",
        f"≤ {_PER_TASK:.0f} ms CPU per task, ≤ 1 GiB, linear",
        f"{max(shares):.2f} ms, {peak:.0f} MiB, {growth:.1f} × as much at the largest size",
        max(shares) <= _PER_TASK and peak <= _MEMORY and growth <= _LINEAR,
    )
