"""People steer a release that moves in waves, in real browsers, and clusters follow.

Each wave soaks for an hour, so that nothing goes on by itself: what moves was pressed.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser_world
import process_time
import screen_world
from screen_world import V1, V2, V3

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {name: simple}
  workloads: [{kind: Deployment, name: simple}]
  waves:
    - {name: first, targets: {names: [us]}, soak: 1h}
    - {name: rest, soak: 1h}
  pipeline:
    stages:
      - {name: K8S_PRIMARY_ROLLOUT}
"""
#: The gates at the end of the waves.
FIRST, REST = "first/2-WAVE_GATE", "rest/2-WAVE_GATE"
#: The release of the second wave.
NEXT = "rest/1-K8S_PRIMARY_ROLLOUT"


async def test_a_release_is_paused_promoted_resumed_and_cancelled(
    tmp_path: Path, build: Path, chromium: browser_world.Chromium
) -> None:
    async with screen_world.screens(tmp_path, chromium) as given:
        given.world.write({"app.pipecd.yaml": APPLICATION})
        run = await _release(given, V1, V2)
        async with given.tab(f"/runs/{run}") as ana:
            await _until_soaking(ana, run, FIRST, "us")
            await _pause(given, ana, run)
            await _promote_while_it_is_paused(given, ana, run)
            await _resume(given, ana, run)
            await _cancel_and_roll_back(given, ana, run)

            second = await _release(given, V2, V3)
            await ana.open(f"/runs/{second}")
            await _until_soaking(ana, second, FIRST, "us")
            await _promote(given, ana, second)
            await _cancel_and_keep(given, ana, second)

            await _pause_the_application(given, ana)
            ana.check()


async def _pause(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    """By keyboard alone; the same key leads on to resuming."""
    resume = screen_world.button(ana, "resume")
    await screen_world.button(ana, "pause").wait_for()
    await ana.page.keyboard.press("p")
    await _until_asked(ana, "what is under way on us finishes")
    consequence = await screen_world.confirm(ana, reason="lunch", keys=True)
    await ana.page.locator("button[data-verb=resume]:not([aria-disabled])").wait_for()
    sentence = ana.page.get_by_role("main").get_by_text("paused by token:ana: lunch; still")
    await sentence.first.wait_for()
    shown = await _read(ana, f"runs/{run}")
    pausing, resuming = await _actions(ana, run, "pause"), await _actions(ana, run, "resume")

    assert consequence.startswith("starts nothing new until it is resumed; ")
    assert (shown["summary"]["status"], shown["pausedBy"]) == ("waiting", "token:ana")
    assert [action["disabledReason"] for action in pausing] == [
        "the run is already paused by token:ana"
    ]
    assert [action["enabled"] for action in resuming] == [True]
    assert await resume.count() == 1
    await _check_audit(ana, run, "run.pause", reason="lunch")


async def _promote_while_it_is_paused(
    given: screen_world.Screens, ana: browser_world.Tab, run: str
) -> None:
    """The soak ends, and nothing begins."""
    await screen_world.button(ana, "promote").click()
    submit = ana.page.get_by_role("dialog").locator("button[type=submit]")
    without_reason = await submit.get_attribute("aria-disabled")
    consequence = await screen_world.confirm(ana, reason="the fix is urgent")
    shown = await _until(
        ana, f"runs/{run}", lambda shown: _task(shown, FIRST, "us")["status"] == "pending"
    )
    await given.world.settled()

    assert without_reason == "true"
    assert consequence.startswith("ends early what wave first waits for; its clusters are checked")
    assert shown["summary"]["status"] == "waiting"
    assert shown["summary"]["reason"].startswith("paused by token:ana: lunch")
    assert {task["status"] for task in _stage(shown, NEXT)["tasks"]} == {"pending"}
    assert _images(given) == {"us": f"{V2} 2/2", "eu": f"{V1} 2/2", "asia": f"{V1} 2/2"}
    await _check_audit(ana, run, "run.promote", reason="the fix is urgent")


async def _resume(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    await screen_world.button(ana, "resume").click()
    consequence = await screen_world.confirm(ana)
    await given.until_images(us=V2, eu=V2, asia=V2)
    shown = await _until_soaking(ana, run, REST, "eu", "asia")
    grid = ana.page.get_by_role("grid", name="Clusters and stages")
    for name in screen_world.CLUSTERS:
        await grid.get_by_role("gridcell", name=f"{name}, primary: done").wait_for()

    assert consequence.startswith(f"goes on at commit {shown['summary']['commit'][:7]}; ")
    assert (shown["summary"]["status"], shown["pausedBy"]) == ("running", "")
    assert _stage(shown, FIRST)["promoted"] == "promoted by token:ana: the fix is urgent"
    assert _task(shown, FIRST, "us")["status"] == "succeeded"
    await _check_audit(ana, run, "run.resume")


async def _cancel_and_roll_back(
    given: screen_world.Screens, ana: browser_world.Tab, run: str
) -> None:
    await _cancel(ana, "Cancel and roll back").click()
    await _until_asked(ana, "what is under way on eu and asia finishes its write")
    consequence = await screen_world.confirm(ana, reason="orders fail")
    ended = await given.until_run(run, lambda shown: shown["finished"] is not None)
    running = {name: given.world.images(name) for name in screen_world.CLUSTERS}
    await given.until_images(us=V1, eu=V1, asia=V1)
    await ana.page.get_by_text("cancelled by token:ana: orders fail").first.wait_for()

    assert consequence.startswith("ends the run; ")
    assert "rolls back us, eu and asia to " in consequence
    assert ended["status"] == "rolled_back"
    assert "cancelled by token:ana: orders fail" in ended["reason"]
    assert running == {name: f"{V1} 2/2" for name in screen_world.CLUSTERS}
    await _check_audit(ana, run, "run.cancel", reason="orders fail", rollback=True)


async def _promote(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    """The soak ends, and the next wave begins."""
    before = _images(given)
    await screen_world.button(ana, "promote").click()
    consequence = await screen_world.confirm(ana, reason="seen enough")
    await given.until_images(us=V3, eu=V3, asia=V3)
    shown = await _until_soaking(ana, run, REST, "eu", "asia")

    assert before == {"us": f"{V3} 2/2", "eu": f"{V1} 2/2", "asia": f"{V1} 2/2"}
    assert "approvals are still needed" in consequence
    assert _task(shown, FIRST, "us")["reason"] == "healthy on this release"
    await _check_audit(ana, run, "run.promote", reason="seen enough")


async def _cancel_and_keep(given: screen_world.Screens, ana: browser_world.Tab, run: str) -> None:
    await _cancel(ana, "Cancel and keep").click()
    consequence = await screen_world.confirm(ana, reason="good enough")
    ended = await given.until_run(run, lambda shown: shown["finished"] is not None)
    await given.world.settled()

    assert "everything stays as it is" in consequence
    assert ended["status"] == "cancelled"
    assert _images(given) == {name: f"{V3} 2/2" for name in screen_world.CLUSTERS}
    await _check_audit(ana, run, "run.cancel", reason="good enough", rollback=False)


async def _pause_the_application(given: screen_world.Screens, ana: browser_world.Tab) -> None:
    """What is pushed meanwhile waits, and begins once it is resumed."""
    await ana.open("/applications/simple")
    await screen_world.button(ana, "pause").click()
    pausing = await screen_world.confirm(ana, reason="stock-taking")
    commit = given.world.edit("deployment.yaml", V3, V2, message="Back to v2")
    application = await _until(
        ana, "applications/simple", lambda shown: (shown["waiting"] or {}).get("commit") == commit
    )
    before = _images(given)

    await screen_world.button(ana, "resume").click()
    await _until_asked(ana, f"then {commit[:7]} begins")
    resuming = await screen_world.confirm(ana)
    await given.people.pushed(commit)
    await given.until_images(us=V2)

    assert pausing.startswith("nothing of simple begins until it is resumed")
    assert "stock-taking" in application["paused"]
    assert before == {name: f"{V3} 2/2" for name in screen_world.CLUSTERS}
    assert resuming == f"runs of simple may begin again; then {commit[:7]} begins"
    await _check_audit(ana, "", "application.pause", reason="stock-taking")
    await _check_audit(ana, "", "application.resume")


async def _release(given: screen_world.Screens, old: str, new: str) -> str:
    """Push a version, and return its run."""
    commit = given.world.edit("deployment.yaml", old, new, message=f"Release {new}")
    await given.people.pushed(commit)
    runs = await given.people_see("runs")
    return next(str(run["id"]) for run in runs if run["commit"] == commit)


async def _read(ana: browser_world.Tab, path: str) -> Any:
    _, text = await ana.ask("GET", f"/api/v1/{path}")
    return json.loads(text)


async def _until(ana: browser_world.Tab, path: str, is_so: Callable[[Any], bool]) -> Any:
    """Wait until something is so, and return it."""
    async with asyncio.timeout(process_time.HANG):
        while not is_so(shown := await _read(ana, path)):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.1)
    return shown


async def _until_soaking(ana: browser_world.Tab, run: str, gate: str, *clusters: str) -> Any:
    """Wait until a wave has nothing left to do but to stay healthy, and return its run."""

    def is_soaking(shown: Any) -> bool:
        return all("to go" in _task(shown, gate, name)["progress"] for name in clusters)

    return await _until(ana, f"runs/{run}", is_soaking)


def _stage(shown: Any, name: str) -> Any:
    return next(stage for stage in shown["stages"] if stage["id"] == name)


def _task(shown: Any, stage: str, cluster: str) -> Any:
    return next(task for task in _stage(shown, stage)["tasks"] if task["target"] == cluster)


def _images(given: screen_world.Screens) -> dict[str, str]:
    return {name: given.world.images(name) for name in screen_world.CLUSTERS}


def _cancel(ana: browser_world.Tab, title: str) -> Any:
    """Find the button of one of the ways to cancel."""
    return ana.page.get_by_role("button", name=title, exact=True)


async def _until_asked(ana: browser_world.Tab, consequence: str) -> None:
    """Wait until the question that is open says it: of now, not of when its button was drawn."""
    await ana.page.get_by_role("dialog").get_by_text(consequence).first.wait_for()


async def _actions(ana: browser_world.Tab, run: str, verb: str) -> list[Any]:
    known = await _read(ana, f"runs/{run}/actions")
    return [action for action in known["items"] if action["verb"] == verb]


async def _check_audit(ana: browser_world.Tab, run: str, action: str, **document: Any) -> None:
    """Fail unless the newest entry of a command says who asked for what, and why."""
    entry = (await _read(ana, f"audit?action={action}"))["items"][0]
    said = {name: entry["document"].get(name) for name in document}
    assert (entry["by"], entry["run"], entry["result"]) == ("token:ana", run, "ok"), entry
    assert said == document, entry
