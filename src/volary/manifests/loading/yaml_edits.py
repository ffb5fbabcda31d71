"""Replacing values inside the text of a YAML document; all else stays to the character.

Comments, order and quoting around the replaced value survive, because the text is
cut at the places where the parser saw the value. Paths are in the dialect that PipeCD's patches
are written in: ``$.spec.containers[0].image``, ``$..image``, ``$.data.'a.yaml'``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

#: Documents inside ConfigMaps are below 1 MiB anyway; this bounds the slow parser.
MAXIMUM_CHARACTERS = 1024 * 1024
_QUOTES = "'\""


class EditError(ValueError):
    """The document or the path does not allow it; the message says why."""


def compose(text: str) -> yaml.Node:
    """Return the syntax tree of a single document.

    Raises:
        EditError: When the text is broken, empty, too long or holds several documents.
    """
    if len(text) > MAXIMUM_CHARACTERS:
        raise EditError(f"the document is too long, at most {MAXIMUM_CHARACTERS} characters")
    try:
        node = yaml.compose(text)
    except yaml.MarkedYAMLError as error:
        raise EditError(error.problem or "broken YAML") from error
    except yaml.YAMLError as error:
        raise EditError("a character that YAML does not allow") from error
    except RecursionError as error:
        raise EditError("the document is nested too deeply") from error
    if node is None:
        raise EditError("the document is empty")
    return node


def find(text: str, path: str) -> list[yaml.Node]:
    """Return the nodes at `path`, at least one.

    Raises:
        EditError: When the path is bad or leads nowhere.
    """
    steps = parse_path(path)
    nodes = _walk(compose(text), steps)
    if not nodes:
        raise EditError("there is no such value in the document")
    return nodes


def replace(text: str, path: str, value: str) -> str:
    """Return the text with every value at `path` replaced by the text `value`.

    The old token's style is kept: in place of a plain token `value` is written as it is,
    so that ``90`` becomes a number; in place of a quoted or block text it stays a text
    (PipeCD: yaml-replace).

    Raises:
        EditError: When the path is bad, leads nowhere, or the result is broken.
    """
    for node in sorted(find(text, path), key=lambda node: -int(node.start_mark.index)):
        text = _splice(text, node, _token(node, value))
    compose(text)
    return text


def replace_text(text: str, node: yaml.Node, value: str) -> str:
    """Return the text with the node replaced by the string `value`, whatever it looks like."""
    return _splice(text, node, _quoted(value))


def is_text(node: yaml.Node) -> bool:
    """Say whether the node is a string, as opposed to a number, a list and so on."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str"


def _splice(text: str, node: yaml.Node, token: str) -> str:
    start, end = node.start_mark.index, _end(text, node)
    before = text[:start]
    if _is_block_collection(node) and before.rstrip().endswith(":"):
        # A list or object stands below its key, a token in its place stands behind it.
        before = before.rstrip()
    if before.endswith((":", "-")):
        # So does a value that was left empty.
        token = f" {token}"
    return before + token + text[end:]


def _end(text: str, node: yaml.Node) -> int:
    """Return where the node's last character is over.

    The parser lets block values reach to the next token, over blank lines and comments
    that do not belong to them.
    """
    if isinstance(node, yaml.ScalarNode):
        if node.style not in ("|", ">"):
            return int(node.end_mark.index)
        inside = text[node.start_mark.index : node.end_mark.index]
        return int(node.start_mark.index) + len(inside.rstrip())
    if isinstance(node, yaml.CollectionNode) and _is_block_collection(node):
        return max((_end(text, leaf) for leaf in _leaves(node)), default=int(node.end_mark.index))
    return int(node.end_mark.index)


def _token(node: yaml.Node, value: str) -> str:
    style = node.style if isinstance(node, yaml.ScalarNode) else None
    if style == "'":
        return "'" + value.replace("'", "''") + "'" if value.isprintable() else _quoted(value)
    if style == '"' or style in ("|", ">"):
        return _quoted(value)
    return value


def _quoted(value: str) -> str:
    text: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=10**9)
    return text.removesuffix("\n")


def _is_block_collection(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _leaves(node: yaml.CollectionNode) -> list[yaml.Node]:
    """Return the nodes directly inside a collection."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value)


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


def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path below ``$``.

    Raises:
        EditError: When it is none.
    """
    if not path:
        raise EditError("no path given")
    if not path.startswith("$"):
        raise EditError("a path starts with $")
    steps: list[Step] = []
    position = 1
    while position < len(path):
        step, position = _step(path, position)
        steps.append(step)
    return tuple(steps)


def _walk(node: yaml.Node, steps: tuple[Step, ...]) -> list[yaml.Node]:
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
    raise EditError(f"expected . or [ at character {position + 1}")


def _name(path: str, position: int) -> tuple[str, int]:
    if position < len(path) and path[position] in _QUOTES:
        return _quoted_name(path, position)
    end = position
    while end < len(path) and path[end] not in ".[":
        end += 1
    if end == position:
        raise EditError(f"expected a name at character {position + 1}")
    return path[position:end], end


def _quoted_name(path: str, position: int) -> tuple[str, int]:
    end = path.find(path[position], position + 1)
    if end < 0:
        raise EditError(f"the quote at character {position + 1} is not closed")
    return path[position + 1 : end], end + 1


def _index(path: str, position: int) -> tuple[Step, int]:
    if path[position + 1 : position + 2] in tuple(_QUOTES):
        name, end = _quoted_name(path, position + 1)
        if path[end : end + 1] != "]":
            raise EditError(f"expected ] at character {end + 1}")
        return Child(name), end + 1
    end = path.find("]", position)
    inside = path[position + 1 : end] if end > 0 else ""
    if inside == "*":
        return Index(None), end + 1
    if not (inside.isascii() and inside.isdigit()):
        raise EditError(f"expected a number in brackets at character {position + 1}")
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
