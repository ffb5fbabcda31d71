"""A score that falls, on a real cluster: its picture in the terminal, the report and on screen."""

import asyncio
import json
import re
from pathlib import Path

import browser_world
import measured_world
import process_time
import team_world

_OPTIONS = """\
scoreThresholds: {pass: 80, marginal: 60}
groupWeights: {errors: 70, latency: 30}
"""
#: Looks at which latency is good.
_GOOD = 1
_DRAWN = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(each => each > 0)"


async def test_a_score_has_its_picture_at_all_three_places(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with (
        measured_world.world(tmp_path, "us") as given,
        team_world.team(tmp_path, given.clusters) as people,
    ):
        await people.known()
        asked = iter(range(1_000))
        given.metrics.answer = lambda query, time: (
            0.3 if query.startswith("latency") and next(asked) >= _GOOD else 0.01
        )
        commit = given.measures(
            "expected: {max: 0.05}", names=("errors", "latency"), options=_OPTIONS
        )
        await people.pushed(commit)
        run = await _ended(people, commit)

        said = (await people.volary("analysis", run)).out
        rows = [" ".join(line.split()) for line in said.splitlines()]
        for row in (
            r"score us passes from 80, marginal from 60 \d+ 70 of 100 fail █+▆+",
            r"errors \d+ 70 of 70 █+",
            r"latency \d+ 0 of 30 █+▁+",
        ):
            assert any(re.fullmatch(row, each) for each in rows), said

        report = tmp_path / "report.html"
        assert (await people.volary("analysis", run, "--report", str(report))).code == 0
        page = report.read_text()
        assert "<title>latency at " in page
        for words in ("passes from 80", "marginal from 60", "score</b> 70 of 100"):
            assert words in page, words

        async with chromium.tab(people.url) as ana:
            await ana.open("/")
            await ana.log_in(people.token)
            await ana.open(f"/runs/{run}?stage=3-ANALYSIS&cluster=us&tab=analysis")
            score = ana.page.get_by_role("region", name="score", exact=True)
            await score.get_by_text(
                "score on us: 70 of 100 is marginal, 80 passes"
            ).first.wait_for()
            await score.get_by_text("passes from 80, marginal from 60").wait_for()
            picture = score.get_by_role(
                "img",
                name="us: score last 70 of 100, errors last 70 of 70, latency last 0 of 30",
            )
            await picture.wait_for()
            assert await picture.locator("canvas").evaluate(_DRAWN)
            ana.check()


async def _ended(people: team_world.Team, commit: str) -> str:
    async with asyncio.timeout(process_time.HANG):
        while True:
            for run in json.loads((await people.volary("get", "runs", "-o", "json")).out):
                if run["commit"] == commit and run["finished"]:
                    return str(run["id"])
            await asyncio.sleep(0.2)
