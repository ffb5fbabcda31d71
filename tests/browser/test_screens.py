"""Every screen on a real server: what it is for, on two widths, whatever texts say."""

import json
from pathlib import Path
from typing import Any

import pytest

import browser_world
import kubectl
import screen_world
import server_world
from screen_world import V1, V2

_MARK = "<img src=x onerror=window.wasRun=1>"
_NOTE = "<svg onload=window.wasRun=2>"
_STAGE = "<iframe src=javascript:parent.wasRun=3>"
#: Bytes, compressed as they are served.
_MOST_SCRIPT = 300_000
_OBJECT = "/applications/simple?cluster=us&object=apps/Deployment/default/simple"


@pytest.fixture
def axe() -> None:
    if not screen_world.AXE.is_file():
        pytest.skip("axe-core is not installed: make web")


@pytest.mark.usefixtures("axe")
async def test_each_screen_answers_its_question_for_everybody_on_two_widths(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium) as given:
        run = await given.release(V1, V2, f"Release {_MARK} v2")
        async with given.tab("/") as ana:
            for width in (1280, 390):
                await ana.page.set_viewport_size({"width": width, "height": 800})
                for path, texts in _screens(run).items():
                    await _shows(ana, path, texts)
                    assert await screen_world.violations(ana) == [], f"{path} at {width}"
                    assert await _is_as_wide_as(ana, width), f"{path} at {width} scrolls sideways"
            assert ana.complaints == []
            ana.check()


def _screens(run: str) -> dict[str, tuple[str, ...]]:
    """Return paths with what has to be read there: as the API says, not as the pages put it."""
    waits = "awaiting approval: 0 of 1 (approvers: token:ana)"
    return {
        "/": ("simple", waits, _MARK),
        f"/runs/{run}": (waits, _MARK, *screen_world.CLUSTERS),
        f"/runs/{run}?stage=2-K8S_PRIMARY_ROLLOUT&cluster=eu": ("eu · primary",),
        "/applications/simple": (waits, V1),
        "/applications/simple?tab=drift": screen_world.CLUSTERS,
        "/applications/simple?tab=history": (_MARK, "Deploy v1"),
        "/applications/simple/plan": (V1, V2, _MARK),
        "/fleet": screen_world.CLUSTERS,
        "/fleet?tab=workers": (
            "No cluster is reached through an agent",
            "the leading server carries runs out by itself",
        ),
        "/activity": ("token:ana",),
        "/insights": (
            "from the moment the controller saw a commit first",
            "of all releases that ended",
        ),
    }


async def _shows(tab: browser_world.Tab, path: str, texts: tuple[str, ...]) -> None:
    await tab.open(path)
    main = tab.page.get_by_role("main")
    for text in texts:
        # Not an option of a filter that is not open.
        await main.get_by_text(text).locator("visible=true").first.wait_for()
    # Nothing is still loading that axe would not see.
    await tab.until("!document.querySelector('main [aria-busy=true]')")


async def _is_as_wide_as(tab: browser_world.Tab, width: int) -> bool:
    return bool(await tab.page.evaluate("document.documentElement.scrollWidth") <= width)


@kubectl.needed
async def test_texts_of_others_are_shown_and_never_run(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium, tls=True) as given:
        await _annotate(given, _NOTE)
        run = await given.release(V1, V2, f"Release {_MARK} v2")
        async with given.tab(f"/runs/{run}") as ana:
            await screen_world.button(ana, "pause").click()
            await screen_world.confirm(ana, reason=_NOTE)
            paused = await given.until_run(run, lambda shown: _NOTE in shown["reason"])
            await ana.page.get_by_role("main").get_by_text(_NOTE).first.wait_for()
            shown = {
                "/": (_MARK,),
                "/activity": (_NOTE,),
                "/applications/simple?tab=history": (_MARK,),
                "/applications/simple/plan": (_MARK,),
                f"{_OBJECT}&view=live": (_NOTE,),
                f"{_OBJECT}&view=events": (_NOTE,),
            }
            for path, texts in shown.items():
                await _shows(ana, path, texts)
            said = await given.people.volary("cancel", run)
            await given.until_run(run, lambda shown: shown["finished"] is not None)
            given.world.edit("app.pipecd.yaml", "WAIT_APPROVAL", f'"{_STAGE}"')
            await given.people.request_refresh()
            await ana.open("/")
            await ana.page.get_by_text(_STAGE).first.wait_for()
            was_run = await ana.page.evaluate("window.wasRun")
            frames = await ana.page.locator("iframe").count()
            ana.check()

    assert _NOTE in paused["reason"]
    assert said.code == 0, said
    assert (was_run, frames) == (None, 0)


async def _annotate(given: screen_world.Screens, text: str) -> None:
    """Have somebody write a text into a cluster: an annotation, and the message of an event."""
    us = screen_world.cluster(given, "us")
    await kubectl.run(us, "annotate", "deployment/simple", f"note={text}")
    uid = given.world.find("us", "Deployment", "simple")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "note", "namespace": "default"},
        "involvedObject": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "simple",
            "namespace": "default",
            "uid": uid,
        },
        "type": "Warning",
        "reason": "Noted",
        "message": text,
        "source": {"component": "somebody"},
    }
    await kubectl.run(us, "create", "-f", "-", text=json.dumps(event))


async def test_log_lines_and_labels_are_shown_and_never_run(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world:
        await world.keep_application("noted", team=_NOTE)
        await world.keep_run("run-noted", "noted", ended=False)
        await world.say("run-noted", f"a line {_MARK}", "\x1b[31mred\x1b[0m <b>bold</b>")
        token = world.token("viewer", "eve")["authorization"].removeprefix("Bearer ")
        async with chromium.tab(world.url) as eve:
            await eve.open(f"/runs/run-noted?stage={server_world.STAGE}&cluster=us&tab=log")
            await eve.log_in(token)
            await eve.page.get_by_text(f"a line {_MARK}").wait_for()
            await eve.page.get_by_text("<b>bold</b>").wait_for()
            await _shows(eve, "/applications/noted", (_NOTE,))
            was_run = await eve.page.evaluate("window.wasRun")
            eve.check()

    assert was_run is None


async def test_the_first_screen_loads_little_script(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with server_world.served(tmp_path, web=build) as world, chromium.tab(world.url) as ana:
        sizes: dict[str, int] = {}
        unpacked: list[str] = []

        async def count(answer: Any) -> None:
            if answer.request.resource_type == "script":
                headers = await answer.all_headers()
                sizes[answer.url] = int(headers["content-length"])
                if "content-encoding" not in headers:
                    unpacked.append(answer.url)

        ana.page.on("response", count)
        await ana.open("/")
        await ana.page.get_by_role("main").get_by_text("web").first.wait_for()
        first = sum(sizes.values())
        # From one screen to another without a new page.
        await ana.page.get_by_role("navigation").get_by_role("link", name="Fleet").click()
        await ana.page.wait_for_url("**/fleet")
        await ana.page.get_by_role("heading", name="Fleet").wait_for()
        ana.check()

    assert 0 < first <= _MOST_SCRIPT, sizes
    assert unpacked == []
    assert len(sizes) > 1
