"""People press buttons in real browsers, and clusters follow."""

from pathlib import Path
from typing import Any

import browser_world
import screen_world
from screen_world import V1, V2, V3

GRID = "Clusters and stages"


async def test_a_release_is_approved_tried_again_gone_on_without_a_cluster_and_taken_back(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium) as given:
        run = await given.release(V1, V2, "Release v2")
        path = f"/runs/{run}"
        eve = await given.token("eve", "viewer")
        async with (
            given.tab(path) as ana,
            given.tab(path, token=eve) as watcher,
        ):
            await _approve_in_two_tabs(given, ana, watcher, path)
            await given.until_images(us=V2, eu=V2, asia=V2)
            await _until_everything_is_done(ana)
            # Somebody else sees the same, without asking for it.
            await _until_everything_is_done(watcher)

            screen_world.cluster(given, "eu").faults.images.add(V3, "bad")
            second = await given.release(V2, V3, "Release v3")
            await _try_again(given, ana, second)
            await _go_on_without_eu(given, ana, second)
            await given.until_images(us=V3, asia=V3)

            await _take_back(given, ana)
            await given.until_images(us=V2, eu=V2, asia=V2)
            # What a question says of going back changes when this is over.
            await given.until_ended()
            await _go_back_to_the_first(given, ana)
            ana.check()
            watcher.check()


async def _approve_in_two_tabs(
    given: screen_world.Screens,
    ana: browser_world.Tab,
    watcher: browser_world.Tab,
    path: str,
) -> None:
    other = await ana.another()
    await other.open(path)
    await screen_world.button(other, "approve").click()
    await other.page.get_by_role("dialog").wait_for()
    # Who may not sees the button, and why they may not.
    theirs = screen_world.button(watcher, "approve")
    await theirs.wait_for()
    disabled = await theirs.get_attribute("aria-disabled")
    await theirs.focus()
    why_not = await watcher.page.get_by_role("tooltip").inner_text()
    await theirs.click(force=True)
    asked = await watcher.page.get_by_role("dialog").count()
    denied, problem = await watcher.ask("POST", f"/api/v1{path}/approve")

    # By keyboard alone: the key of the screen, and Enter.
    await screen_world.button(ana, "approve").wait_for()
    await ana.page.keyboard.press("a")
    before = {name: given.world.images(name) for name in screen_world.CLUSTERS}
    consequence = await screen_world.confirm(ana, keys=True)
    # The question that is open there follows, and sends nothing.
    question = other.page.get_by_role("dialog")
    late = await question.get_by_role("alert").inner_text()
    over = await question.locator("button[type=submit]").get_attribute("aria-disabled")
    await other.page.keyboard.press("Escape")
    await question.wait_for(state="detached")
    other.check()
    await other.page.close()

    assert (disabled, asked) == ("true", 0)
    assert "may not" in why_not
    assert (denied, "may not" in problem) == (403, True)
    assert set(before.values()) == {f"{V1} 2/2"}, "asking changes nothing"
    assert "the last that is needed; " in consequence
    assert late.startswith("This is not possible any more: "), late
    assert over == "true"


async def _until_everything_is_done(tab: browser_world.Tab) -> None:
    grid = tab.page.get_by_role("grid", name=GRID)
    for name in screen_world.CLUSTERS:
        await grid.get_by_role("gridcell", name=f"{name}, primary: done").wait_for()


async def _try_again(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    """A cluster that cannot have it holds the run; it is mended and tried again from its cell."""
    await ana.open(f"/runs/{run}")
    await screen_world.button(ana, "approve").click()
    await screen_world.confirm(ana)
    held = await given.until_run(
        run, lambda shown: shown["status"] == "waiting" and _is_held(shown)
    )
    grid = ana.page.get_by_role("grid", name=GRID)
    await grid.get_by_role("gridcell", name="eu, primary: failed").wait_for()
    # By keyboard: down to the cell that failed, which stands first.
    await grid.focus()
    await ana.page.keyboard.press("ArrowRight")
    await ana.page.keyboard.press("Enter")
    drawer = ana.page.get_by_role("complementary")
    await drawer.get_by_text("eu").first.wait_for()
    opened = ana.page.url
    await drawer.locator("button[data-verb=retry]").click()
    again = await screen_world.confirm(ana)
    await given.until_run(run, lambda shown: not _is_held(shown))
    await given.until_run(run, _is_held)

    assert "eu" in held["reason"]
    assert "cluster=eu" in opened
    assert again.startswith("tries K8S_PRIMARY_ROLLOUT again on eu")


def _is_held(run: Any) -> bool:
    return run["status"] == "waiting" and "eu" in run["reason"]


async def _go_on_without_eu(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    # The address of the cell leads to it again, with what may be done by now.
    await ana.page.reload()
    drawer = ana.page.get_by_role("complementary")
    await drawer.locator("button[data-verb=skip]:not([aria-disabled])").click()
    dialog = ana.page.get_by_role("dialog")
    without_reason = await dialog.locator("button[type=submit]").get_attribute("aria-disabled")
    consequence = await screen_world.confirm(ana, reason="its registry is down")
    ended = await given.until_run(run, lambda shown: shown["finished"] is not None)
    _, audit = await ana.ask("GET", "/api/v1/audit?action=run.skip")

    assert without_reason == "true"
    assert consequence.startswith("the run goes on without eu")
    assert ended["status"] == "succeeded_with_exceptions"
    assert "its registry is down" in audit


async def _take_back(given: screen_world.Screens, ana: browser_world.Tab) -> None:
    screen_world.cluster(given, "eu").faults.images.remove(V3)
    await ana.open("/applications/simple")
    await screen_world.button(ana, "rollback").click()
    consequence = await screen_world.confirm(ana)

    assert consequence.startswith("rolls back us, eu and asia to ")


async def _go_back_to_the_first(given: screen_world.Screens, ana: browser_world.Tab) -> None:
    """Each version of the history has its way back; it says beforehand what would change."""
    await ana.open("/applications/simple?tab=history")
    way_back = ana.page.locator(".history-entry button[data-verb=rollback]")
    await way_back.last.wait_for()
    await way_back.last.click()
    dialog = ana.page.get_by_role("dialog")
    await dialog.get_by_text("3 of 3 clusters change: us, eu and asia").wait_for()
    said = await dialog.get_by_role("listitem").all_inner_texts()
    command = await dialog.locator("code").last.inner_text()
    consequence = await screen_world.confirm(ana)
    in_terminal = await given.people.volary(*command.split()[1:], "--dry-run")
    await given.until_images(us=V1, eu=V1, asia=V1)

    assert [line.split() for line in said] == [["us,", "eu,", "asia", "1", "changed"]]
    assert consequence.startswith("applies commit ")
    assert "Git stays as it is" in consequence
    assert "simple at " in in_terminal.out, in_terminal
