"""YAML and JSON as kubectl reads them, with the line of everything.

A file is cut into documents the way kubectl does it: at lines that start with
``---``, which may be followed by a comment only. Each document is read on its
own, so that one broken document does not hide the problems of the others.
Differences to kubectl, on purpose: duplicate keys are errors (kubectl silently
keeps the last one), and sizes are bounded.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml as pyyaml

from volary.config.text import yaml_scalars, yaml_tree
from volary.model import errors, work_limits

#: Steps into a document: keys of objects and indices of lists.
Path = tuple[str | int, ...]

_SEPARATOR = re.compile(r"^---(.*)$", re.MULTILINE)
#: Halves of pairs that stand alone: no encoding has them.
_HALVES = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its value and where its parts were written."""

    value: Any
    #: As the user would name it.
    file: str
    #: First line of the document's value, counted from 1 in the file.
    line: int
    mark: yaml_tree.Mark

    def line_of(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the closest parent that exists."""
        mark = self.mark
        for step in path:
            child_mark = _step(mark, step)
            if child_mark is None:
                break
            mark = child_mark
        return mark.line

    def where(self, path: Path = ()) -> errors.Location:
        """Return the place of `path` for a problem: file, line and dotted path."""
        return errors.Location(self.file, self.line_of(path), dotted(path))


def load_all(text: str, file: str = "") -> list[Document]:
    """Return the documents of a file; empty and ``null`` ones are left out.

    Raises:
        UserError: Every document that cannot be read, with line and column.
    """
    if len(text) > work_limits.YAML_CHARACTERS:
        limit = work_limits.YAML_CHARACTERS // (1024 * 1024)
        raise errors.user_error(
            f"the file is too large: {len(text)} characters, at most {limit} Mi are read",
            hint="split it into several files",
            where=errors.Location(file),
        )
    documents: list[Document] = []
    problems: list[errors.Problem] = []
    for chunk, offset in _chunks(text.removeprefix("\ufeff")):
        try:
            node = _read(chunk, offset)
        except yaml_tree.TreeError as error:
            problems.append(_problem(error, file))
            continue
        if node is not None and node.value is not None:
            documents.append(Document(node.value, file, node.mark.line, node.mark))
    if problems:
        raise errors.UserError(*problems)
    return documents


def dotted(path: Path) -> str:
    """Return ``spec.pipeline.stages[2].with``; keys with other characters are quoted."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


def _step(mark: yaml_tree.Mark, step: str | int) -> yaml_tree.Mark | None:
    if isinstance(step, str):
        return mark.entries.get(step)
    return mark.items[step] if 0 <= step < len(mark.items) else None


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """Yield documents with the number of lines above them."""
    start, lines = 0, 0
    for match in _SEPARATOR.finditer(text):
        yield text[start : match.start()], lines
        lines += text.count("\n", start, match.start())
        rest = match.group(1).strip()
        if rest and not rest.startswith("#"):
            # Kept as a document of its own kind of wrong: kubectl refuses this line.
            yield match.group(0), lines
        start = match.end()
    yield text[start:], lines


def _read(chunk: str, offset: int) -> yaml_tree.Node | None:
    if chunk.startswith("---"):
        raise yaml_tree.TreeError(
            f"text after a document separator: {chunk[:40].strip()}",
            line=offset + 1,
            hint="put the document on the line below ---",
        )
    if not chunk or chunk.isspace():
        return None
    try:
        return yaml_tree.build(_events(chunk, offset), offset)
    except yaml_tree.BrokenError:
        # JSON is almost YAML: surrogate pairs and some characters are the exceptions.
        if (node := _read_json(chunk, offset)) is None:
            raise
        return node


def _events(chunk: str, offset: int) -> Iterator[pyyaml.Event]:
    try:
        loader = pyyaml.CSafeLoader(chunk)
        try:
            while (event := loader.get_event()) is not None:
                yield event
        finally:
            loader.dispose()
    except pyyaml.MarkedYAMLError as error:
        raise _broken(error, chunk, offset) from error
    except pyyaml.reader.ReaderError as error:
        line = chunk.count("\n", 0, error.position) + 1 + offset
        raise yaml_tree.BrokenError("a character that YAML does not allow", line=line) from error
    except UnicodeEncodeError as error:
        line = chunk.count("\n", 0, error.start) + 1 + offset
        raise yaml_tree.BrokenError("a character that is not valid Unicode", line=line) from error


def _broken(error: pyyaml.MarkedYAMLError, chunk: str, offset: int) -> yaml_tree.BrokenError:
    mark = error.problem_mark or error.context_mark
    message = (error.problem or "cannot be read").removesuffix(".")
    hint = ""
    if "cannot start any token" in message:
        hint = (
            "indent with spaces (YAML does not allow tabs) and quote text that starts with @ or `"
        )
    elif "mapping values are not allowed" in message:
        hint = "quote the value: it contains a colon followed by a space, or check the indentation"
    elif chunk.lstrip().startswith("%"):
        hint = "remove the line that starts with %: kubectl does not take directives"
    line, column = (mark.line + 1 + offset, mark.column + 1) if mark else (0, 0)
    return yaml_tree.BrokenError(f"broken YAML: {message}", line=line, column=column, hint=hint)


def _read_json(chunk: str, offset: int) -> yaml_tree.Node | None:
    """Read JSON that YAML could not; everything is then placed at its first line."""
    body = chunk.lstrip()
    if not body.startswith("{"):
        return None
    try:
        value = json.loads(
            body,
            object_pairs_hook=_unique,
            parse_int=lambda text: yaml_scalars.from_json(int(text)),
            parse_float=lambda text: yaml_scalars.from_json(float(text)),
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError, OverflowError):
        return None
    if _is_too_deep(value):
        return None
    return yaml_tree.Node(
        _encodable(value), yaml_tree.Mark(1 + offset + chunk[: len(chunk) - len(body)].count("\n"))
    )


def _encodable(value: Any) -> Any:
    """Return JSON with U+FFFD in the place of halves of pairs, as Go reads them."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(inner) for inner in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(work_limits.YAML_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _problem(error: yaml_tree.TreeError, file: str) -> errors.Problem:
    message = f"{error.message} (column {error.column})" if error.column else error.message
    return errors.Problem(message, errors.Location(file, error.line), error.hint)
