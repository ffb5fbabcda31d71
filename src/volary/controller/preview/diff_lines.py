"""Differences as lines, in the form that ``diff`` fences and terminals colour, pure.

A path between ``@@``, then the old value with ``-`` and the new one with ``+``. Of texts
with many lines only the lines that differ are shown, with some around them.
"""

import difflib
from collections.abc import Iterator, Sequence

from volary.controller.preview import previews
from volary.manifests.diff import value_diff
from volary.manifests.loading import serialization

_AROUND = 2
#: Stands for a character that cannot be shown.
_STRANGE = "\N{REPLACEMENT CHARACTER}"


def of_object(shown: previews.ObjectPreview, *, most: int) -> list[str]:
    """Return the lines of an object's differences, at most `most` and one that counts the rest."""
    lines = [line for item in shown.differences for line in of_item(item)]
    if shown.omitted:
        lines.append(f"… {shown.omitted} more fields differ")
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"… {len(lines) - most} more lines"]


def of_item(item: value_diff.Item) -> Iterator[str]:
    """Yield the lines of one difference."""
    yield f"@@ {plain(item.dotted)} @@"
    if isinstance(item.old, str) and isinstance(item.new, str) and "\n" in item.old + item.new:
        old, new = item.old.splitlines(), item.new.splitlines()
        compared = difflib.unified_diff(old, new, n=_AROUND, lineterm="")
        # Two lines of file names and the line numbers say nothing about a field.
        lines = [plain(line) for line in list(compared)[2:] if not line.startswith("@@")]
        yield from lines or [" only the end of the last line differs"]
        return
    for sign, value in (("-", item.old), ("+", item.new)):
        if value is not value_diff.ABSENT:
            yield from (f"{sign}{plain(line)}" for line in _value(value))


def _value(value: object) -> Sequence[str]:
    if isinstance(value, str):
        return value.splitlines() or ['""']
    return serialization.dump_value(value).splitlines()


def plain(text: str) -> str:
    """Return a line with characters that steer terminals, or hide, replaced."""
    return "".join(
        character if character.isprintable() or character == "\t" else _STRANGE
        for character in text
    )
