"""A server of its own, on sandbox clusters and a Git repository, seen from a real browser."""

from pathlib import Path

import aiohttp

import browser_world
import command_world
import team_world


async def test_a_run_is_watched_and_asked_for_from_the_browser(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        team_world.team(tmp_path, world) as people,
    ):
        await people.known()
        async with chromium.tab(people.url) as ana:
            await ana.open("/applications/simple")
            await ana.log_in(people.token)
            status, said = await ana.ask(
                "POST", "/api/v1/applications/simple/sync", body={"strategy": "quick"}
            )
            watched = await people.volary("status", "simple", "--wait")
            # What a stream says comes with the cookie of the page.
            first = await ana.page.evaluate(
                """() => new Promise((resolve) => {
                    const stream = new EventSource('/api/v1/events/stream?after=0');
                    stream.addEventListener('run-started', (event) => {
                        stream.close();
                        resolve(JSON.parse(event.data).application);
                    });
                })"""
            )
            ana.check()

    assert (status, '"run":' in said) == (202, True), said
    assert (watched.code, "succeeded" in watched.out) == (0, True), watched
    assert first == "simple"


async def test_a_server_without_the_ui_has_no_pages(tmp_path: Path, build: Path) -> None:
    async with command_world.world(tmp_path, "us") as world:
        async with team_world.team(tmp_path, world, arguments=("--no-ui",)) as people:
            status = await _status(people.url)
        (tmp_path / "again").mkdir()
        async with team_world.team(tmp_path / "again", world) as people:
            with_ui = await _status(people.url)

    assert (status, with_ui) == (404, 200)


async def _status(url: str) -> int:
    async with (
        aiohttp.ClientSession(headers={"accept": "text/html"}) as session,
        session.get(url) as answer,
    ):
        return answer.status
