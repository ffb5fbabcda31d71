"""The table of threats names modules and tests that are there, and no threat without a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PAGE = ROOT / "docs/explanation/security.md"
_TABLE = re.compile(
    r"^\| Who \| Threat \| Defence \| Test \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE
)
_CODE = re.compile(r"`([^`]+)`")
_MODULE = re.compile(r"[\w/]+\.py")


def rows() -> Iterator[tuple[str, str, str, str]]:
    found = _TABLE.search(_PAGE.read_text())
    assert found is not None
    for line in found[1].splitlines():
        who, threat, defence, test = (cell.strip() for cell in line.strip("|").split("|"))
        yield who, threat, defence, test


@pytest.mark.parametrize("row", tuple(rows()), ids=lambda row: row[1])
def test_a_threat_has_a_defence_and_a_test_that_are_there(row: tuple[str, str, str, str]) -> None:
    who, threat, defence, test = row
    modules = [name for name in _CODE.findall(defence) if _MODULE.fullmatch(name)]
    tests = [name.partition("::") for name in _CODE.findall(test)]

    assert who
    assert threat
    assert modules, "no module is named"
    assert [name for name in modules if not (ROOT / "src/volary" / name).is_file()] == []
    assert tests, "no test is named"
    assert [name for name, _, function in tests if function not in functions(name)] == []


def test_no_threat_is_there_twice() -> None:
    threats = [threat for _, threat, _, _ in rows()]

    assert len(threats) > 40
    assert len(set(threats)) == len(threats)


def functions(path: str) -> frozenset[str]:
    """Return the names of the tests in a file."""
    file = ROOT / path
    body = ast.parse(file.read_text()).body if file.is_file() else []
    return frozenset(
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )
