"""JSON pointers and the three operations of RFC 6902 that overrides use, on copies."""

from volary.model import errors
from volary.model.placement import overrides


def patch(document: object, change: overrides.PatchOverride) -> object:
    """Return `document` with one operation applied; nothing of the old one is changed.

    Raises:
        UserError: The pointer leads nowhere, or the operation does not fit there.
    """
    parts = tokens(change.path)
    if not parts:
        if change.operator is overrides.Operator.REMOVE:
            raise _lost(change.path, "the whole document cannot be removed")
        return change.value
    return _patched(document, parts, change)


def read(document: object, path: str) -> object:
    """Return the value at a pointer.

    Raises:
        UserError: It leads nowhere.
    """
    for part in tokens(path):
        document = _child(document, part, path)
    return document


def tokens(path: str) -> list[str]:
    """Take a pointer apart (RFC 6901).

    Raises:
        UserError: It does not begin with a slash.
    """
    if not path:
        return []
    if not path.startswith("/"):
        raise errors.user_error(f"{path} is no JSON pointer", hint="write /spec/replicas")
    return [token.replace("~1", "/").replace("~0", "~") for token in path[1:].split("/")]


def _patched(document: object, parts: list[str], change: overrides.PatchOverride) -> object:
    part, rest = parts[0], parts[1:]
    if rest:
        child = _patched(_child(document, part, change.path), rest, change)
        return _with(document, part, child, change.path)
    if isinstance(document, dict):
        return _in_object(document, part, change)
    if isinstance(document, list):
        return _in_list(document, part, change)
    raise _lost(change.path, "it leads through a value that has no parts")


def _in_object(
    document: dict[str, object], key: str, change: overrides.PatchOverride
) -> dict[str, object]:
    if change.operator is not overrides.Operator.ADD and key not in document:
        raise _lost(change.path, f"there is no {key} to {change.operator.value}")
    if change.operator is overrides.Operator.REMOVE:
        return {name: value for name, value in document.items() if name != key}
    return {**document, key: change.value}


def _in_list(document: list[object], part: str, change: overrides.PatchOverride) -> list[object]:
    adds = change.operator is overrides.Operator.ADD
    place = len(document) if part == "-" and adds else _index(document, part, change.path, adds)
    kept = list(document)
    if adds:
        kept.insert(place, change.value)
    elif change.operator is overrides.Operator.REMOVE:
        del kept[place]
    else:
        kept[place] = change.value
    return kept


def _child(document: object, part: str, path: str) -> object:
    if isinstance(document, dict):
        if part not in document:
            raise _lost(path, f"there is no {part}")
        return document[part]
    if isinstance(document, list):
        return document[_index(document, part, path, at_end=False)]
    raise _lost(path, "it leads through a value that has no parts")


def _with(document: object, part: str, child: object, path: str) -> object:
    if isinstance(document, dict):
        return {**document, part: child}
    assert isinstance(document, list)
    place = _index(document, part, path, at_end=False)
    return [*document[:place], child, *document[place + 1 :]]


def _index(document: list[object], part: str, path: str, at_end: bool) -> int:
    most = len(document) - (0 if at_end else 1)
    if not part.isdigit() or (part != "0" and part.startswith("0")) or int(part) > most:
        raise _lost(path, f"a list of {len(document)} has no place {part}")
    return int(part)


def _lost(path: str, why: str) -> errors.UserError:
    return errors.user_error(f"{path} leads nowhere: {why}")
