"""Clusters that would change alike, as one; and what differs between those that would not. Pure.

What comes in is masked already. Bounded: of each object so many lines, of each group so many
objects, and values in sentences are short.
"""

import difflib
import json as json_text
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from volary.manifests.diff import value_diff
from volary.manifests.loading import serialization
from volary.model import json, phrases, safe_text
from volary.model.objects import manifest

#: Objects of a group that have their diff, and lines of one, and characters of a line.
MOST_OBJECTS, MOST_LINES, LONGEST_LINE = 200, 400, 1_000
#: Objects that are said to differ between clusters, places of one, and characters of a value.
_MOST_VARIATIONS, _MOST_PLACES, _LONGEST_VALUE = 200, 5, 60
_AROUND = 3


@dataclass(frozen=True, slots=True)
class ObjectSides:
    """An object of a cluster before and after, masked and without what is not its substance."""

    key: manifest.ResourceKey
    #: What would happen to it, in a word.
    verb: str
    #: None: it is not there, or not known.
    before: json.JsonObject | None = None
    after: json.JsonObject | None = None
    #: Of one that is changed.
    differences: tuple[value_diff.Item, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """What would change of an object, as a unified diff of its YAML."""

    key: manifest.ResourceKey
    verb: str
    #: Empty: only whether it is there changes, or nobody knows more.
    text: str
    #: Lines beyond the bound.
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """Clusters that would change alike."""

    targets: tuple[str, ...]
    diffs: tuple[ObjectDiff, ...] = ()
    #: Objects without a diff, because there are too many.
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Variation:
    """An object that does not become the same on all clusters."""

    key: manifest.ResourceKey
    #: How it differs, one sentence.
    sentence: str


def group(targets: Sequence[str], sides: Sequence[ObjectSides]) -> TargetGroup:
    """Return clusters with the diffs of their objects, which are those of any of them."""
    return TargetGroup(
        tuple(targets),
        tuple(map(diff, sides[:MOST_OBJECTS])),
        max(0, len(sides) - MOST_OBJECTS),
    )


def diff(sides: ObjectSides) -> ObjectDiff:
    """Return what would change of an object."""
    if sides.after is None:
        return ObjectDiff(sides.key, sides.verb, "")
    before, after = (
        serialization.dump_body(body).splitlines() if body is not None else []
        for body in (sides.before, sides.after)
    )
    compared = difflib.unified_diff(before, after, "before", "after", n=_AROUND, lineterm="")
    lines = [_plain(line) for line in compared]
    text = "\n".join(lines[:MOST_LINES])
    return ObjectDiff(sides.key, sides.verb, text, max(0, len(lines) - MOST_LINES))


def _plain(line: str) -> str:
    shown = safe_text.printable(line)
    return shown if len(shown) <= LONGEST_LINE else f"{shown[:LONGEST_LINE]} …"


def variations(
    groups: Sequence[tuple[Sequence[str], Sequence[ObjectSides]]],
) -> tuple[Variation, ...]:
    """Return the objects that do not become the same in all groups of clusters."""
    if len(groups) < 2:
        return ()
    known = [
        (phrases.join_names(list(targets)), {side.key: side for side in sides})
        for targets, sides in groups
    ]
    keys = dict.fromkeys(key for _, sides in known for key in sides)
    told = ((key, _sentence(key, known)) for key in keys)
    varying = [Variation(key, sentence) for key, sentence in told if sentence]
    return tuple(varying[:_MOST_VARIATIONS])


def _sentence(
    key: manifest.ResourceKey,
    groups: Sequence[tuple[str, Mapping[manifest.ResourceKey, ObjectSides]]],
) -> str:
    """Say how an object differs between groups; empty: it does not."""
    by_verb: dict[str, list[str]] = {}
    for names, sides in groups:
        verb = sides[key].verb if key in sides else "unchanged"
        by_verb.setdefault(verb, []).append(names)
    there = [(names, sides[key]) for names, sides in groups if key in sides]
    places = list(_places(there))
    parts = [f"{verb} on {' and '.join(names)}" for verb, names in by_verb.items()]
    said = "; ".join(parts) if len(by_verb) > 1 else ""
    shown = "; ".join(places[:_MOST_PLACES])
    more = len(places) - _MOST_PLACES
    further = f"; and {phrases.count(more, 'further place')}" if more > 0 else ""
    return "; ".join(part for part in (said, shown + further) if part)


def _places(there: Sequence[tuple[str, ObjectSides]]) -> Iterator[str]:
    """Yield where objects become something else than the first of them, to which the same happens.

    What is changed is compared by what changes: the rest is each cluster's own, such as addresses.
    """
    if not there:
        return
    first_names, first = there[0]
    for names, side in there[1:]:
        if side.verb == first.verb:
            for place, value, other in _compared(first, side):
                yield f"{place}: {value} on {first_names}, {other} on {names}"


def _compared(one: ObjectSides, other: ObjectSides) -> Iterator[tuple[str, str, str]]:
    if one.before is None and other.before is None:
        for item in value_diff.compare(one.after or {}, other.after or {}, value_diff.PREVIEW):
            yield item.dotted, _value(item.old), _value(item.new)
        return
    values = [{item.dotted: _value(item.new) for item in side.differences} for side in (one, other)]
    for place in dict.fromkeys((*values[0], *values[1])):
        value, another = (of_side.get(place, "as it is") for of_side in values)
        if value != another:
            yield place, value, another


def _value(value: object) -> str:
    if value is value_diff.ABSENT:
        return "nothing"
    text = value if isinstance(value, str) else json_text.dumps(value, default=str)
    shown = safe_text.printable(text.replace("\n", " "))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"
