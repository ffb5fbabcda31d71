"""Builds values from YAML events, with the line of everything and bounds on everything.

Works on events with a stack of its own instead of recursion, so that deep
nesting is an error and not a crash. An alias shares the value it points at;
what the document would be when written out is counted, so that a few lines
cannot grow into gigabytes ("billion laughs").

Merge keys (``<<``) behave as they do in kubectl: merged values replace what
stands *above* them and are replaced by what stands *below* them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from volary.config.text import yaml_scalars
from volary.model import work_limits


class TreeError(Exception):
    """The document cannot be used; `line` (from 1) and `column` (from 1) say where."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


class BrokenError(TreeError):
    """The text is not YAML at all."""


@dataclass(slots=True)
class Mark:
    """Where a value was written; entries of a mapping point at their key."""

    #: Counted from 1 in the file.
    line: int
    entries: "dict[str, Mark]" = field(default_factory=dict)
    items: "list[Mark]" = field(default_factory=list)


@dataclass(slots=True)
class Node:
    """A finished value with its mark and the number of values it holds when written out."""

    value: Any
    mark: Mark
    size: int = 1
    #: The plain scalar ``<<``.
    is_merge: bool = False


def build(events: Iterable[yaml.Event], offset: int = 0) -> Node | None:
    """Return the document's root; None when there is no document.

    Args:
        events: The parser's events of one document.
        offset: Lines above the parsed text in its file.

    Raises:
        TreeError: A duplicate key, an unusable key or scalar, an unknown or
            endless alias, too deep or too large when aliases are written out,
            or a second document.
    """
    builder = _Builder(offset)
    for event in events:
        builder.take(event)
    return builder.root


@dataclass(slots=True)
class _Frame:
    """A collection that is still being read."""

    node: Node
    anchor: str | None
    #: The key whose value comes next; None: a key comes next, or this is a list.
    key: Node | None = None
    #: Keys written here, not merged ones.
    written: set[str] = field(default_factory=set)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node.value, dict)

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and self.key is None


class _Builder:
    def __init__(self, offset: int) -> None:
        self._offset = offset
        self.root: Node | None = None
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._read = 0

    def take(self, event: yaml.Event) -> None:
        self._read += 1
        match event:
            case yaml.ScalarEvent():
                self._put(self._scalar(event), event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                frame = self._stack.pop()
                self._anchor(frame.anchor, frame.node)
                self._put(frame.node, event)
            case yaml.AliasEvent():
                self._put(self._alias(event), event)
            case yaml.DocumentStartEvent() if self.root is not None:
                raise self._error("a second document without --- before it", event)

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        plain = event.tag is None and bool(event.implicit[0])
        read = (
            yaml_scalars.key if self._stack and self._stack[-1].wants_key else yaml_scalars.resolve
        )
        is_merge = event.value == "<<" and plain
        try:
            value = event.value if is_merge else read(event.value, event.tag, plain=plain)
        except yaml_scalars.ScalarError as error:
            raise self._error(str(error), event) from error
        # A long text counts as several values: an alias of it repeats it whole.
        size = 1 + len(event.value) // work_limits.YAML_TEXT
        self._read += size - 1
        node = Node(value, self._mark(event), size, is_merge=is_merge)
        self._anchor(event.anchor, node)
        return node

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if self._stack and self._stack[-1].wants_key:
            raise self._error("a key must be text, not a list or an object", event)
        if len(self._stack) >= work_limits.YAML_DEPTH:
            raise self._error(f"nested more than {work_limits.YAML_DEPTH} levels deep", event)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._stack.append(_Frame(Node(value, self._mark(event)), event.anchor))

    def _alias(self, event: yaml.AliasEvent) -> Node:
        name = event.anchor
        if any(frame.anchor == name for frame in self._stack):
            raise self._error(f"the anchor {name!r} contains itself", event)
        if name not in self._anchors:
            # Its name is not repeated: it may be a password that begins with an asterisk.
            message = "an alias of an anchor that is not above it"
            raise self._error(message, event, hint="quote a text that begins with *")
        node = self._anchors[name]
        if self._stack and self._stack[-1].wants_key and not isinstance(node.value, str):
            raise self._error("a key must be text", event)
        return Node(
            node.value, Mark(self._line(event), node.mark.entries, node.mark.items), node.size
        )

    def _anchor(self, name: str | None, node: Node) -> None:
        if name is not None:
            self._anchors[name] = node

    def _put(self, node: Node, event: yaml.Event) -> None:
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if frame.wants_key:
            self._begin_entry(frame, node, event)
            return
        self._grow(frame, node, event)
        if frame.key is None:
            frame.node.value.append(node.value)
            frame.node.mark.items.append(node.mark)
            return
        entry, frame.key = frame.key, None
        if entry.is_merge:
            if not _merge(frame.node, node):
                raise self._error("<< takes an object or a list of objects", event)
            return
        frame.node.value[entry.value] = node.value
        mark = Mark(entry.mark.line, node.mark.entries, node.mark.items)
        frame.node.mark.entries[entry.value] = mark

    def _begin_entry(self, frame: _Frame, node: Node, event: yaml.Event) -> None:
        frame.key = node
        if node.is_merge:
            return
        frame.node.size += node.size - 1  # a long key may come out of an alias
        if node.value in frame.written:
            first = frame.node.mark.entries[node.value].line
            raise self._error(f"duplicate key {node.value!r}, first written in line {first}", event)
        frame.written.add(node.value)

    def _grow(self, frame: _Frame, node: Node, event: yaml.Event) -> None:
        """Count sizes upwards as values close; each step is bounded, so their sum is too."""
        frame.node.size += node.size
        if frame.node.size > self._most():
            raise self._error(
                "aliases make this document too large: written out it may have at most"
                f" {work_limits.YAML_ALIAS_FACTOR} times the values that are written, and"
                f" {work_limits.YAML_ALIAS_ALLOWANCE} more",
                event,
            )

    def _most(self) -> int:
        """Return how many values a part of the document may hold when written out."""
        return work_limits.YAML_ALIAS_FACTOR * self._read + work_limits.YAML_ALIAS_ALLOWANCE

    def _mark(self, event: yaml.Event) -> Mark:
        return Mark(self._line(event))

    def _line(self, event: yaml.Event) -> int:
        return (event.start_mark.line if event.start_mark else 0) + 1 + self._offset

    def _error(self, message: str, event: yaml.Event, *, hint: str = "") -> TreeError:
        column = (event.start_mark.column if event.start_mark else 0) + 1
        return TreeError(message, line=self._line(event), column=column, hint=hint)


def _merge(into: Node, source: Node) -> bool:
    """Merge as kubectl does; in a list of mappings the first one wins. False: not mergeable."""
    parts = [source] if isinstance(source.value, dict) else _items(source)
    if not all(isinstance(part.value, dict) for part in parts):
        return False
    for part in reversed(parts):
        into.value.update(part.value)
        into.mark.entries.update(part.mark.entries)
    return True


def _items(source: Node) -> list[Node]:
    if not isinstance(source.value, list):
        return [source]
    return [Node(v, m) for v, m in zip(source.value, source.mark.items, strict=True)]
