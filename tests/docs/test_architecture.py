"""The architecture page and the import contract say the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_layers_on_the_page_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contract = next(each for each in contracts["contracts"] if each["type"] == "layers")
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    drawn = re.search(r"## Layers.*?```text\n(.*?)```", page, re.DOTALL)

    assert drawn is not None
    assert drawn.group(1).splitlines() == contract["layers"]


def test_every_room_is_described() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "src/volary").glob("*/__init__.py")}

    assert {room for room in rooms if f"| `{room}` |" not in page} == set()


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]

    assert broken == []
