"""``python -m benchmarks.browser``: what a large run costs a browser; writes ``browser.md``.

A run of 12 stages over 500 clusters, in the chromium of this machine, on a server in this process
that nobody else asks. Beside it a plain page: a table with as many cells, nothing but HTML. It is
scrolled in the same steps, and then left alone, so that what the machine drops by itself is known.

Frames are counted in the page, by an interval between two of them that is longer than one and a
half frames; what is busy is read from outside, as the browser counts it.
"""

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_OUTPUT = Path(__file__).parent / "browser.md"
#: Frames that are scrolled through, and pixels for each.
_FRAMES, _STEP = 400, 40
#: Times at which all clusters report at once, and seconds between them.
_ROUNDS, _BETWEEN = 10, 0.5
#: Seconds without a request until the first screen is all there.
_QUIET = 1.5

#: Remembers, before anything of the page runs, what held the browser up for over 50 ms.
_WATCH_LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => {
  window.longTasks.push(...list.getEntries().map((entry) => entry.duration));
}).observe({type: 'longtask'});
"""
#: Scrolls what has this selector by so many pixels in each of so many frames, to and fro.
_SCROLL = """async ([selector, frames, step]) => {
    const box = document.querySelector(selector);
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const intervals = [];
    let along = step;
    let last = await next();
    for (let count = 0; count < frames; count += 1) {
        const before = box.scrollTop;
        box.scrollTop += along;
        if (box.scrollTop === before) along = -along;
        const at = await next();
        intervals.push(at - last);
        last = at;
    }
    return intervals;
}"""
#: Notes the interval between frames until it is told to end.
_NOTE = """() => {
    window.intervals = [];
    let last = performance.now();
    const frame = (at) => {
        window.intervals.push(at - last);
        last = at;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame((at) => { last = at; requestAnimationFrame(frame); });
}"""


@dataclass(frozen=True, slots=True)
class Frames:
    """How a page got on for a while."""

    #: Milliseconds between one frame and the next.
    intervals: Sequence[float]
    #: Milliseconds of each task that held the page up for over 50 ms.
    long_tasks: Sequence[float]
    #: Milliseconds of a processor that the page's thread used, and those that scripts did of them.
    busy: float
    script: float

    def dropped(self, frame: float) -> int:
        """Count the intervals in which at least one frame of this length was dropped."""
        return sum(interval > 1.5 * frame for interval in self.intervals)


@dataclass(frozen=True, slots=True)
class Measured:
    """All of it."""

    #: Of the machine before it began.
    load: float
    cells: int
    clusters: int
    rounds: int
    #: Kilobytes of the first screen as they were sent: all, and scripts.
    first: float
    first_script: float
    plain_scrolled: Frames
    scrolled: Frames
    plain_idle: Frames
    live: Frames


async def measure(directory: Path) -> Measured:
    """Measure all of it; takes about a minute."""
    import browser_world
    import large_runs
    import server_world

    load = os.getloadavg()[0]
    async with (
        server_world.served(directory, web=browser_world.require_build()) as world,
        browser_world.launched() as chromium,
    ):
        await large_runs.keep_run(world)
        async with chromium.tab(world.url) as plain:
            await plain.page.context.add_init_script(_WATCH_LONG_TASKS)
            await plain.page.goto("about:blank")
            await plain.page.set_content(_plain_page(large_runs.NAMES, large_runs.STAGES))
            plain_scrolled = await _scrolled(plain, "#box")
            plain_idle = await _noted(plain, lambda: asyncio.sleep(_ROUNDS * _BETWEEN))
        async with chromium.tab(world.url) as tab:
            await tab.page.context.add_init_script(_WATCH_LONG_TASKS)
            sizes = await _sizes(tab)
            await tab.open(f"/runs/{large_runs.RUN}")
            grid = tab.page.get_by_role("grid")
            await grid.get_by_text(large_runs.NAMES[0], exact=True).first.wait_for()
            await tab.page.wait_for_load_state()
            await asyncio.sleep(_QUIET)
            first, script = (sum(sizes[kind]) / 1000 for kind in ("all", "Script"))
            scrolled = await _scrolled(tab, "[role=grid]")
            await grid.evaluate("(grid) => { grid.scrollTop = 0; }")
            await grid.get_by_text(large_runs.NAMES[0], exact=True).first.wait_for()

            async def report() -> None:
                for round_ in range(_ROUNDS):
                    await large_runs.tell_progress(world, version=1 + round_, ready=round_ + 1)
                    await asyncio.sleep(_BETWEEN)
                said = f"document.querySelector('[role=grid]').textContent.includes('{_ROUNDS}/10')"
                await tab.until(said)

            live = await _noted(tab, report)
            tab.check()
    cells = large_runs.STAGES * large_runs.CLUSTERS
    return Measured(
        load,
        cells,
        large_runs.CLUSTERS,
        _ROUNDS,
        first,
        script,
        plain_scrolled,
        scrolled,
        plain_idle,
        live,
    )


def _plain_page(names: Sequence[str], stages: int) -> str:
    cells = "<td>sync</td>" * stages
    rows = "".join(f"<tr><th>{name}</th>{cells}</tr>" for name in names)
    style = "#box {height: 600px; overflow: auto} tr {height: 32px}"
    return f"<style>{style}</style><div id=box><table>{rows}</table></div>"


async def _sizes(tab: Any) -> dict[str, list[int]]:
    """Return lists that grow by the bytes of each answer as it was sent, by kind and over all."""
    found: dict[str, list[int]] = {"all": [], "Script": []}
    kinds: dict[str, str] = {}
    session = await tab.page.context.new_cdp_session(tab.page)
    await session.send("Network.enable")

    def finished(said: Any) -> None:
        size = int(said["encodedDataLength"])
        found["all"].append(size)
        if kinds.get(said["requestId"]) == "Script":
            found["Script"].append(size)

    session.on("Network.responseReceived", lambda s: kinds.update({s["requestId"]: s["type"]}))
    session.on("Network.loadingFinished", finished)
    return found


async def _scrolled(tab: Any, selector: str) -> Frames:
    """Scroll a page, and return how it got on."""
    intervals: list[float] = []

    async def scroll() -> None:
        intervals.extend(await tab.page.evaluate(_SCROLL, [selector, _FRAMES, _STEP]))

    return await _watched(tab, scroll, intervals)


async def _noted(tab: Any, work: Callable[[], Awaitable[None]]) -> Frames:
    """Have something happen, and return how the page got on meanwhile."""
    intervals: list[float] = []
    await tab.page.evaluate(_NOTE)

    async def note() -> None:
        await work()
        intervals.extend(await tab.page.evaluate("window.intervals"))

    return await _watched(tab, note, intervals)


async def _watched(
    tab: Any, work: Callable[[], Awaitable[None]], intervals: Sequence[float]
) -> Frames:
    session = await tab.page.context.new_cdp_session(tab.page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await tab.page.evaluate("window.longTasks.length = 0")
    before = await _figures(session)
    await work()
    after = await _figures(session)
    tasks = await tab.page.evaluate("window.longTasks")
    busy, script = (1000 * (after[n] - before[n]) for n in ("TaskDuration", "ScriptDuration"))
    return Frames(tuple(intervals), tuple(tasks), busy, script)


async def _figures(session: Any) -> dict[str, float]:
    said = await session.send("Performance.getMetrics")
    return {each["name"]: each["value"] for each in said["metrics"]}


def render(found: Measured) -> str:
    """Return the page."""
    frame = statistics.median(found.plain_idle.intervals)
    rows = "\n".join(
        _row(what, frames, frame)
        for what, frames in (
            ("plain page, scrolled", found.plain_scrolled),
            ("run, scrolled", found.scrolled),
            ("plain page, left alone", found.plain_idle),
            (f"run, {found.clusters} clusters report {found.rounds} times", found.live),
        )
    )
    told, live = found.clusters * found.rounds, found.live.script
    return f"""# What a large run costs a browser

`python -m benchmarks.browser` measures and writes this page, in under two minutes, with the
chromium of the machine and the web UI as `make web` built it: a run of {found.cells:,} cells
({found.clusters} clusters), beside a plain page, a table of as many cells and nothing else. The
plain page says what the machine drops by itself: what counts is the difference. Measured on
{os.cpu_count()} cores, which the browser and the server share. Other work on the machine before it
began: a load of {found.load:.1f}; with more than half a core's, frames say little.

A frame takes {frame:.1f} ms here. One is dropped where the next comes after more than one and a
half. Busy is what the page's own thread used of a processor, whatever else went on.

| | frames | dropped | tasks over 50 ms | the longest | busy for each frame | of it scripts |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

Scrolling keeps the page busy {_ratio(found.scrolled.busy, found.plain_scrolled.busy)} as long as
the plain page. While {told:,} reports arrive, scripts run {live / told:.2f} ms for each,
{live / found.rounds:.0f} ms for each time that all {found.clusters} clusters report at once.

To open the run, {found.first_script:.0f} kB of scripts are sent, compressed, and
{found.first - found.first_script:.0f} kB of everything else, most of it the run itself.
"""


def _row(what: str, frames: Frames, frame: float) -> str:
    count, dropped = len(frames.intervals), frames.dropped(frame)
    longest = f"{max(frames.long_tasks):.0f} ms" if frames.long_tasks else "–"
    return (
        f"| {what} | {count} | {dropped} ({dropped / count:.1%}) | {len(frames.long_tasks)}"
        f" | {longest} | {frames.busy / count:.2f} ms | {frames.script / count:.2f} ms |"
    )


def _ratio(first: float, second: float) -> str:
    return f"{first / second:.1f} ×" if second else "any number of times"


def main() -> None:
    """Measure, and write what was found."""
    # The server and the run are those of the tests.
    sys.path += [str(_ROOT / "tests"), str(_ROOT / "sandbox/tests")]
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        found = asyncio.run(measure(Path(directory)))
    _OUTPUT.write_text(render(found))
    print(f"wrote {_OUTPUT.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
