"""What narrows a list is asked of the server, and is in the address: reload and Back keep it."""

from pathlib import Path

import browser_world
import screen_world
from screen_world import V1, V2


async def test_a_filter_survives_reloading_and_going_back_and_forth(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium) as given:
        await given.release(V1, V2, "Release v2")
        async with given.tab("/activity?tab=runs") as ana:
            main, cluster = ana.page.get_by_role("main"), ana.page.get_by_label("Cluster")
            await main.get_by_text("Release v2").wait_for()
            await cluster.fill("mars")
            await main.get_by_text("No run is like that").wait_for()
            await cluster.fill(screen_world.CLUSTERS[0])
            await main.get_by_text("Release v2").wait_for()
            await ana.page.reload()
            await main.get_by_text("Release v2").wait_for()
            assert await cluster.input_value() == screen_world.CLUSTERS[0]

            await ana.page.get_by_role("link", name="Overview", exact=True).click()
            await main.get_by_role("link", name="simple").first.wait_for()
            search = ana.page.get_by_label("Search applications")
            await search.fill("nothing")
            await ana.until("location.search === '?search=nothing'")
            await ana.page.go_back()
            await main.get_by_text("Release v2").wait_for()
            assert await cluster.input_value() == screen_world.CLUSTERS[0]
            await ana.page.go_forward()
            await ana.until("location.search === '?search=nothing'")
            assert await search.input_value() == "nothing"
            ana.check()
