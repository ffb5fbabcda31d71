"""The figures of "How Volary decides" are those of the simulation."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/how-volary-decides.md"


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    found = importlib.util.spec_from_file_location("simulation", ROOT / "benchmarks/simulation.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def table(name: str) -> list[str]:
    found = re.search(
        f"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", PAGE.read_text(), re.DOTALL
    )
    assert found is not None, name
    return found.group(1).splitlines()


@pytest.mark.parametrize(("name", "rows"), [("bad errors", 3), ("overlapping", 3)])
def test_the_figures_come_out_again(simulation: ModuleType, name: str, rows: int) -> None:
    """Else: ``python -m benchmarks.simulation``. The first rows stand for the rest."""
    computed = simulation.render(itertools.islice(simulation.TABLES[name](), rows))

    assert table(name)[: rows + 1] == computed.splitlines()


def test_every_table_is_on_the_page(simulation: ModuleType) -> None:
    assert all(len(table(name)) > 3 for name in simulation.TABLES)


def test_the_page_shows_the_promise_kept() -> None:
    """Judged together, at most 5 % of the healthy releases are condemned."""
    for line in table("false alarms")[2:]:
        _, _, latency, _, errors = line.strip("| ").split(" | ")
        assert float(latency.split()[0]) <= 5
        assert float(errors.split()[0]) <= 5


def test_every_claim_that_is_measured_is_on_the_page() -> None:
    """Else: ``python -m benchmarks.verdicts``, or the sentence there is another one."""
    measured = (ROOT / "benchmarks/verdicts.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in measured if line.startswith("| ")][1:]
    page = " ".join(PAGE.read_text().split())

    assert len(rows) > 10
    for sentence, where, result in rows:
        assert sentence in page, sentence
        assert where
        assert "%" in result
