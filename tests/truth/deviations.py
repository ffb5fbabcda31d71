"""The table of known deviations, read from the reference page."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "sandbox-conformance.md"
_ROW = re.compile(
    r"^\| `(?P<case>[\w-]+)` \| (?P<step>\d+) \| `(?P<path>[^`]+)` \| (?P<reason>.+) \|$"
)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where the sandbox differs from a real server, and why."""

    case: str
    #: Counted from 1.
    step: int
    #: A path into the answer; everything below it is covered.
    path: str
    reason: str

    def covers(self, path: str) -> bool:
        return path == self.path or path.startswith((f"{self.path}.", f"{self.path}["))


def read(case: str) -> list[Deviation]:
    """Return a case's known deviations."""
    rows = (_ROW.match(line) for line in PAGE.read_text().splitlines())
    found = [
        Deviation(row["case"], int(row["step"]), row["path"], row["reason"]) for row in rows if row
    ]
    return [each for each in found if each.case == case]
