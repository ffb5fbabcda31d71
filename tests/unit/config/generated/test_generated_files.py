"""What is made from the models: reference pages and schemas."""

from pathlib import Path
from typing import Any

import pytest

from volary.config.generated import reference_pages, schemas
from volary.config.stages import stage_sections
from volary.model.pipeline.stage_kinds import catalog

DOCS = Path(__file__).parents[4] / "docs/reference"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("agentpolicy", reference_pages.agent_policy_page()),
        ("application", reference_pages.application_page()),
        ("controller", reference_pages.controller_page()),
        ("fleet", reference_pages.fleet_page()),
        ("project", reference_pages.project_page()),
        ("workspace", reference_pages.workspace_page()),
    ],
)
def test_the_committed_page_is_current(page: str, text: str) -> None:
    """`python -m volary.config.generated.reference_pages NAME > docs/reference/NAME.md`."""
    assert (DOCS / f"{page}.md").read_text() == text


@pytest.mark.parametrize(
    "made",
    [
        schemas.agent_policy_schema(),
        schemas.application_schema(),
        schemas.controller_schema(),
        schemas.fleet_schema(),
        schemas.project_schema(),
        schemas.workspace_schema(),
    ],
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
    made = schemas.application_schema()
    entry = made["$defs"]["StageEntry"]
    offered = {
        each["then"]["properties"]["with"]["$ref"].rpartition("/")[2] for each in entry["allOf"]
    }

    assert "K8S_MULTI_CANARY_ROLLOUT" in entry["properties"]["name"]["enum"]
    assert "K8S_MULTI_WAIT" not in entry["properties"]["name"]["enum"]
    assert offered == {stage_sections.section(kind).__name__ for kind in catalog.listed()}
    assert offered <= set(made["$defs"])


def test_seconds_are_no_percentage() -> None:
    assert (
        "`placement.tolerations[].tolerationSeconds` | number |"
        in reference_pages.application_page()
    )
