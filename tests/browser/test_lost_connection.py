"""A server that is killed and comes back, seen from a page that stays open."""

from pathlib import Path

import browser_world
import screen_world
from screen_world import V1, V2


async def test_a_page_outlives_its_server_and_catches_up_without_being_loaded_again(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium) as given, given.tab("/") as ana:
        main = ana.page.get_by_role("main")
        await main.get_by_text("simple").first.wait_for()
        await ana.page.evaluate("window.isSamePage = true")

        await given.kill_server()
        bar = ana.page.get_by_role("status").filter(has_text="lost")
        await bar.wait_for()
        known = await main.get_by_text("simple").count()
        shown = await main.inner_text()
        commit = given.world.edit("deployment.yaml", V1, V2, message="Release v2")
        async with given.server_again():
            run = await given.asked(commit)
            # Sessions outlive their process: nobody logs in again.
            await main.get_by_text("awaiting approval").first.wait_for()
            await bar.wait_for(state="detached")
            # What is pressed on the page that stayed reaches the new process.
            await main.get_by_role("link", name="Review").click()
            await screen_world.button(ana, "approve").click()
            await screen_world.confirm(ana)
            await given.until_images(us=V2, eu=V2, asia=V2)
            is_same = await ana.page.evaluate("window.isSamePage === true")
            address = ana.page.url
            ana.check()

    assert known > 0, "what was known is still shown"
    assert shown.strip()
    assert is_same
    assert f"/runs/{run}" in address
