"""The table of known deviations, read from the reference page."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
_ROW = re.compile(
    r"^\| `(?P<case>[\w-]+)` \| (?P<step>\d+) \| `(?P<path>[^`]+)` \| (?P<reason>.+) \|$"
)

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where the sandbox differs from a real server, and why."""

    case: str
    #: Counted from 1.
    step: int
    #: A path into the answer; everything below it is covered, ``[*]`` stands for any index.
    path: str
    reason: str

    @property
    def sometimes(self) -> bool:
        """It depends on timing, so it may be absent."""
        return self.reason.startswith("Sometimes")

    def covers(self, path: str) -> bool:
        path = _INDEX.sub("[*]", path) if "[*]" in self.path else path
        return path == self.path or path.startswith((f"{self.path}.", f"{self.path}["))


def read(case: str) -> list[Deviation]:
    """Return a case's known deviations."""
    rows = (_ROW.match(line) for line in PAGE.read_text().splitlines())
    found = [
        Deviation(row["case"], int(row["step"]), row["path"], row["reason"]) for row in rows if row
    ]
    return [each for each in found if each.case == case]


def left_out() -> list[str]:
    """Return the kinds and subresources that are not served, as ``plural.group``."""
    section = PAGE.read_text().partition("## What is served")[2].partition("\n## ")[0]
    return [
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([^`]+)`", line.split("|")[1])
    ]
