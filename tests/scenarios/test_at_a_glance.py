"""The first screen of a server on clusters: what needs somebody, and what they can do about it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

import command_world
import process_time
from team_world import Team, team

FIRST = "  pipeline:\n    stages:\n"
ALWAYS = "  planner:\n    alwaysUsePipeline: true\n"
GATE = "      - name: WAIT_APPROVAL\n        with:\n          approvers: ['token:ana']\n"
API = "/api/v1"


class Browser:
    """Somebody who looks over HTTP."""

    def __init__(self, people: Team, session: aiohttp.ClientSession) -> None:
        self._people = people
        self._session = session

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {self._people.token}"}
        async with self._session.request(
            method, self._people.url + path, headers=headers, json=body
        ) as answer:
            return answer.status, await answer.json()

    async def until(self, path: str, is_so: Callable[[Any], bool]) -> Any:
        async with asyncio.timeout(process_time.HANG):
            while True:
                _, shown = await self.ask("GET", API + path)
                if is_so(shown):
                    return shown
                await asyncio.sleep(0.1)

    async def action(self, path: str, verb: str, **body: object) -> dict[str, Any]:
        _, shown = await self.ask("GET", f"{API}{path}/actions")
        [action] = [
            action
            for action in shown["items"]
            if action["verb"] == verb and body.items() <= action["body"].items()
        ]
        return action

    async def press(self, action: dict[str, Any]) -> tuple[int, Any]:
        reason = {action["reasonField"]: "as it says"} if action["reasonField"] else {}
        return await self.ask("POST", action["path"], {**action["body"], **reason})


async def test_two_tabs_act_on_one_approval_and_a_refused_commit_stands_among_the_runs(
    tmp_path: Path,
) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        team(tmp_path, world) as people,
        aiohttp.ClientSession() as session,
    ):
        browser = Browser(people, session)
        await people.known()
        calm = await browser.until("/overview", lambda shown: not shown["running"])
        old = (await browser.ask("GET", f"{API}/applications/simple"))[1]["runningCommit"]
        head = world.edit("app.pipecd.yaml", FIRST, ALWAYS + FIRST + GATE, message="Ask first")
        await people.pushed(head)

        needed = await browser.until("/overview", lambda shown: shown["attention"])
        [attention] = needed["attention"]
        explained = json.loads((await people.volary("explain", "simple", "-o", "json")).out)
        in_terminal = await people.volary("overview", "-o", "wide")
        approve = await browser.action(f"/runs/{attention['run']}", "approve")
        tabs = await asyncio.gather(browser.press(approve), browser.press(approve))
        after = await browser.action(f"/runs/{attention['run']}", "approve")
        done = await browser.until(
            "/overview/applications", lambda shown: shown["items"][0]["status"] == "synced"
        )

        back = await browser.action("/applications/simple", "rollback", to="")
        pressed = await browser.press(back)
        rolled_back = await browser.until(
            "/overview/applications",
            lambda shown: shown["items"][0]["runningCommit"] == old,
        )
        wrong_commit = world.edit("app.pipecd.yaml", "WAIT_APPROVAL", "WAIT_APROVAL")
        broken = await browser.until(
            "/overview",
            lambda shown: "broken" in [one["kind"] for one in shown["attention"]],
        )
        _, history = await browser.ask("GET", f"{API}/applications/simple/history")

    assert calm["sentence"] == "none of 1 application needs you"
    assert attention["kind"] == "approval"
    assert attention["sentence"] == explained["waitingReason"]
    assert "0 of 1 (approvers: token:ana)" in attention["sentence"]
    assert attention["command"] == explained["nextCommands"][0]
    assert attention["command"] in in_terminal.out
    assert approve["enabled"]
    assert approve["consequence"].startswith("approval 1 of 1, the last that is needed; ")
    # What a tab says that had not seen the other's approval.
    assert sorted(status for status, _ in tabs) == [202, 409]
    [late] = [body for status, body in tabs if status == 409]
    assert "approved by token:ana" in late["detail"], late
    assert not after["enabled"]
    places = {one["place"]: one["commits"] for one in done["items"][0]["places"]}
    assert places == {"us": [head], "eu": [head]}
    assert back["consequence"] == f"rolls back us and eu to {old[:7]}"
    assert pressed[0] == 202
    row = rolled_back["items"][0]
    assert {one["place"]: one["commits"] for one in row["places"]} == {"us": [old], "eu": [old]}
    [wrong] = [one for one in broken["attention"] if one["kind"] == "broken"]
    assert "WAIT_APROVAL" in wrong["sentence"]
    first, *runs = history["items"]
    assert (first["commit"], first["status"]) == (wrong_commit, "failed")
    assert first["reason"] == wrong["sentence"]
    assert [(entry["commit"], entry["status"]) for entry in runs] == [
        (head, "succeeded"),
        (head, "succeeded"),
        (old, "succeeded"),
    ]


async def test_the_overview_goes_on_in_the_terminal(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as world, team(tmp_path, world) as people:
        await people.known()
        environment = {"VOLARY_SERVER": people.url, "VOLARY_TOKEN": people.token}
        following = world.start("overview", "--watch", "-o", "json", **environment)
        async with asyncio.timeout(process_time.HANG), following as watching:
            first = json.loads(await watching.process.stdout.readline())
            world.edit("app.pipecd.yaml", FIRST, ALWAYS + FIRST + GATE, message="Ask first")
            last = first
            while not last["attention"]:
                last = json.loads(await watching.process.stdout.readline())

    assert first["sentence"] == "none of 1 application needs you"
    assert [one["kind"] for one in last["attention"]] == ["approval"]
