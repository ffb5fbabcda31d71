"""A run of 12 stages over 500 clusters in a real browser: counts, whatever the machine's speed."""

from pathlib import Path

import browser_world
import large_runs
import server_world

#: What is in sight, with some beside it: of 6,000 cells.
_MOST_CELLS = 600
#: An event is a sentence and some figures.
_MOST_BYTES = 1_000

#: Counts how often the matrix is drawn, how often within one frame, and the most cells there were.
_COUNT = """() => {
    const grid = document.querySelector('[role=grid]');
    const counts = {commits: 0, frames: 0, most: 0, cells: 0, end: false};
    let inFrame = 0;
    new MutationObserver(() => { counts.commits += 1; inFrame += 1; }).observe(
        grid, {subtree: true, childList: true, characterData: true, attributes: true});
    const frame = () => {
        counts.frames += 1;
        counts.most = Math.max(counts.most, inFrame);
        inFrame = 0;
        counts.cells = Math.max(counts.cells, grid.querySelectorAll('[role=gridcell]').length);
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    window.counts = counts;
}"""
#: Scrolls from top to bottom and from left to right, a screen in each frame.
_SCROLL = """async () => {
    const grid = document.querySelector('[role=grid]');
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    for (const [across, along] of [[0, 1], [1, 0]]) {
        for (let step = 0; step < 200; step += 1) {
            const before = [grid.scrollTop, grid.scrollLeft].join();
            grid.scrollTop += along * grid.clientHeight;
            grid.scrollLeft += across * grid.clientWidth;
            await frame();
            await frame();
            if ([grid.scrollTop, grid.scrollLeft].join() === before) break;
        }
    }
    window.counts.end = true;
}"""


async def test_thousands_of_cells_cost_what_is_in_sight_and_are_drawn_once_a_frame(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world, chromium.tab(world.url) as ana:
        await large_runs.keep_run(world)
        read: list[str] = []
        ana.page.on("request", lambda request: read.append(request.url))
        await ana.open(f"/runs/{large_runs.RUN}")
        grid = ana.page.get_by_role("grid")
        await grid.get_by_text(large_runs.NAMES[0], exact=True).first.wait_for()
        rows = await grid.get_attribute("aria-rowcount")
        columns = await grid.get_attribute("aria-colcount")
        await ana.page.evaluate(_COUNT)
        await ana.page.evaluate(_SCROLL)
        await grid.get_by_text(large_runs.NAMES[-1], exact=True).first.wait_for()
        scrolled = await ana.page.evaluate("window.counts")

        await grid.evaluate("(grid) => { grid.scrollTop = 0; grid.scrollLeft = 0; }")
        await grid.get_by_text(large_runs.NAMES[0], exact=True).first.wait_for()
        received = await _count_bytes(ana)
        read.clear()
        await ana.page.evaluate("Object.assign(window.counts, {commits: 0, frames: 0, most: 0})")
        told = 0
        for round_ in range(10):
            told += await large_runs.tell_progress(world, version=1 + round_, ready=round_ + 1)
        running = f"{large_runs.NAMES[0]}, sync: running"
        await grid.get_by_role("gridcell", name=running).first.wait_for()
        await ana.until("document.querySelector('[role=gridcell][aria-label*=\"10/10\"]')")
        live = await ana.page.evaluate("window.counts")
        whole = [url for url in read if url.endswith(f"/runs/{large_runs.RUN}")]
        ana.check()

    assert (int(rows or 0), int(columns or 0)) == (large_runs.CLUSTERS + 1, large_runs.STAGES + 1)
    assert 0 < scrolled["cells"] <= _MOST_CELLS, scrolled
    assert told == 10 * large_runs.CLUSTERS
    # Many events, few drawings: all that arrive within a frame are drawn at once.
    assert 0 < live["commits"] <= told / 20, live
    assert live["most"] <= 2, live
    assert 0 < sum(received) <= told * _MOST_BYTES, sum(received)
    assert whole == [], "progress alone does not read the run again"


async def _count_bytes(tab: browser_world.Tab) -> list[int]:
    """Return a list that grows by the size of each piece that the network brings."""
    received: list[int] = []
    session = await tab.page.context.new_cdp_session(tab.page)
    await session.send("Network.enable")
    session.on("Network.dataReceived", lambda said: received.append(said["dataLength"]))
    return received
