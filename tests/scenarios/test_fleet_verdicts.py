"""One verdict over regions that differ: who decides, who is named, who neither blocks nor blinds.

Errors are compared as proportions, canary against baseline, all looks together.
"""

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import command_world
import metrics_server
from measured_world import World, findings, world

NAMES = ("us", "eu", "asia")
RULE = """\
kind: proportion
totalQuery: 'requests{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
strategy: CANARY_BASELINE
deviation: HIGH
judgement: sequential
minSamples: 500
scope: SCOPE
"""

#: Requests a look on each side, share of errors on canary, on baseline; no requests: no data.
Region = tuple[int, float, float]
HEALTHY: dict[str, Region] = {"us": (1_000, 0.01, 0.01), "eu": (1_000, 0.05, 0.05)}
QUIET = {**HEALTHY, "asia": (4, 0.0, 0.0)}
SILENT = {**HEALTHY, "asia": (0, 0.0, 0.0)}
ONE_BAD = {**HEALTHY, "eu": (1_000, 0.15, 0.05), "asia": (1_000, 0.02, 0.02)}
ALL_BAD: dict[str, Region] = {
    "us": (1_000, 0.05, 0.01),
    "eu": (1_000, 0.05, 0.01),
    "asia": (4, 0.25, 0.0),
}


def answers(regions: Mapping[str, Region]) -> metrics_server.Answer:
    """Say what these regions count."""

    def answer(query: str, time: float) -> float | None:
        found = re.fullmatch(r'(\w+)\{cluster="(\w+)",variant="(\w+)"\}', query)
        assert found is not None, query
        what, cluster, variant = found.groups()
        requests, canary, baseline = regions[cluster]
        if not requests:
            return None
        share = canary if variant == "canary" else baseline
        return requests * share if what == "errors" else requests

    return answer


async def release(world: World, scope: str, regions: Mapping[str, Region]) -> command_world.Ended:
    """When the new version is released, and the regions count this."""
    world.metrics.answer = answers(regions)
    world.measures(RULE.replace("SCOPE", scope))
    return await world.run()


def verdicts(ended: command_world.Ended) -> dict[str, dict[str, Any]]:
    """Then: the last verdict of each region."""
    return {each["target"]: each["document"] for each in findings(ended, "verdict")}


@pytest.fixture
async def regions(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, *NAMES) as running:
        yield running


@pytest.mark.parametrize(("scope", "counted"), [("pooled", QUIET), ("both", SILENT)])
async def test_a_region_without_traffic_does_not_block(
    regions: World, scope: str, counted: dict[str, Region]
) -> None:
    ended = await release(regions, scope, counted)
    found = verdicts(ended)

    assert ended.code == 0, ended
    for name in NAMES:
        assert regions.clusters.images(name) == "example/simple:v2 2/2"
    assert {name: each["result"] for name, each in found.items()} == dict.fromkeys(NAMES, "pass")
    assert found["asia"]["own"]["result"] == "inconclusive"
    assert "errors over 3 clusters: canary has " in found["asia"]["sentence"]


async def test_alone_a_region_without_traffic_holds_the_release(regions: World) -> None:
    """What the pooled verdict is for."""
    ended = await release(regions, "perCluster", QUIET)

    assert ended.code == 1, ended
    assert "errors on asia: too little to pass: " in ended.events[-1]["reason"]
    assert "of 500 samples on each side until the deadline" in ended.events[-1]["reason"]
    assert regions.clusters.images("us") == "example/simple:v1 2/2"


async def test_one_bad_region_fails_by_itself_with_its_numbers(regions: World) -> None:
    ended = await release(regions, "both", ONE_BAD)
    found = verdicts(ended)

    assert ended.code == 1, ended
    assert found["eu"]["result"] == "fail"
    assert (
        "errors on eu: canary has 15.0 % (3000 requests), baseline 5.0 % (3000); 3 times"
        in (found["eu"]["sentence"])
    )
    assert "errors on eu: canary has 15.0 %" in ended.events[-1]["reason"]
    for name in ("us", "asia"):
        assert found.get(name, {"result": "pass"})["result"] != "fail"


async def test_what_all_show_counts_where_hardly_anything_was_seen(regions: World) -> None:
    ended = await release(regions, "pooled", ALL_BAD)
    found = verdicts(ended)

    assert ended.code == 1, ended
    assert {name: each["result"] for name, each in found.items()} == dict.fromkeys(NAMES, "fail")
    assert found["asia"]["own"]["result"] == "inconclusive"
    assert "errors over 3 clusters: " in ended.events[-1]["reason"]
    for name in NAMES:
        assert regions.clusters.images(name) == "example/simple:v1 2/2"
        assert regions.clusters.find(name, "Deployment", "simple-canary") is None
