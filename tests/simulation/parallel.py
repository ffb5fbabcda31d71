"""Plays in processes of their own: forked, so that nothing is imported, or made, again.

Nothing of what a play changes stays behind in the process that asks for it.
"""

import functools
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from typing import TypeVar

from simulation import plays, sources, world

Result = TypeVar("Result")
#: What a forked process has inherited: opened, and with all that was read of it.
_SOURCES: list[sources.Source] = []


@dataclass(frozen=True, slots=True)
class Played:
    """What became of the world of a seed."""

    seed: int
    #: Seconds of a processor.
    took: float
    #: Why it failed, with what happened; empty: it did not.
    failure: str = ""
    #: What happened, and what tells it from every other.
    notes: tuple[str, ...] = ()
    digest: str = ""
    #: How much was done, and checked.
    counts: Counter[str] = field(default_factory=Counter)


def apart(function: Callable[[sources.Source], Result], source: sources.Source) -> Result:
    """Call a function in a process of its own."""
    with _pool(1, source) as pool:
        return pool.submit(_call, function).result()


def play_all(seeds: Sequence[int], source: sources.Source, jobs: int) -> Iterator[Played]:
    """Play seeds in as many processes, and say of each what became of it, in their order."""
    if jobs == 1:
        for seed in seeds:
            yield play_one(seed, source)
        return
    with _pool(jobs, source) as pool:
        try:
            for work in [pool.submit(_call, functools.partial(play_one, seed)) for seed in seeds]:
                yield work.result()
        finally:
            pool.shutdown(cancel_futures=True)


def play_one(seed: int, source: sources.Source) -> Played:
    """Play one seed; what fails is said, and not raised."""
    began = time.process_time()
    try:
        given = plays.play(seed, source)
    except Exception:  # noqa: BLE001 (said, and the next one is played)
        return Played(seed, time.process_time() - began, traceback.format_exc())
    took = time.process_time() - began
    return Played(seed, took, "", tuple(given.notes), given.digest, _counts(given))


def _counts(given: world.World) -> Counter[str]:
    seen = given.witness
    return Counter(
        {
            "steps of the loop": given.loop.steps,
            "kills": given.kills,
            "take-overs": max(len(seen.terms) - 1, 0),
            "steps of runs": sum(run.version for run in seen.runs.values()),
            "writes to clusters": len(seen.writes),
            "requests": len(seen.requests),
        }
    )


def _pool(jobs: int, source: sources.Source) -> futures.ProcessPoolExecutor:
    forking = multiprocessing.get_context("fork")
    return futures.ProcessPoolExecutor(jobs, forking, _SOURCES.append, (source,))


def _call(function: Callable[[sources.Source], Result]) -> Result:
    """Call a function with what this process has inherited."""
    return function(_SOURCES[-1])
