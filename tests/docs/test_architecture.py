"""The pages on how Volary is built say what the code is; links and anchors lead somewhere."""

import ast
import functools
import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PAGES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    if not name.startswith(("changelog.d/", "tests/")) and (ROOT / name).exists()
)


def tool(name: str) -> ModuleType:
    """Return a module of `tools`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_layers_on_the_page_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contract = next(each for each in contracts["contracts"] if each["type"] == "layers")
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    drawn = re.search(r"## Layers.*?```text\n(.*?)```", page, re.DOTALL)

    assert drawn is not None
    assert drawn.group(1).splitlines() == contract["layers"]


def test_the_tree_on_the_page_is_that_of_the_packages() -> None:
    """`python tools/write_package_tree.py` writes it."""
    page = (ROOT / "docs/explanation/architecture.md").read_text()

    assert tool("write_package_tree").page() == page


def packages() -> Iterator[tuple[str, str]]:
    """Yield each package, and where its docstring says to start reading."""
    for init in sorted((SOURCES / "volary").rglob("__init__.py")):
        package = ".".join(init.parent.relative_to(SOURCES).parts)
        docstring = " ".join((ast.get_docstring(ast.parse(init.read_text())) or "").split())
        begin = re.search(r"[Ss]tart (?:reading )?(?:at|with) (?:`([\w.]+)`|the first)", docstring)
        yield package, begin.group(1) or "" if begin else "nowhere"


@pytest.mark.parametrize(("package", "name"), [*packages()])
def test_each_package_says_where_to_start_reading_and_there_is_something(
    package: str, name: str
) -> None:
    """A module, or a name in one; relative to the package, or to `volary`."""
    folders = [SOURCES / package.replace(".", "/"), SOURCES / "volary"]
    assert any(is_there(folder, name.split(".")) for folder in folders)


def is_there(folder: Path, names: list[str]) -> bool:
    """Say whether a package holds a sub-package, a module, or a name in a module."""
    for depth in range(len(names), -1, -1):
        place = folder.joinpath(*names[:depth])
        if place.is_dir() and depth == len(names):
            return True
        if depth and place.with_suffix(".py").exists():
            text = place.with_suffix(".py").read_text()
            return all(re.search(rf"\b{name}\b", text) for name in names[depth:])
    return False


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]

    assert broken == []


def test_links_to_headings_lead_to_a_heading() -> None:
    dead = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text()):
            linked = (page.parent / target).resolve() if target else page
            if linked.suffix == ".md" and anchor not in anchors(linked):
                dead.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")

    assert dead == []


@functools.cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = sum(1 for known in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", known))
        found.add(f"{slug}-{number}" if number and slug in found else slug)
    return frozenset(found)


def test_every_page_of_the_docs_is_reached_from_their_index() -> None:
    index = ROOT / "docs/README.md"
    reached, todo = {index}, [index]
    while todo:
        page = todo.pop()
        for target in re.findall(r"\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)", page.read_text()):
            linked = (page.parent / target).resolve()
            if linked not in reached and linked.is_relative_to(ROOT / "docs"):
                reached.add(linked)
                todo.append(linked)

    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - reached == set()
