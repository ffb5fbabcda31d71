"""What is made from the models: reference pages and schemas."""

from pathlib import Path
from typing import Any

import pytest

from volary.config import options, reference, schema

DOCS = Path(__file__).parents[3] / "docs/reference"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("application", reference.application_page()),
        ("controller", reference.controller_page()),
        ("fleet", reference.fleet_page()),
    ],
)
def test_the_committed_page_is_current(page: str, text: str) -> None:
    """`python -m volary.config.reference application > docs/reference/application.md`."""
    assert (DOCS / f"{page}.md").read_text() == text


@pytest.mark.parametrize(
    "made",
    [schema.application_schema(), schema.controller_schema(), schema.fleet_schema()],
)
def test_every_field_of_a_schema_is_described(made: dict[str, Any]) -> None:
    objects = {"": made, **made["$defs"]}
    missing = [
        f"{name}.{field}"
        for name, each in objects.items()
        for field, described in each.get("properties", {}).items()
        if "description" not in described and "$ref" not in described
    ]

    assert missing == []


def test_the_schema_offers_the_options_of_every_stage() -> None:
    made = schema.application_schema()
    entry = made["$defs"]["StageEntry"]
    offered = {
        each["then"]["properties"]["with"]["$ref"].rpartition("/")[2] for each in entry["allOf"]
    }

    assert "K8S_MULTI_CANARY_ROLLOUT" in entry["properties"]["name"]["enum"]
    assert "K8S_MULTI_WAIT" not in entry["properties"]["name"]["enum"]
    assert offered == {model.__name__ for model in options.BY_NAME.values()}
    assert offered <= set(made["$defs"])


def test_seconds_are_no_percentage() -> None:
    assert "`placement.tolerations[].tolerationSeconds` | number |" in reference.application_page()
