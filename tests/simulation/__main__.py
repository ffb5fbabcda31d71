"""``PYTHONPATH=tests:sandbox/tests python -m simulation 7`` prints what happens with seed 7.

With several seeds, ``1-1000``, it plays them in as many processes as there are processors
(``--jobs``), says how far it is, what happened for those that fail and how to play one of them
again, and in the end how much was done in all worlds together.

``--mutation NAME`` makes a mistake in the product before (`mutations`), and plays seeds until one
notices it; with seeds, all of them. ``--mutation all`` asks that each mistake is noticed.
"""

import argparse
import functools
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simulation import mutations, parallel, plays, sources

#: Seconds between two lines that say how far it is.
_PAUSE = 10.0
_AGAIN = "PYTHONPATH=tests:sandbox/tests python -m simulation"


def main(arguments: Sequence[str]) -> int:
    """Play seeds; returns 0 when none fails, or when one notices the mistake."""
    parser = argparse.ArgumentParser(prog="simulation")
    parser.add_argument("seeds", nargs="?", default="")
    parser.add_argument("--mutation", choices=["all", *sorted(mutations.MUTATIONS)])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args(arguments)
    seeds = list(plays.parse_seeds(chosen.seeds)) if chosen.seeds else []
    if not seeds and not chosen.mutation:
        parser.error("which seeds?")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as directory:
        source = plays.make_source(Path(directory))
        if chosen.mutation == "all":
            return _mutate_all(source)
        if chosen.mutation:
            return _mutate(chosen.mutation, seeds, source)
        return _play(seeds, source, min(max(chosen.jobs, 1), len(seeds)))


def _mutate(name: str, seeds: Sequence[int], source: sources.Source) -> int:
    """Make a mistake, and play seeds, or until one notices it."""
    hits: list[mutations.Trial] = []
    for trial in mutations.attempts(name, source, seeds):
        _say(str(trial))
        hits += [trial] if trial.is_noticed else []
        if hits and not seeds:
            break
    cheapest = min(hits, key=lambda trial: trial.took).seed if hits else "none"
    _say(
        f"{len(hits)} seeds notice {name}: {mutations.MUTATIONS[name].noticed}; soonest {cheapest}"
    )
    return 0 if hits else 1


def _mutate_all(source: sources.Source) -> int:
    """Make each mistake in a process of its own; returns how many nobody notices."""
    missed = 0
    # What is compiled and opened for a world serves those of the forked processes.
    plays.play(1, source)
    for name in mutations.MUTATIONS:
        trial = parallel.apart(functools.partial(mutations.first, name), source)
        missed += trial is None
        _say(f"{name}: {trial or 'NOBODY NOTICES IT'}")
        if trial and trial.seed != mutations.MUTATIONS[name].seed:
            _say(f"{name}: write down seed={trial.seed}, so that it is looked for there first")
    return missed


def _play(seeds: Sequence[int], source: sources.Source, jobs: int) -> int:
    failed: list[int] = []
    done: Counter[str] = Counter()
    took, told = 0.0, time.monotonic()
    for position, played in enumerate(parallel.play_all(seeds, source, jobs), 1):
        took += played.took
        done += played.counts
        if played.failure:
            failed.append(played.seed)
            _say(f"{played.failure}\nseed {played.seed} failed; again: {_AGAIN} {played.seed}")
        elif len(seeds) == 1:
            _say("\n".join(played.notes))
            _say(f"seed {played.seed}: {played.digest}")
        if time.monotonic() - told > _PAUSE:
            told = time.monotonic()
            _say(f"{position} of {len(seeds)} played, {len(failed)} failed")
    summary = ", ".join(f"{number} {what}" for what, number in done.items())
    _say(f"{len(seeds)} seeds in {took:.1f} s of CPU, {took / len(seeds):.2f} s each: {summary}")
    _say(f"{len(failed)} of {len(seeds)} failed" + (f": {failed}" if failed else ""))
    for seed in failed:
        _say(f"again: {_AGAIN} {seed}")
    return 1 if failed else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
