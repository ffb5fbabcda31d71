"""Reference pages say what the code does."""

import importlib.util
import re
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from volary.config.application import application_files
from volary.engine.observers import feed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_event_is_documented() -> None:
    page = (DOCS / "reference/events.md").read_text()

    names = [kind.__struct_config__.tag for kind in get_args(feed.AnyEvent)]
    missing = {name for name in names if f"| `{name}` |" not in page}

    assert missing == set()


@pytest.mark.parametrize(
    ("tool", "page"),
    [
        ("write_cli_reference", "docs/reference/cli.md"),
        ("write_api_reference", "docs/reference/api.md"),
        ("write_web_types", "web/src/api/types.ts"),
    ],
)
def test_a_generated_page_is_current(tool: str, page: str) -> None:
    """Else: ``python tools/TOOL.py``."""
    found = importlib.util.spec_from_file_location("write", ROOT / f"tools/{tool}.py")
    assert found is not None
    assert found.loader is not None
    writer = importlib.util.module_from_spec(found)
    found.loader.exec_module(writer)

    assert (ROOT / page).read_text() == writer.page()


def test_the_application_file_of_the_readme_is_clean() -> None:
    readme = (DOCS.parent / "README.md").read_text()
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```", readme, re.DOTALL | re.MULTILINE)
    text = textwrap.dedent(next(each for each in blocks if "kind: Application" in each))

    loaded = application_files.parse(text, file="README.md", default_name="")

    assert loaded.problems == ()
    assert loaded.require().name == "shop"
