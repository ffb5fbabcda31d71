"""The demos over many clusters: waves, and Karmada's policies."""

import re
from pathlib import Path

from demo_world import demo


async def test_a_lost_cluster_is_gone_without_and_caught_up(tmp_path: Path) -> None:
    told = await demo(tmp_path / "waves", "waves")

    assert told.code == 0, told
    first, _, rest = told.out.partition("3. eu-2 is back")
    assert "wave 2   quarter: us-2, eu-2, asia-2 (2 at once, 1 may be unreachable)" in first
    assert "eu-2 is lost now" in first
    assert "the run went on without eu-2 (unreachable: " in first
    assert first.count("fleet 2/2   users: v2 100%") == 11
    assert rest.count("fleet 2/2   users: v2 100%") == 12


async def test_karmadas_policies_are_carried_out_as_they_are(tmp_path: Path) -> None:
    """Where to, how many and what differs: of the first version, an update and an edit."""
    told = await demo(tmp_path / "karmada", "karmada")

    assert told.code == 0, told
    assert re.search(r"attic +excluded by name", told.out)
    assert re.search(r"lab +label env is test, not prod", told.out)
    rows = [line.split() for line in told.out.splitlines()]
    eu = [row[1:] for row in rows if row[:1] == ["eu"] and len(row) == 6]
    image = "eu.example.org/example/web"
    assert eu == [
        [f"{image}:v1", "2/2", "gold", "EUR", "USD"],
        [f"{image}:v2", "2/2", "gold", "EUR", "USD"],
        [f"{image}:v2", "2/2", "gold", "CHF", "USD"],
    ]
    assert rows.count(["us", "example/web:v2", "4/4", "shared", "USD", "USD"]) == 2
    assert rows.count(["asia", "example/web:v2", "2/2", "shared", "USD", "JPY"]) == 2
    assert [row[1:] for row in rows if row[:1] in (["attic"], ["lab"])].count(["nothing"]) == 6
    assert told.out.count("3 of 3 clusters would change") == 1
    assert told.out.count("1 of 3 clusters would change") == 1
