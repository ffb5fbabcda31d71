"""The application and settings files in the how-to pages can be used as they stand."""

import re
from pathlib import Path

import pytest

from volary.config.agents import policy_files
from volary.config.application import application_files
from volary.config.projects import project_files
from volary.config.server import settings_files
from volary.config.workspaces import workspace_files
from volary.model import errors as model_errors

PAGES = Path(__file__).parents[2] / "docs/how-to"


def blocks(kind: str) -> list[object]:
    return [
        pytest.param(block, id=f"{page.stem}-{number}")
        for page in sorted(PAGES.glob("*.md"))
        for number, block in enumerate(
            re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        )
        if re.match(rf"(#.*\n)*apiVersion: (volary|pipecd)\.dev/\S+\nkind: {kind}\n", block)
    ]


BLOCKS = blocks("Application")


@pytest.mark.parametrize("block", BLOCKS)
def test_an_application_has_no_error(block: str) -> None:
    loaded = application_files.parse(block, file="page.md", default_name="shop")
    errors = [each for each in loaded.problems if each.severity is model_errors.Severity.ERROR]
    assert errors == []


@pytest.mark.parametrize("block", blocks("Controller"))
def test_settings_have_no_error(block: str) -> None:
    assert settings_files.parse(block, file="page.md").problems == ()


@pytest.mark.parametrize("block", blocks("Project"))
def test_projects_have_no_error(block: str) -> None:
    assert project_files.parse([project_files.TextFile("page.md", block)]).problems == ()


@pytest.mark.parametrize("block", blocks("Workspace"))
def test_a_workspace_has_no_error(block: str) -> None:
    assert workspace_files.parse(block, file="page.md").problems == ()


@pytest.mark.parametrize("block", blocks("AgentPolicy"))
def test_a_policy_has_no_error(block: str) -> None:
    assert policy_files.parse(block, file="page.md").problems == ()


def test_there_are_some() -> None:
    assert len(BLOCKS) >= 2
    assert blocks("Project")
    assert blocks("Workspace")
