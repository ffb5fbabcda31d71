"""``PYTHONPATH=tests:sandbox/tests python -m simulation 7`` prints what happens with seed 7.

With several seeds, ``1-1000``, it says how far it is, what happened for those that fail and how to
play one of them again, and in the end how much was done in all worlds together.

``--mutation NAME`` makes a mistake in the product before (`mutations`), and plays seeds until one
notices it; with seeds, all of them.
"""

import argparse
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from simulation import mutations, plays, sources, world

#: Seconds between two lines that say how far it is.
_PAUSE = 10.0
_AGAIN = "PYTHONPATH=tests:sandbox/tests python -m simulation"
#: Where a mistake is looked for once its own seed does not lead to it any more: a seed makes
#: another world when the product does something else, or one thing more.
_OTHERS = range(1, 41)


def main(arguments: Sequence[str]) -> int:
    """Play seeds; returns 0 when none fails, or when one notices the mistake."""
    parser = argparse.ArgumentParser(prog="simulation")
    parser.add_argument("seeds", nargs="?", default="")
    parser.add_argument("--mutation", choices=sorted(mutations.MUTATIONS))
    chosen = parser.parse_args(arguments)
    if not chosen.seeds and not chosen.mutation:
        parser.error("which seeds?")
    logging.disable(logging.CRITICAL)
    seeds = list(plays.parse_seeds(chosen.seeds)) if chosen.seeds else []
    with tempfile.TemporaryDirectory() as directory:
        source = plays.make_source(Path(directory))
        if chosen.mutation:
            return _mutate(chosen.mutation, seeds, source)
        return _play(seeds, source)


def _mutate(name: str, seeds: Sequence[int], source: sources.Source) -> int:
    """Make a mistake, and play seeds, or until one notices it."""
    mutation, hits = mutations.MUTATIONS[name], 0
    with pytest.MonkeyPatch.context() as patch:
        mutation.make(patch)
        for seed in seeds or (mutation.seed, *_OTHERS):
            try:
                plays.play(seed, source)
            except Exception as error:  # noqa: BLE001 (whatever it leads to)
                hits += (is_noticed := mutation.noticed in str(error))
                _say(f"seed {seed} {'notices it' if is_noticed else 'fails'}: {error}")
                if is_noticed and not seeds:
                    break
            else:
                _say(f"seed {seed} notices nothing")
    _say(f"{hits} seeds notice {name}: {mutation.noticed}")
    return 0 if hits else 1


def _play(seeds: Sequence[int], source: sources.Source) -> int:
    failed: list[int] = []
    done: Counter[str] = Counter()
    began, told = time.process_time(), time.monotonic()
    for position, seed in enumerate(seeds, 1):
        try:
            given = plays.play(seed, source)
        except Exception:  # noqa: BLE001 (printed, and the next one is played)
            failed.append(seed)
            traceback.print_exc()
            _say(f"seed {seed} failed; again: {_AGAIN} {seed}")
            continue
        done += _counts(given)
        if len(seeds) == 1:
            _say("\n".join(given.notes))
            _say(f"seed {seed}: {given.digest}")
        if time.monotonic() - told > _PAUSE:
            told = time.monotonic()
            _say(f"{position} of {len(seeds)} played, {len(failed)} failed")
    took = time.process_time() - began
    summary = ", ".join(f"{number} {what}" for what, number in done.items())
    _say(f"{len(seeds)} seeds in {took:.0f} s of CPU: {summary}")
    _say(f"{len(failed)} of {len(seeds)} failed" + (f": {failed}" if failed else ""))
    return 1 if failed else 0


def _counts(given: world.World) -> Counter[str]:
    """Return how much was done, and checked, in one world."""
    seen = given.witness
    return Counter(
        {
            "steps of the loop": given.loop.steps,
            "kills": given.kills,
            "take-overs": len(seen.terms) - 1,
            "steps of runs": sum(run.version for run in seen.runs.values()),
            "writes to clusters": len(seen.writes),
            "requests": len(seen.requests),
        }
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
