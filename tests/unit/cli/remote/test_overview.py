"""The overview in the terminal."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich import console as rich_console

import process_time
import server_world
from volary.cli import forms
from volary.cli.remote import client, login, overview
from volary.concurrency import background_tasks
from volary.store import records

NOW = datetime(2026, 11, 23, 14, 30, tzinfo=UTC)
SHOWN: dict[str, Any] = {
    "at": "2026-11-23T14:30:00Z",
    "sentence": "2 of 41 applications need you; 1 run is under way",
    "attention": [
        {
            "kind": "approval",
            "application": "shop",
            "clusters": ["eu"],
            "sentence": "awaiting approval: 0 of 2 (approvers: sre)",
            "since": "2026-11-23T14:18:00Z",
            "command": "volary approve r1 --stage 2-WAIT_APPROVAL --seen 3",
        },
        {
            "kind": "clusterUnreachable",
            "application": "",
            "clusters": ["asia"],
            "sentence": "asia is unreachable: \x1b[31mrefused\nagain; 3 applications there",
            "since": None,
            "command": "volary cluster get asia",
        },
    ],
    "attentionOmitted": 0,
    "running": [
        {
            "run": "r2",
            "application": "cart",
            "commit": "a91f3c7dd",
            "sentence": "eu: 1 of 3 pods ready",
            "stagesDone": 4,
            "stagesTotal": 8,
            "clustersDone": 118,
            "clustersTotal": 120,
            "clustersFailed": 1,
            "canaryWeight": 10,
        }
    ],
    "runningOmitted": 0,
    "places": ["dev", "prod"],
    "placesBy": "environment",
    "applications": 41,
    "facets": {},
    "rows": [
        {
            "name": "shop",
            "status": "waiting",
            "released": "2026-11-23T12:30:00Z",
            "places": [
                {
                    "place": "prod",
                    "commits": ["7be2101aa", "a91f3c7dd"],
                    "clusters": 3,
                    "current": 2,
                    "health": "degraded",
                    "drift": "outOfSync",
                }
            ],
        }
    ],
}

TEXT = """\
2 of 41 applications need you; 1 run is under way

NEEDS YOU  WHAT           FOR  WHY
shop       … approval     12m  awaiting approval: 0 of 2 (approvers: sre)
asia       ? unreachable  -    asia is unreachable: \N{REPLACEMENT CHARACTER}[31mrefused again;\
 3 applications there

RUNNING  COMMIT   STAGES        CLUSTERS           CANARY  NOW
cart     a91f3c7  ▮▮▮▮▯▯▯▯ 4/8  118/120, 1 failed  10 %    eu: 1 of 3 pods ready

APPLICATION  STATUS   dev  prod                RELEASED
shop         waiting  -    7be2101 2/3 +1 ✗ ≠  120m ago
and 40 more"""


def test_what_needs_you_comes_first_then_what_runs_then_what_runs_where() -> None:
    assert list(overview.lines(SHOWN, NOW)) == TEXT.splitlines()


def test_wide_text_says_what_to_type() -> None:
    wide = "\n".join(overview.lines(SHOWN, NOW, wide=True))

    assert "volary approve r1 --stage 2-WAIT_APPROVAL --seen 3" in wide


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 17), (200, 60)])
def test_the_screen_fits_its_terminal(width: int, height: int) -> None:
    many = {**SHOWN, "rows": SHOWN["rows"] * 100, "attention": SHOWN["attention"] * 2}
    screen = rich_console.Console(width=width, height=height, force_terminal=True, record=True)

    screen.print(overview.draw(many, NOW, width, height))

    drawn = screen.export_text().splitlines()
    assert len(drawn) < height
    assert all(len(line.rstrip()) <= width for line in drawn)
    assert drawn[0].startswith("2 of 41 applications need you"[:width])


async def _watched(server: client.Client) -> None:
    await overview.show(server, forms.Form.JSON, watch=True)


async def test_it_is_read_from_a_server_and_again_when_something_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")
        async with client.Client.open(login.Target(world.url, token)) as server:
            await overview.show(server, forms.Form.TEXT)
            once = capsys.readouterr().out
            written = ""
            async with (
                asyncio.timeout(process_time.HANG),
                background_tasks.in_background(_watched(server)),
            ):
                while '"sentence"' not in written:
                    written += capsys.readouterr().out
                    await asyncio.sleep(0.05)
                broken = records.ApplicationRecord("web", status="broken", reason="no stages")
                await world.service.store.applications.keep(broken, fence=None)
                world.service.kept.notify_all()
                while written.count("\n") < 2:
                    written += capsys.readouterr().out
                    await asyncio.sleep(0.05)

    assert once.startswith("none of 2 applications needs you\n")
    before, after = (msgspec.json.decode(line) for line in written.splitlines()[:2])
    assert before["attention"] == []
    assert [one["sentence"] for one in after["attention"]] == ["no stages"]
