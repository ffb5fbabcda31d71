"""Sets of field paths, kept exactly as ``fieldsV1`` writes them.

A set is a trie of JSON objects. Keys are path elements: ``f:<field>``,
``k:{"name":"main"}`` (item of an associative list), ``v:"x"`` (item of a set).
A node is a member when it is empty or holds ``"."``. The root is no member: an
empty root is the empty set. Tries share nodes and are never changed, so a set
needs no decoding when an object is read and no encoding when it is written.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from kube_sandbox.apimachinery.meta import causes

FieldSet = dict[str, Any]

#: A member without children.
LEAF: FieldSet = {}


_KINDS = ("f:", "k:", "v:", "i:")


def is_valid(fields: object, *, root: bool = True) -> bool:
    """Tell whether `fields` is a set at all; clients may send anything."""
    if not isinstance(fields, dict):
        return False
    for key, value in fields.items():
        if key.startswith(_KINDS):
            if not is_valid(value, root=False):
                return False
        elif key != "." or root or value != {}:
            return False
    return True


def with_member(node: FieldSet | None) -> FieldSet:
    """Return a node that is a member, with the children of `node`."""
    if not node:
        return LEAF
    return node if "." in node else {".": LEAF, **node}


def _make(children: FieldSet, *, member: bool) -> FieldSet | None:
    if not children:
        return LEAF if member else None
    return {".": LEAF, **children} if member else children


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return what is in either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    merged = dict(left)
    for key, node in right.items():
        known = left.get(key)
        merged[key] = node if known is None else _union_node(known, node)
    return merged


def _union_node(left: FieldSet, right: FieldSet) -> FieldSet:
    if left == right:
        return left
    if not left or not right:
        return with_member(left or right)
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return what is in `left` and not in `right`; `left` itself when nothing goes away."""
    if not left or not right:
        return left
    kept = {}
    changed = False
    for key, node in left.items():
        other = right.get(key)
        rest = node if other is None else _difference_node(node, other)
        if rest is not None:
            kept[key] = rest
        changed = changed or rest is not node
    return kept if changed else left


def _difference_node(left: FieldSet, right: FieldSet) -> FieldSet | None:
    was_member = not left or "." in left
    covered = not right or "." in right
    children = {}
    changed = was_member and covered
    for key, node in left.items():
        if key == ".":
            continue
        other = right.get(key)
        rest = node if other is None else _difference_node(node, other)
        if rest is not None:
            children[key] = rest
        changed = changed or rest is not node
    if not changed:
        return left
    return _make(children, member=was_member and not covered)


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return what is in both sets."""
    shared = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            continue
        common = _intersection_node(node, other)
        if common is not None:
            shared[key] = common
    return shared


def _intersection_node(left: FieldSet, right: FieldSet) -> FieldSet | None:
    member = (not left or "." in left) and (not right or "." in right)
    children = {}
    for key, node in left.items():
        other = right.get(key)
        if key == "." or other is None:
            continue
        common = _intersection_node(node, other)
        if common is not None:
            children[key] = common
    return _make(children, member=member)


def without(fields: FieldSet, path: tuple[str, ...]) -> FieldSet:
    """Return the set without a path and everything below it."""
    key = f"f:{path[0]}"
    node = fields.get(key)
    if node is None:
        return fields
    rest = {each: value for each, value in fields.items() if each != key}
    if len(path) == 1:
        return rest
    inner = {each: value for each, value in node.items() if each != "."}
    kept = _make(without(inner, path[1:]), member=not node or "." in node)
    return rest if kept is None else {**rest, key: kept}


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yield the members as conflicts name them (``.spec.containers[name="main"].image``).

    Members of a level come before what lies below it, each in the order of the
    server: fields first, then items.
    """
    keys = sorted(key for key in fields if key != ".")
    for key in keys:
        node = fields[key]
        if not node or "." in node:
            yield prefix + show_element(key)
    for key in keys:
        yield from paths(fields[key], prefix + show_element(key))


def show_element(key: str) -> str:
    """Return a path element as messages write it: ``.image``, ``[name="main"]``, ``[="x"]``."""
    kind, _, text = key.partition(":")
    if kind == "f":
        return f".{text}"
    if kind == "v":
        return f"[={text}]"
    return f"[{_pairs(text)}]"


def _pairs(text: str) -> str:
    # {"containerPort":80,"protocol":"TCP"} → containerPort=80,protocol="TCP"
    pairs = msgspec.json.decode(text, type=dict[str, Any])
    return ",".join(f"{key}={causes.show(value)}" for key, value in pairs.items())
