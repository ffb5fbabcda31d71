"""Every field of PipeCD's files is carried out, refused or warned of, as the reference says.

`tests/cases/fields/pipecd.yaml` has a row for each. `VOLARY_UPDATE_CASES=1` writes the page of
them; read the difference before committing it.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from volary.config.application import application_files, application_sections
from volary.config.crosscheck import fleet_checks
from volary.config.decoding import base_sections, readings
from volary.config.fleet import fleet_files
from volary.config.stages import stage_sections
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import catalog, stage_kind

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/reference/pipecd-fields.md"
TABLE = yaml.safe_load((ROOT / "tests/cases/fields/pipecd.yaml").read_text())
ROWS = [(part, row) for part in TABLE["parts"] for row in part["rows"]]


@dataclass(frozen=True)
class Reading:
    """What a file says, and what is wrong with it."""

    value: applications.Application | fleets.Fleet | None
    problems: tuple[errors.Problem, ...]
    clusters: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("part", "row"),
    [
        pytest.param(part, row, id=f"{part['title']}-{row['field']}-{row['is']}-{number}")
        for number, (part, row) in enumerate(ROWS)
    ],
)
def test_a_field_is_carried_out_refused_or_warned_of(
    part: dict[str, Any], row: dict[str, Any]
) -> None:
    """Carried out: the model has it, and nothing is said about it."""
    without = read(part, row.get("given", {}))
    reading = read(part, row.get("given", {}), row["snippet"])

    match row["is"]:
        case "c":
            assert new_problems(part, row) == []
            assert reading.value is not None
            if "targets" not in row:
                assert reading.value != without.value
        case "r":
            assert errors.mistakes(said(part, row))
        case "w":
            assert not errors.mistakes(new_problems(part, row))
            assert said(part, row)
    if "targets" in row:
        assert reading.clusters == tuple(row["targets"])


def test_whatever_is_refused_comes_with_what_to_write() -> None:
    """In a hint, or where the sentence has it."""
    silent = [
        row["field"]
        for part, row in ROWS
        if row["is"] == "r"
        and not any(problem.hint or "must" in problem.message for problem in said(part, row))
    ]

    assert silent == []


def test_the_page_says_what_the_table_says() -> None:
    if os.environ.get("VOLARY_UPDATE_CASES"):
        PAGE.write_text(page())

    assert PAGE.read_text() == page()


def test_no_field_is_left_out_of_the_table() -> None:
    own = TABLE["own"]["fields"]
    rows = {_full(part, row) for part, row in ROWS}

    missing = [
        path
        for path in fields_of_pipecd()
        if not any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in own)
        and path not in rows
    ]

    assert missing == []


def new_problems(part: Mapping[str, Any], row: Mapping[str, Any]) -> list[errors.Problem]:
    """Return what is said because of the row's snippet."""
    given = row.get("given", {})
    known = () if "fleet" in part else read(part, given).problems
    reading = read(part, given, row["snippet"])
    return [problem for problem in reading.problems if problem not in known]


def said(part: Mapping[str, Any], row: Mapping[str, Any]) -> list[errors.Problem]:
    """Return what is said at the row's field."""
    steps = [part.get("at", ""), row.get("names", row["field"])]
    path = ".".join(filter(None, steps)).replace("[]", "[0]")
    return [
        problem
        for problem in new_problems(part, row)
        if problem.where.path.removesuffix("[0]") == path.removesuffix("[0]")
    ]


def read(part: Mapping[str, Any], *snippets: Mapping[str, Any]) -> Reading:
    """Return what a file with the snippets says, and for an application where it goes."""
    written: Any = {"apiVersion": "pipecd.dev/v1beta1", "kind": "Application", "spec": {}}
    written = merged(written, part.get("file", {}))
    if "stage" in part:
        stages = [*part.get("before", ()), part["stage"]]
        kubernetes = part.get("kubernetes", {"service": {"name": "web"}})
        written["spec"] = {
            "plugins": {"kubernetes_multicluster": kubernetes},
            "pipeline": {"stages": [{"name": name} for name in stages]},
        }
    for snippet in (part.get("given", {}), *snippets):
        written = merged(written, at(part.get("at", ""), snippet))
    text = json.dumps(written)
    if written["kind"] == "Piped":
        loaded = fleet_files.parse(text, file="piped.yaml")
        return Reading(loaded.value, loaded.problems)
    application = application_files.parse(
        text,
        file="app.pipecd.yaml",
        default_name="shop",
        neighbours={".pipe/templates.yaml": json.dumps(TABLE["templates"])},
    )
    if "fleet" not in part or application.application is None:
        return Reading(application.application, application.problems)
    piped = {"apiVersion": "pipecd.dev/v1beta1", "kind": "Piped", **part["fleet"]}
    fleet = fleet_files.parse(json.dumps(piped), file="piped.yaml").require()
    problems = fleet_checks.against_fleet(
        application.application, fleet, document=application.document, base=application.base
    )
    chosen = fleet_checks.deployment_targets(application.application, fleet)
    names = tuple(cluster.name for cluster in chosen)
    return Reading(application.application, (*application.problems, *problems), names)


def at(path: str, snippet: object) -> object:
    """Return a snippet in the place that it is for, as a whole file."""
    for step in reversed(re.findall(r"\w+", path)):
        snippet = [*([{}] * int(step)), snippet] if step.isdigit() else {step: snippet}
    return snippet


def merged(into: Any, other: Any) -> Any:
    """Return both; lists entry by entry, and of two values the second."""
    if isinstance(into, dict) and isinstance(other, dict):
        both = {key: merged(into[key], other[key]) for key in into.keys() & other.keys()}
        return {**into, **other, **both}
    if isinstance(into, list) and isinstance(other, list):
        longer = into if len(into) > len(other) else other
        both_lists = [merged(*pair) for pair in zip(into, other, strict=False)]
        return [*both_lists, *longer[len(both_lists) :]]
    return other


def page() -> str:
    lines = [TABLE["intro"]]
    for part in TABLE["parts"]:
        lines.append(f"## {part['title']}\n")
        if where := part.get("at"):
            text = f" {part['text'].strip()}" if "text" in part else ""
            lines.append(f"Under `{_shown(where)}`.{text}\n")
        lines.append("| Field | | | |\n|---|---|---|---|")
        for row in part["rows"]:
            words = "" if row["is"] == "c" else _words(said(part, row)[0])
            cells = [f"`{row['field']}`", row.get("note", ""), TABLE["outcomes"][row["is"]], words]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    lines.append(TABLE["own"]["text"])
    lines += [f"- `{field}`" for field in TABLE["own"]["fields"]]
    return "\n".join(lines) + "\n"


def _words(problem: errors.Problem) -> str:
    hint = f"; hint: {problem.hint}" if problem.hint else ""
    return f"{problem.message}{hint}".replace("|", "\\|")


def fields_of_pipecd() -> Iterator[str]:
    """Yield every field that is known, whatever becomes of it; not those of Volary's own stages."""
    yield from walk(application_sections.PipecdFile, "")
    names = {stage_kind.canonical(part["stage"]) for part in TABLE["parts"] if "stage" in part}
    for name in names:
        yield from walk(stage_sections.section(catalog.of(name)), f"{name}.")


def walk(section: type[base_sections.Section], prefix: str) -> Iterator[str]:
    for name, info in section.model_fields.items():
        key = info.alias or name
        inner = readings.section_of(info.annotation)
        brackets = "[]" if str(info.annotation).startswith(("list", "typing.List")) else ""
        if key == "kubernetes":
            continue
        if inner is None:
            yield f"{prefix}{key}{brackets}"
        else:
            yield from walk(inner, f"{prefix}{key}{brackets}.")
    for table in (section.refused, section.later, section.misplaced):
        yield from (f"{prefix}{key}" for key in table)


def _full(part: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if part.get("at", "").endswith(".with"):
        return f"{stage_kind.canonical(part['stage'])}.{row['field']}"
    path = f"{_shown(part.get('at', ''))}.{row['field']}".removeprefix(".")
    return path.replace("plugins.kubernetes.", "plugins.kubernetes_multicluster.")


def _shown(path: str) -> str:
    return re.sub(r"\[\d\]", "[]", path)
