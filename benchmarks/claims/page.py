"""The page whose sentences are claims, and the one on which they stand beside what was measured."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import simulation
from benchmarks.claims import claim

WRITTEN = Path(__file__).parent.parent / "claims.md"
HEAD = ("The page says", "Where", "Claimed", "Measured", "Measured ÷ claimed", "Holds")
#: Names, and no sentences.
_NONE = "Sources"
_UNMEASURED = "## Sentences that nothing here measures"
#: Fewer spaces are in what leads a paragraph in, as "Counts."
_FEWEST_WORDS = 3
_REASONS = (
    "Definitions, reasons and advice; what the tables of the page show; and what other tests show."
)
_END = re.compile(r"(?<=[.!?])\s+(?=[\[*`A-Z0-9])")
_LINK = re.compile(r"\[([^]]*)]\([^)]*\)")
#: A sentence as it is compared: without emphasis and without a link's address.
_EMPHASIS = re.compile(r"\*\*|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)")

INTRODUCTION = """# What the page about verdicts claims, and what is measured

Written by `python -m benchmarks.claims`, which takes some minutes; with headings of [the
page](../docs/explanation/how-volary-decides.md) after it, as `"Three sides"`, it measures these
alone. Every claim is a sentence of that page, or its decisive part. What is drawn is drawn with a
seed, and judged look by look as a stage does. Where nothing else is said: 1 % errors, twenty looks
of a minute, level 5 %, 100 releases, which are healthy. A test measures again what is quick, and
fails when a sentence has changed or does not hold.
"""


def plain(text: str) -> str:
    """Return text on one line, without emphasis and addresses."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", text)).split())


def sentences(text: str) -> dict[str, list[str]]:
    """Return the sentences of a page by heading; tables are none."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", re.sub(r"<!--.*?-->", "", text), flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        if heading == _NONE:
            continue
        lines = [line for line in body.splitlines() if not line.startswith("|")]
        # A paragraph, or a point of a list.
        blocks = re.split(r"\n\s*\n|\n(?=\* )", "\n".join(lines))
        found[heading] = [
            sentence
            for block in blocks
            for sentence in _END.split(plain(block.removeprefix("* ").strip()))
            if sentence.count(" ") >= _FEWEST_WORDS
        ]
    return found


def unmeasured(text: str, sections: Mapping[str, Sequence[claim.Claim]]) -> dict[str, list[str]]:
    """Return the sentences about which there is no claim, by heading."""
    return {
        heading: left
        for heading, every in sentences(text).items()
        if (left := [one for one in every if not _is_claimed(one, sections.get(heading, ()))])
    }


def _is_claimed(sentence: str, claims: Iterable[claim.Claim]) -> bool:
    parts = [plain(one.sentence) for one in claims]
    return any(part in sentence or sentence in part for part in parts)


Rows = Mapping[str, Sequence[Sequence[str]]]


def render(rows: Rows, left: Mapping[str, Sequence[str]]) -> str:
    """Write the page."""
    parts = [INTRODUCTION]
    for heading, measured in rows.items():
        parts.append(f"## {heading}\n\n{simulation.render([HEAD, *measured])}\n")
    parts.append(f"{_UNMEASURED}\n\n{_REASONS}\n")
    for heading, every in left.items():
        points = "\n".join(f"* {sentence}" for sentence in every)
        parts.append(f"### Of “{heading}”\n\n{points}\n")
    return "\n".join(parts)


def rows(text: str) -> dict[str, list[tuple[str, ...]]]:
    """Read what was measured from the page as it is written, by heading."""
    found: dict[str, list[tuple[str, ...]]] = {}
    measured, _, _ = text.partition(_UNMEASURED)
    for section in re.split(r"^## ", measured, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("| ")]
        found[heading] = [tuple(line.strip("| ").split(" | ")) for line in lines[2:]]
    return found
