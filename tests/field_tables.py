"""What becomes of each field of another project's files: tables that tests and pages are made from.

A row of tests/cases/fields/<dialect>.yaml writes something over a file that is carried out without
a word, and says what has to come of it. The page of the reference has the rows with what the code
says of them, so neither the code nor the page can go its own way.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model import errors

ROOT = Path(__file__).parents[1]
CARRIED_OUT, WARNED, REFUSED = "carried out", "warned", "refused"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what is written, and what has to come of it."""

    #: The file without it.
    base: Mapping[str, Any]
    fields: Sequence[str]
    write: Mapping[str, Any]
    outcome: str
    when: str = ""
    #: What a field that is carried out becomes, in words.
    note: str = ""
    #: What it becomes, see `Result`.
    becomes: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Other objects of the directory.
    beside: Sequence[Mapping[str, Any]] = ()
    #: Where the message stands; empty: at one of the fields; `manifests`: at an object.
    at: str = ""
    #: Only of the kind that is in a namespace.
    is_namespaced: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The file with what the row writes."""
        return merged(self.base, self.write)

    def __str__(self) -> str:
        return f"{self.fields[0]} {self.when}".strip()


@dataclass(frozen=True, slots=True)
class Section:
    """Rows about one subject."""

    title: str
    rows: Sequence[Row]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What the code makes of a row."""

    problems: Sequence[errors.Problem]
    #: The translation: its sections, with `stages` by name and `objects` by kind beside them.
    becomes: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def of(self, row: Row) -> list[errors.Problem]:
        """Return what is said about the fields of a row."""
        if row.at == "manifests":
            return [problem for problem in self.problems if not problem.where.path]
        places = [row.at] if row.at else [_last(name) for name in row.fields]
        return [
            problem
            for problem in self.problems
            if any(_is_about(_plain(problem.where.path), place) for place in places)
        ]

    def outcome(self, row: Row) -> str:
        """Return what became of a row's fields."""
        if any(problem.severity is errors.Severity.ERROR for problem in self.of(row)):
            return REFUSED
        return WARNED if self.of(row) else CARRIED_OUT


def read(name: str) -> list[Section]:
    """Return the table of a dialect."""
    text = (ROOT / f"tests/cases/fields/{name}.yaml").read_text()
    (document,) = yaml.load_all(text, name)
    table = document.value
    bases = table.get("bases", {"": table.get("base")})
    return [
        Section(
            section["title"],
            [_row(row, bases[section.get("base", "")]) for row in section["rows"]],
            section.get("about", ""),
        )
        for section in table["sections"]
    ]


def _row(written: Mapping[str, Any], base: Mapping[str, Any]) -> Row:
    note = written.get(CARRIED_OUT, "")
    return Row(
        base,
        written["fields"],
        written["write"],
        written.get("outcome", CARRIED_OUT),
        written.get("when", ""),
        note,
        written.get("becomes", {}),
        written.get("settings", {}),
        written.get("beside", ()),
        written.get("at", ""),
        written.get("namespaced", False),
    )


def merged(base: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with what is written over it; null removes."""
    result = copy.deepcopy(dict(base))
    for key, value in written.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def contains(whole: Any, part: Any) -> bool:
    """Say whether everything in `part` is in `whole`; entries of lists go by their place."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, Sequence) and not isinstance(part, str):
        return len(whole) >= len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def has_field(document: Any, name: str) -> bool:
    """Say whether an object has a field, in any entry of the lists on the way."""
    if not name:
        return True
    if isinstance(document, Sequence) and not isinstance(document, str):
        return any(has_field(item, name) for item in document)
    if not isinstance(document, Mapping):
        return False
    return any(
        (name == key or name.startswith(f"{key}.")) and has_field(value, name[len(key) + 1 :])
        for key, value in document.items()
    )


def fields_of(section: type[base_sections.Section], prefix: str = "") -> Iterator[str]:
    """Yield the fields of a form that have none below them."""
    for name, info in section.model_fields.items():
        path = f"{prefix}{info.alias or name}"
        inner = readings.section_of(info.annotation)
        if inner is None:
            yield path
        else:
            yield from fields_of(inner, f"{path}.")


def page(
    title: str, about: str, sections: Sequence[Section], result: Callable[[Row], Result]
) -> str:
    """Return the page of a table, with what the code says of each row."""
    lines = [f"# {title}", "", about.strip(), ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines += [section.about.strip(), ""] if section.about else []
        lines += ["| Field | When | | |", "|---|---|---|---|"]
        for row in section.rows:
            names = ", ".join(name if "`" in name else f"`{name}`" for name in row.fields)
            said = row.note or _said(result(row).of(row))
            lines.append(f"| {names} | {row.when} | {_shown(row.outcome)} | {said} |")
        lines.append("")
    return "\n".join(lines)


def _shown(outcome: str) -> str:
    return f"**{outcome}**" if outcome == REFUSED else outcome


def _said(problems: Sequence[errors.Problem]) -> str:
    worst = any(problem.severity is errors.Severity.ERROR for problem in problems)
    texts = [
        f"{problem.message}; hint: {problem.hint}" if problem.hint else problem.message
        for problem in problems
        if not worst or problem.severity is errors.Severity.ERROR
    ]
    return ". ".join(dict.fromkeys(texts)).replace("|", "\\|").replace("{{", "{&#123;")


def _plain(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def _last(name: str) -> str:
    """Leave the kind of a neighbour out."""
    return name.partition(".")[2] if name[0].isupper() else name


def _is_about(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))
