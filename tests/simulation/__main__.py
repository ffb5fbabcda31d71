"""``PYTHONPATH=tests:sandbox/tests python -m simulation 7`` prints what happens with seed 7.

With several seeds, ``1-20``, it prints a line for each, and what happened for those that fail.
"""

import logging
import sys
import tempfile
import time
import traceback
from pathlib import Path

from simulation import plays


def main(text: str) -> int:
    """Play seeds; returns how many failed."""
    logging.disable(logging.CRITICAL)
    seeds, failed = list(plays.parse_seeds(text)), 0
    with tempfile.TemporaryDirectory() as directory:
        source = plays.make_source(Path(directory))
        for seed in seeds:
            began = time.process_time()
            try:
                given = plays.play(seed, source)
            except Exception:  # noqa: BLE001 (printed, and the next one is played)
                failed += 1
                traceback.print_exc()
                continue
            finally:
                took = time.process_time() - began
            if len(seeds) == 1:
                _say("\n".join(given.notes))
            _say(f"seed {seed}: {given.loop.steps} steps, {took:.1f} s, {given.digest}")
    _say(f"{failed} of {len(seeds)} failed")
    return failed


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
