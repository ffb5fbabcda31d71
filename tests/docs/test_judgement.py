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


@pytest.mark.parametrize(
    ("name", "rows"),
    [("bad errors", 2), ("overlapping", 2), ("scores", 2), ("budgets", 3), ("sides", 2)],
)
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


def shares(name: str) -> list[list[float]]:
    """Return the percentages of a table, row by row; what is none is left out."""
    rows = [line.strip("| ").split(" | ")[1:] for line in table(name)[2:]]
    return [[float(cell[:-2]) for cell in row if cell.endswith(" %")] for row in rows]


def test_a_score_is_what_the_page_says_of_it() -> None:
    """Rarer false alarms, more misses, and what is critical fails as it does without a score."""
    found = shares("scores")
    healthy, one = found[:2]

    assert len(found) == 5
    assert max(healthy) <= 5
    for every, score, with_critical in found:
        assert score <= with_critical <= every
    every, score, with_critical = one
    assert every > 30
    assert score < 5
    assert with_critical == every


def test_an_error_budget_is_kept_as_the_page_says() -> None:
    """Up to the bound at most 5 % fail, and what is far above it is found whatever the weather."""
    found = dict(zip((30, 14.4, 10, 8, 6, 3, 1), shares("budgets"), strict=True))
    names = [line.split(" | ")[0].strip("| ") for line in table("budgets")[2:]]

    assert [name.split()[0] for name in names[:-1]] == ["30", "14.4", "10", "8", "6", "3"]
    for rate, (fails, passes, in_bursts, passes_in_bursts) in found.items():
        if rate <= 6:
            assert max(fails, in_bursts) <= 5, rate
        if rate < 6:
            assert passes == 100
        if rate > 6:
            assert fails > 90, rate
            assert passes == 0, rate
        if rate >= 10:
            assert in_bursts > 90, rate
            assert passes_in_bursts <= 1, rate


def test_three_sides_tell_a_bad_release_from_new_pods_as_the_page_says() -> None:
    bad, both, healthy, new = shares("sides")

    for fails, passes, _, _ in (bad, both):
        assert (fails, passes) == (100, 0)
    for fails, passes, _, _ in (healthy, new):
        assert fails <= 5
        assert passes > 90
    assert healthy[3] <= 5
    assert new[3] > 95, "against primary alone"
