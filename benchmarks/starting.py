"""How long the command line takes to start, against Python itself."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import usage

PYTHON = (sys.executable, "-c", "pass")
HELP = (sys.executable, "-m", "volary", "--help")


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of several starts."""

    python: usage.Usage
    help: usage.Usage

    @property
    def more(self) -> float:
        """Seconds that ``volary --help`` takes more than Python."""
        return self.help.wall - self.python.wall


def measure(repetitions: int) -> Measured:
    """Start both in turn, once without counting it."""
    found: dict[Sequence[str], list[usage.Usage]] = {PYTHON: [], HELP: []}
    for turn in range(repetitions + 1):
        for argv, used in found.items():
            measured = usage.run(argv)
            if turn:
                used.append(measured)
    return Measured(usage.best(found[PYTHON]), usage.best(found[HELP]))
