"""Clusters that would change alike, as one; and what differs between those that would not. Pure.

What comes in is masked already. Bounded: of each object so many lines, of each group so many
objects, and values in sentences are short.
"""

import difflib
import itertools
import json as json_text
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from volary.manifests.diff import value_diff
from volary.manifests.loading import serialization
from volary.model import json, phrases, safe_text
from volary.model.objects import manifest

#: Objects of a group that have their diff, and lines of one, and characters of a line.
MOST_OBJECTS, MOST_LINES, LONGEST_LINE = 200, 400, 1_000
#: Objects that are said to differ between clusters, places of one, and characters of a value.
_MOST_VARIATIONS, _MOST_PLACES, _LONGEST_VALUE = 200, 5, 60
#: Groups of clusters that are laid side by side.
_MOST_SIDES = 12
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
class VariationSide:
    """What a group of clusters would do with an object that others treat differently."""

    targets: tuple[str, ...]
    #: What would happen to it, in a word; ``unchanged``: nothing.
    verb: str
    #: What it becomes at each place of the variation; empty: nothing happens to it there.
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variation:
    """An object that does not become the same on all clusters."""

    key: manifest.ResourceKey
    #: How it differs, one sentence.
    sentence: str
    #: Where it becomes something else, as people write paths.
    places: tuple[str, ...] = ()
    sides: tuple[VariationSide, ...] = ()
    #: Places and sides beyond the bounds.
    omitted_places: int = 0
    omitted_sides: int = 0


def group(targets: Sequence[str], sides: Sequence[ObjectSides]) -> TargetGroup:
    """Return clusters with the diffs of their objects, which are those of any of them."""
    return TargetGroup(
        tuple(targets),
        tuple(map(diff, sides[:MOST_OBJECTS])),
        max(0, len(sides) - MOST_OBJECTS),
    )


def diff(sides: ObjectSides) -> ObjectDiff:
    """Return what would change of an object."""
    if sides.before is None and sides.after is None:
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
    known = [(tuple(targets), {side.key: side for side in sides}) for targets, sides in groups]
    keys = dict.fromkeys(key for _, sides in known for key in sides)
    varying = (variation for key in keys if (variation := _variation(key, known)))
    return tuple(itertools.islice(varying, _MOST_VARIATIONS))


_Group = tuple[tuple[str, ...], Mapping[manifest.ResourceKey, ObjectSides]]


def _variation(key: manifest.ResourceKey, groups: Sequence[_Group]) -> Variation | None:
    """Say how an object differs between groups; None: it does not."""
    alike: dict[str, list[ObjectSides]] = {}
    for _, sides in groups:
        if key in sides:
            alike.setdefault(sides[key].verb, []).append(sides[key])
    becomes = {verb: _becomes(sides) for verb, sides in alike.items()}
    places = tuple(dict.fromkeys(place for found in becomes.values() for place in found))
    if not places and len(alike) == 1 and all(key in sides for _, sides in groups):
        return None
    shown = places[:_MOST_PLACES]
    compared = []
    seen = dict.fromkeys(alike, 0)
    for targets, sides in groups:
        if key not in sides:
            compared.append(VariationSide(targets, "unchanged", ("",) * len(shown)))
            continue
        side = sides[key]
        which = seen[side.verb]
        seen[side.verb] += 1
        values = (becomes[side.verb].get(place) for place in shown)
        texts = tuple(found[which] if found else "" for found in values)
        compared.append(VariationSide(targets, side.verb, texts))
    more = len(places) - len(shown)
    return Variation(
        key,
        _sentence(shown, compared, more),
        shown,
        tuple(compared[:_MOST_SIDES]),
        more,
        max(0, len(compared) - _MOST_SIDES),
    )


def _sentence(places: Sequence[str], sides: Sequence[VariationSide], more: int) -> str:
    verbs = _by_text((side.verb, side) for side in sides)
    parts = ["; ".join(f"{verb} on {names}" for verb, names in verbs)] if len(verbs) > 1 else []
    for index, place in enumerate(places):
        values = _by_text((side.values[index], side) for side in sides if side.values[index])
        parts.append(f"{place}: {', '.join(f'{value} on {names}' for value, names in values)}")
    if more > 0:
        parts.append(f"and {phrases.count(more, 'further place')}")
    return "; ".join(parts)


def _by_text(said: Iterable[tuple[str, VariationSide]]) -> list[tuple[str, str]]:
    """Return each text once, with the names of the clusters of which it is said."""
    names: dict[str, list[str]] = {}
    for text, side in said:
        names.setdefault(text, []).append(phrases.join_names(list(side.targets)))
    return [(text, " and ".join(of_text)) for text, of_text in names.items()]


def _becomes(sides: Sequence[ObjectSides]) -> dict[str, tuple[str, ...]]:
    """Return where objects to which the same happens become something else, and what each does.

    What is changed is compared by what changes: the rest is each cluster's own, such as addresses.
    """
    first, *others = sides
    compared = [{place: pair for place, *pair in _compared(first, other)} for other in others]
    base = {place: pair[0] for found in compared for place, pair in found.items()}
    return {
        place: (value, *(found[place][1] if place in found else value for found in compared))
        for place, value in base.items()
    }


def _compared(one: ObjectSides, other: ObjectSides) -> Iterator[tuple[str, str, str]]:
    if one.after is None or other.after is None:
        return
    if one.before is None and other.before is None:
        for item in value_diff.compare(one.after, other.after, value_diff.PREVIEW):
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
    text = value if value and isinstance(value, str) else json_text.dumps(value, default=str)
    shown = safe_text.printable(text.replace("\n", " "))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"
