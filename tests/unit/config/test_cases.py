"""Each folder of tests/cases/config is a small repository with the problems `lint` finds in it.

`VOLARY_UPDATE_CASES=1` writes what is found; read the difference before committing it.
"""

import os
from pathlib import Path

import pytest

from volary.config.crosscheck import lint
from volary.config.fleet import fleet_files
from volary.model import errors

CASES = Path(__file__).parents[2] / "cases/config"


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_every_problem_is_found_with_its_place(case: str) -> None:
    folder = CASES / case
    files = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    applications = {f"apps/shop/{name}": text for name, text in files.items()}
    shared = {f".pipe/{path.name}": path.read_text() for path in folder.glob(".pipe/*.yaml")}
    applications |= shared
    clusters = fleet_files.parse(files.get("fleet.yaml", ""), file="fleet.yaml").value

    found = "".join(shown(each) for each in lint.check(applications, clusters, anchored=True))

    expected = folder / "expected.txt"
    if os.environ.get("VOLARY_UPDATE_CASES"):
        expected.write_text(found)
    assert found == expected.read_text()


def shown(each: errors.Problem) -> str:
    return f"{each.severity.value} {each}\n".replace("apps/shop/", "")
