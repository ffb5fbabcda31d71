"""What differs between two values: paths with the old and the new.

Compares plain data by its shape and knows nothing of clusters. Lists are compared by
index, numbers by value, quantities where a quantity is expected; further tolerance is
a matter of `Rules` (PipeCD: section 6.3).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from volary.manifests.workloads import quantities

#: Steps from the root: keys of objects and indices of lists.
Path = tuple[str | int, ...]


class Missing(Enum):
    """The side of an item where there is nothing."""

    ABSENT = "absent"


ABSENT: Final = Missing.ABSENT


@dataclass(frozen=True, slots=True)
class Item:
    """One difference. A side is `ABSENT` when there is no such key or element."""

    path: Path
    old: object
    new: object

    @property
    def dotted(self) -> str:
        """The path as people write it, ``spec.template.spec.containers.0.image``."""
        return ".".join(str(step) for step in self.path)


@dataclass(frozen=True, slots=True)
class Rules:
    """Which differences do not count.

    Two empty values never differ, nor ``1Gi`` and ``1024Mi`` where the built-in kinds have a
    quantity.
    """

    #: A missing key and an empty value (``null``, 0, "", false, {}, []).
    empty_is_missing: bool = False
    #: The number 1 and the text "1".
    numeric_strings_equal: bool = False


#: How the strategy is decided (PipeCD: diff without options).
PLAIN: Final = Rules()
#: Wish against wish, for showing to people (PipeCD: plan preview).
PREVIEW: Final = Rules(empty_is_missing=True, numeric_strings_equal=True)


def compare(old: object, new: object, rules: Rules = PLAIN) -> list[Item]:
    """Return the differences, sorted by path with list elements in their order."""
    return sorted(_compare((), old, new, rules), key=lambda item: _sortable(item.path))


def below(items: Iterable[Item], *path: str) -> list[Item]:
    """Return the items at `path` or deeper."""
    return [item for item in items if item.path[: len(path)] == path]


def _compare(path: Path, old: object, new: object, rules: Rules) -> Iterator[Item]:
    if _equal(path, old, new, rules):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _compare_mappings(path, old, new, rules)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(path, old, new, rules)
    else:
        yield Item(path, old, new)


def _compare_mappings(
    path: Path, old: Mapping[str, object], new: Mapping[str, object], rules: Rules
) -> Iterator[Item]:
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if not _ignored(before, after, rules):
            yield from _compare((*path, key), before, after, rules)


def _ignored(old: object, new: object, rules: Rules) -> bool:
    if old is not ABSENT and new is not ABSENT:
        return False
    present = old if new is ABSENT else new
    if present is None:
        # The API server drops nulls, so a null is a missing key.
        return True
    return rules.empty_is_missing and _empty(present)


def _compare_lists(
    path: Path, old: Sequence[object], new: Sequence[object], rules: Rules
) -> Iterator[Item]:
    for index in range(max(len(old), len(new))):
        before = old[index] if index < len(old) else ABSENT
        after = new[index] if index < len(new) else ABSENT
        yield from _compare((*path, index), before, after, rules)


def _equal(path: Path, old: object, new: object, rules: Rules) -> bool:
    if old is ABSENT or new is ABSENT:
        return False
    if _empty(old) and _empty(new):
        return True
    if isinstance(old, dict | list) or isinstance(new, dict | list):
        return False
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if old == new or (rules.numeric_strings_equal and _same_number(old, new)):
        return True
    return quantities.expected(path) and _same_quantity(old, new)


def _same_number(old: object, new: object) -> bool:
    match old, new:
        case (int() | float(), str()):
            return _number(new) == old
        case (str(), int() | float()):
            return _number(old) == new
        case _:
            return False


def _number(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def _same_quantity(old: object, new: object) -> bool:
    before, after = quantities.parse(old), quantities.parse(new)
    return before is not None and before == after


def _empty(value: object) -> bool:
    return value is None or value in (0, "", False) or value in ({}, [])


def _sortable(path: Path) -> tuple[tuple[bool, str | int], ...]:
    return tuple((isinstance(step, str), step) for step in path)
