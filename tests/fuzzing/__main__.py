"""``PYTHONPATH=tests:sandbox/tests python -m fuzzing`` has every parser read broken input.

``--inputs 300`` of each are always read, however long that takes, so a verdict is the same on
every machine; with ``--seconds``, more are until they are over. ``--first 1001`` begins at another
seed. Each fault is printed with its seed: ``python -m fuzzing kubeconfig:17`` reads that input
again, and ``--show`` prints it.
"""

import argparse
import logging
import shlex
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence

from fuzzing import parsers, trials

_AGAIN = "PYTHONPATH=tests:sandbox/tests python -m fuzzing"
#: Faults of one parser that are printed.
_MOST = 5


def main(arguments: Sequence[str]) -> int:
    """Read inputs; returns 0 when there is no fault."""
    asked = argparse.ArgumentParser(prog="fuzzing")
    asked.add_argument("again", nargs="*", metavar="PARSER[:SEED]")
    asked.add_argument("--inputs", type=int, default=300)
    asked.add_argument("--seconds", type=float, default=0)
    asked.add_argument("--first", type=int, default=1)
    asked.add_argument("--show", action="store_true")
    chosen = asked.parse_args(arguments)
    known = {parser.name: parser for parser in parsers.all_parsers()}
    if unknown := [name for name in chosen.again if name.partition(":")[0] not in known]:
        asked.error(f"there is no {', '.join(unknown)}; there are: {', '.join(known)}")
    exact = [name.split(":") for name in chosen.again if ":" in name]
    whole = [known[name] for name in chosen.again if ":" not in name]
    if exact:
        found = [_one(known[name], int(seed), show=chosen.show) for name, seed in exact]
        return 1 if any(found) else 0
    return _many(whole or list(known.values()), chosen.first, chosen.inputs, chosen.seconds)


def _one(parser: trials.Parser, seed: int, *, show: bool) -> str:
    data = parser.make(seed)
    if show:
        sys.stdout.write(f"{data!r}\n")
    fault = trials.attempt(parser, data)
    sys.stdout.write(f"{parser.name}:{seed} {fault or 'is read as it should be'}\n")
    return fault


def _many(chosen: Sequence[trials.Parser], first: int, inputs: int, seconds: float) -> int:
    ends, faults, read = time.monotonic() + seconds, Counter[str](), 0
    for seed in _seeds(first, inputs, ends):
        for parser in chosen:
            read += 1
            fault = trials.attempt(parser, parser.make(seed))
            if not fault:
                continue
            faults[parser.name] += 1
            if faults[parser.name] <= _MOST:
                sys.stdout.write(f"{parser.name}:{seed} {fault.rstrip()}\n")
                name = shlex.quote(f"{parser.name}:{seed}")
                sys.stdout.write(f"again: {_AGAIN} --show {name}\n\n")
                sys.stdout.flush()
    told = ", ".join(f"{name}: {count}" for name, count in faults.items()) or "no fault"
    sys.stdout.write(f"{read} inputs of {len(chosen)} parsers from seed {first} on: {told}\n")
    return 1 if faults else 0


def _seeds(first: int, inputs: int, ends: float) -> Iterator[int]:
    seed = first
    while seed < first + inputs or time.monotonic() < ends:
        yield seed
        seed += 1


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("error")
    trials.limit_memory()
    sys.exit(main(sys.argv[1:]))
