"""What people are told about fields that are adopted or taken back: pure.

Values of Secrets are never told.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from volary.manifests import redaction
from volary.manifests.ownership import field_managers, field_sets, tracking
from volary.model import json
from volary.model.objects import ownership

_MOST_FIELDS = 8
_Difference = tuple[field_sets.Path, Any, Any]


def describe(
    live: json.JsonObject,
    after: json.JsonObject,
    *,
    title: str,
    owner: ownership.Owner | None,
    conflicts: ownership.Conflicts,
) -> tuple[str, ...]:
    """Return sentences about both sides of a write, `live` with its ``managedFields``.

    An object that was not the application's is adopted from the appliers of before. From people,
    and of objects that are the application's already, fields are taken back.
    """
    adopts = owner is None or not tracking.is_ours(live, owner)
    appliers: dict[str, list[str]] = {}
    taken_back: dict[str, None] = {}
    for entry in field_managers.stored_entries(live):
        name, operation = str(entry.get("manager")), str(entry.get("operation"))
        role, fields = field_managers.role_of(name, operation), entry.get("fieldsV1")
        if role is field_managers.Role.OURS or entry.get("subresource") == "status" or not fields:
            continue
        differences = [
            difference
            for difference in field_sets.differences(fields, live, after)
            if field_managers.takes(conflicts, name, operation, field_sets.shown(difference[0]))
        ]
        if role is field_managers.Role.APPLIER and adopts:
            gone = [path for path, _, new in differences if new is field_sets.ABSENT]
            appliers.setdefault(name, []).extend(map(field_sets.shown, gone))
        else:
            taken_back |= dict.fromkeys(_taken_back(live, item, name) for item in differences)
    return (*_adopted(title, appliers), *_bounded(list(taken_back)))


def _adopted(title: str, appliers: dict[str, list[str]]) -> Iterator[str]:
    for name, gone in sorted(appliers.items()):
        removed = f", removes {', '.join(_bounded(gone))}" if gone else ""
        yield f"adopts {title} from {name}{removed}"


def _taken_back(live: json.JsonObject, difference: _Difference, manager: str) -> str:
    path, before, after = difference
    names = tuple(key.partition(":")[2] for key in path)
    is_hidden = redaction.is_redacted(live, names) or tracking.LAST_APPLIED in names
    values = (
        ""
        if is_hidden
        else f" ({field_sets.shown_value(before)} → {field_sets.shown_value(after)})"
    )
    return f"takes back {field_sets.shown(path)}{values} from {manager}"


def _bounded(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _MOST_FIELDS
    return [*texts[:_MOST_FIELDS], *([f"and {more} more"] if more > 0 else [])]
