"""Runs and the commits that were refused before one began, as one list."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import server_world
from volary.store import records

API = "/api/v1"


async def fill(world: server_world.Served) -> None:
    """Runs r0 to r5, and between them commits that became none, and others that became those."""
    store = world.service.store
    application = records.ApplicationRecord("shop", "shop", "shop/volary.yaml")
    commits = []
    for number in range(6):
        world.clock.moment += timedelta(minutes=1)
        commits.append(
            records.CommitRecord("shop", f"begun-{number}", world.clock.now(), run_id=f"r{number}")
        )
        await world.keep_run(f"r{number}", "shop")
        if number % 2:
            commits.append(
                records.CommitRecord(
                    "shop",
                    f"refused-{number}",
                    # At the very time of a run.
                    world.clock.now() + timedelta(seconds=30 if number > 1 else 0),
                    subject="Bigger cache",
                    author="ana",
                    status="failed",
                    reason="volary.yaml: there is no stage K8S_SINC",
                    run_id=f"never-{number}",
                )
            )
    commits.append(
        records.CommitRecord(
            "shop", "newest", world.clock.now() + timedelta(hours=1), status="superseded"
        )
    )
    await store.applications.keep(application, fence=None, commits=commits)


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["run"] or item["commit"] for item in items]


NEWEST_FIRST = ["newest", "refused-5", "r5", "r4", "refused-3", "r3", "r2"]


async def test_a_refused_commit_stands_among_the_runs_with_its_reason(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await fill(world)
        _, page = await world.ask("GET", f"{API}/applications/shop/history")

    items = page["items"]
    assert names(items)[:7] == NEWEST_FIRST
    assert set(names(items)[7:]) == {"refused-1", "r1", "r0"}
    assert len(items) == 10
    assert page["cursor"] == ""
    refused = items[1]
    assert (refused["kind"], refused["status"], refused["by"]) == ("commit", "failed", "ana")
    assert refused["reason"] == "volary.yaml: there is no stage K8S_SINC"
    assert items[2]["kind"] == "run"


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_page_by_page_it_is_the_same_list(tmp_path: Path, limit: int) -> None:
    async with server_world.served(tmp_path) as world:
        await fill(world)
        _, whole = await world.ask("GET", f"{API}/applications/shop/history")
        walked, cursor = list[str](), ""
        for _ in range(60):
            status, page = await world.ask(
                "GET", f"{API}/applications/shop/history?limit={limit}&cursor={cursor}"
            )
            assert status == 200, page
            assert len(page["items"]) <= limit
            walked += names(page["items"])
            if not (cursor := page["cursor"]):
                break
        garbage, _ = await world.ask("GET", f"{API}/applications/shop/history?cursor=bm8")

    assert walked == names(whole["items"])
    assert garbage == 400


async def test_a_file_that_cannot_be_used_comes_first_as_long_as_it_cannot(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await fill(world)
        known = await world.service.store.applications.get("shop")
        assert known is not None
        document = {**known.document, "unusable_at": "garbage"}
        broken = replace(known, status="broken", reason="line 3: no mapping", document=document)
        await world.service.store.applications.keep(broken, fence=None)
        _, page = await world.ask("GET", f"{API}/applications/shop/history?limit=3")
        _, alone = await world.ask("GET", f"{API}/applications/shop/history?limit=1")
        _, after = await world.ask(
            "GET", f"{API}/applications/shop/history?limit=1&cursor={alone['cursor']}"
        )
        _, next_page = await world.ask(
            "GET", f"{API}/applications/shop/history?limit=3&cursor={page['cursor']}"
        )

    assert names(page["items"]) == ["garbage", *NEWEST_FIRST[:2]]
    assert (page["items"][0]["status"], page["items"][0]["reason"]) == (
        "broken",
        "line 3: no mapping",
    )
    assert names(next_page["items"])[0] == NEWEST_FIRST[2]
    assert names(alone["items"]) + names(after["items"]) == ["garbage", "newest"]
