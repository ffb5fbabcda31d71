"""Every field of Flagger's objects: carried out, warned about or refused, as the page says."""

import os
from typing import Any

import pytest

import field_tables
from volary.config.application import application_files
from volary.config.dialects.flagger import schema, translation
from volary.config.text import yaml
from volary.manifests.loading import serialization
from volary.model import errors

PAGE = field_tables.ROOT / "docs/reference/flagger-fields.md"
SECTIONS = field_tables.read("flagger")
ROWS = [row for section in SECTIONS for row in section.rows]
ABOUT = """\
What becomes of each field of a `Canary`, a `MetricTemplate` and an `AlertProvider`; how to move is
told in [come from Flagger](../how-to/coming-from-flagger.md). **Refused** is an error of
`volary lint` and of every run, before anything is written. Warned is said by lint, plan and run,
and everything else of the file is carried out. A field that is in no table is refused as a typo.
What changes what, where or to whom Flagger would deploy is carried out or refused.

The tests carry out every row, and where something is said this page has the code's own words.
"""


def result(row: field_tables.Row) -> field_tables.Result:
    text = serialization.dump_body(row.document)
    beside = {
        f"other-{i}.yaml": serialization.dump_body(dict(other))
        for i, other in enumerate(row.beside)
    }
    loaded = application_files.parse(
        text, file="canary.yaml", default_name="unused", neighbours=beside
    )
    made = translation.translate(
        yaml.load_all(text, "canary.yaml"), application_files.readable(beside)
    )
    assert (loaded.application is None) is bool(errors.mistakes(loaded.problems))
    body = made.draft.value
    spec: dict[str, Any] = body.get("spec", {})
    pipeline = spec.get("pipeline", {}).get("stages", ())
    stages = {stage["name"]: stage.get("with", {}) for stage in pipeline}
    objects = {item["kind"]: item["spec"] for item in spec.get("input", {}).get("objects", ())}
    becomes = {**body, "stages": stages, "objects": objects}
    return field_tables.Result(loaded.problems, becomes, made.settings)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_field_is_carried_out_or_said(row: field_tables.Row) -> None:
    found = result(row)

    others = [
        problem
        for problem in found.problems
        if problem.severity is errors.Severity.ERROR and problem not in found.of(row)
    ]
    assert others == []
    assert found.outcome(row) == row.outcome, [str(problem) for problem in found.problems]
    assert field_tables.contains(found.becomes, row.becomes), found.becomes
    assert field_tables.contains(found.settings, row.settings), found.settings
    assert row.outcome != field_tables.CARRIED_OUT or row.note


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_writes_its_fields(row: field_tables.Row) -> None:
    objects = {str(other["kind"]): other for other in row.beside}
    for name in row.fields:
        kind, _, rest = name.partition(".")
        known = objects.get(kind)
        is_there = field_tables.has_field(known or row.document, rest if known else name)
        assert is_there or "none" in row.when or "without" in row.when, name


def test_every_field_of_the_forms_has_a_row() -> None:
    known = {name for row in ROWS for name in row.fields}
    fields = [
        *field_tables.fields_of(schema.Spec, "spec."),
        *field_tables.fields_of(schema.TemplateSpec, "MetricTemplate.spec."),
        *field_tables.fields_of(schema.AlertProviderSpec, "AlertProvider.spec."),
    ]

    assert [
        name for name in fields if name not in known and not name.startswith("spec.canaryAnalysis")
    ] == []


def test_the_page_says_what_the_code_says() -> None:
    page = field_tables.page("Fields of Flagger's objects", ABOUT, SECTIONS, result)

    if os.environ.get("VOLARY_UPDATE_CASES"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
