"""Browsers that are not as one would like: with a wrong clock, or a page of an older version."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import browser_world
import process_time
import server_world

_DAY = timedelta(days=1)
#: Has every script of a page believe in a clock that is wrong by so many milliseconds.
_SKEW = """
const Right = Date;
window.Date = class extends Right {
  constructor(...given) {
    if (given.length > 0) super(...given); else super(Right.now() + %d);
  }
  static now() { return Right.now() + %d; }
};
"""
#: How moments ago are told by a clock that is a day ahead or behind.
_WRONG = re.compile(r"\bin \d+ (s|min|h)\b|\bin 1 d\b|\b(1 d|2\d h) ago\b")


async def test_times_are_those_of_the_server_however_wrong_the_clock_of_a_browser_is(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world:
        behind = process_time.now() - world.clock.now()
        world.clock.forward(seconds=behind.total_seconds())
        await world.keep_run("run-now", "web")
        told = {}
        for name, skew in (("ahead", _DAY), ("behind", -_DAY)):
            async with chromium.tab(world.url) as ana:
                by = skew.total_seconds() * 1000
                await ana.page.context.add_init_script(_SKEW % (by, by))
                for path in ("/runs/run-now", "/activity?tab=runs"):
                    await ana.open(path)
                    await ana.page.get_by_role("main").locator("time").first.wait_for()
                    times = await ana.page.locator("main time").all_inner_texts()
                    told[name, path] = times
                ana.check()

    for where, times in told.items():
        assert times, where
        assert [text for text in times if _WRONG.search(text)] == [], where


async def test_an_open_page_outlives_an_upgrade_and_offers_to_reload(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world, chromium.tab(world.url) as ana:
        await ana.open("/")
        await ana.page.get_by_role("main").get_by_text("web").first.wait_for()
        await ana.page.evaluate("window.isSamePage = true")

        async def is_gone(route: Any) -> None:
            await route.fulfill(status=404, body="")

        # A newer version has files of other names.
        await ana.page.route("**/assets/*.js", is_gone)
        navigation = ana.page.get_by_role("navigation")
        await navigation.get_by_role("link", name="Fleet").click()
        said = ana.page.get_by_role("alert").filter(has_text="newer version")
        await said.wait_for()
        await navigation.get_by_role("link", name="Overview").click()
        await ana.page.get_by_role("main").get_by_text("web").first.wait_for()
        is_same = await ana.page.evaluate("window.isSamePage === true")
        await navigation.get_by_role("link", name="Fleet").click()
        await ana.page.unroute("**/assets/*.js")
        await said.get_by_role("button", name="Reload the page").click()
        await ana.page.get_by_role("heading", name="Fleet").wait_for()
        address = ana.page.url
        ana.check()

    assert is_same, "nothing was loaded anew without being asked for"
    assert address == f"{world.url}/fleet"
