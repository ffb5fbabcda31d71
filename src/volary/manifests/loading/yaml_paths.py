"""Paths into YAML documents: ``$.spec.containers[0].image``, ``$..image``, ``$.data.'a.yaml'``.

The dialect is the one PipeCD's patches are written in.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

_QUOTES = "'\""


class PathError(ValueError):
    """The path cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Child:
    """``.name`` or ``.'quoted.name'``: the value of a key."""

    name: str


@dataclass(frozen=True, slots=True)
class Descendant:
    """``..name``: the value of a key at any depth."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """``[n]``, counted from 0; None for ``[*]``, every element."""

    position: int | None


Step = Child | Descendant | Index


def parse(path: str) -> tuple[Step, ...]:
    """Return the steps of a path below ``$``.

    Raises:
        PathError: When it is none.
    """
    if not path:
        raise PathError("no path given")
    if not path.startswith("$"):
        raise PathError("a path starts with $")
    steps: list[Step] = []
    position = 1
    while position < len(path):
        step, position = _step(path, position)
        steps.append(step)
    return tuple(steps)


def find(node: yaml.Node, steps: tuple[Step, ...]) -> list[yaml.Node]:
    """Return the nodes that the steps lead to, in the order of the document."""
    nodes = [node]
    for step in steps:
        nodes = [below for parent_node in nodes for below in _follow(parent_node, step)]
    return nodes


def _step(path: str, position: int) -> tuple[Step, int]:
    if path.startswith("..", position):
        name, position = _name(path, position + 2)
        return Descendant(name), position
    if path[position] == ".":
        name, position = _name(path, position + 1)
        return Child(name), position
    if path[position] == "[":
        return _index(path, position)
    raise PathError(f"expected . or [ at character {position + 1}")


def _name(path: str, position: int) -> tuple[str, int]:
    if position < len(path) and path[position] in _QUOTES:
        return _quoted(path, position)
    end = position
    while end < len(path) and path[end] not in ".[":
        end += 1
    if end == position:
        raise PathError(f"expected a name at character {position + 1}")
    return path[position:end], end


def _quoted(path: str, position: int) -> tuple[str, int]:
    end = path.find(path[position], position + 1)
    if end < 0:
        raise PathError(f"the quote at character {position + 1} is not closed")
    return path[position + 1 : end], end + 1


def _index(path: str, position: int) -> tuple[Step, int]:
    if path[position + 1 : position + 2] in tuple(_QUOTES):
        name, end = _quoted(path, position + 1)
        if path[end : end + 1] != "]":
            raise PathError(f"expected ] at character {end + 1}")
        return Child(name), end + 1
    end = path.find("]", position)
    inside = path[position + 1 : end] if end > 0 else ""
    if inside == "*":
        return Index(None), end + 1
    if not (inside.isascii() and inside.isdigit()):
        raise PathError(f"expected a number in brackets at character {position + 1}")
    return Index(int(inside)), end + 1


def _follow(node: yaml.Node, step: Step) -> Iterator[yaml.Node]:
    match step:
        case Child(name):
            yield from _children(node, name)
        case Descendant(name):
            yield from _descendants(node, name)
        case Index(position):
            if isinstance(node, yaml.SequenceNode):
                yield from node.value if position is None else node.value[position : position + 1]


def _children(node: yaml.Node, name: str) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from (value for key, value in node.value if key.value == name)


def _descendants(node: yaml.Node, name: str) -> Iterator[yaml.Node]:
    """Yield matching values; nothing is looked for inside a match, it will be replaced."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                yield value
            else:
                yield from _descendants(value, name)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _descendants(value, name)
