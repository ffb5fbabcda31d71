"""What may be done next over HTTP: for whoever asks, and only once for two who press at a time."""

import asyncio
from pathlib import Path
from typing import Any

import server_world
from volary.model.fleet import fleets
from volary.store import records

API = "/api/v1"
FLEET = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu/1")))


def by_verb(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for action in answer["items"]:
        found.setdefault(action["verb"], action)
    return found


async def keep(world: server_world.Served, name: str, run: str, **document: object) -> None:
    record = records.ApplicationRecord(
        name,
        "shop",
        f"{name}/volary.yaml",
        project="shop",
        labels={"team": "shop"},
        status="running",
        document={"run": run, "under_way": True, **document},
    )
    await world.service.store.applications.keep(record, fence=None)


async def test_a_viewer_sees_every_button_and_why_they_may_not_press_it(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        await keep(world, "web", "run-1")
        await world.keep_run("run-1", "web", ended=False)
        viewer, deployer = world.token("viewer", "eve"), world.token("deployer", "bo")
        _, seen = await world.ask("GET", f"{API}/runs/run-1/actions", headers=viewer)
        _, mine = await world.ask("GET", f"{API}/runs/run-1/actions", headers=deployer)
        _, of_app = await world.ask("GET", f"{API}/applications/web/actions", headers=deployer)
        _, of_cluster = await world.ask("GET", f"{API}/clusters/eu/1/actions", headers=viewer)
        unknown, _ = await world.ask("GET", f"{API}/clusters/none/actions", headers=viewer)
        action = by_verb(seen)["cancel"]
        refused, _ = await world.ask(
            "POST", action["path"], headers=viewer, json={**action["body"], "reason": "no"}
        )

    assert {action["verb"] for action in seen["items"]} == {
        action["verb"] for action in mine["items"]
    }
    assert not any(action["enabled"] for action in seen["items"])
    assert by_verb(seen)["cancel"]["disabledReason"] == "token:eve may not deploy here"
    assert by_verb(mine)["cancel"]["enabled"]
    assert refused == 403
    assert by_verb(of_app)["pause"]["consequence"].endswith(
        "run run-1 is paused with it; a rollback still does"
    )
    assert by_verb(of_app)["resume"]["disabledReason"] == "the application is not paused"
    assert by_verb(of_cluster)["cordon"]["disabledReason"] == "token:eve may not administer here"
    assert unknown == 404


async def test_what_is_offered_is_carried_out_as_it_is_offered_once(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        admin = world.token("admin", "ana")
        _, before = await world.ask("GET", f"{API}/clusters/us/actions", headers=admin)
        cordon = by_verb(before)["cordon"]
        answers = await asyncio.gather(
            *(
                world.ask(
                    "POST",
                    cordon["path"],
                    headers=admin,
                    json={**cordon["body"], cordon["reasonField"]: "it is slow"},
                )
                for _ in range(2)
            )
        )
        _, after = await world.ask("GET", f"{API}/clusters/us/actions", headers=admin)

    assert cordon["enabled"]
    assert sorted(status for status, _ in answers) == [202, 409]
    assert not by_verb(after)["cordon"]["enabled"]
    assert by_verb(after)["uncordon"]["enabled"]


async def test_what_is_left_of_a_run_that_has_ended_is_about_its_application(
    tmp_path: Path,
) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        await keep(
            world, "web", "run-2", under_way=False, releases={"running": "another", "clusters": {}}
        )
        await world.keep_run("run-1", "web")
        await world.keep_run("run-2", "web")
        _, old = await world.ask("GET", f"{API}/runs/run-1/actions")
        _, last = await world.ask("GET", f"{API}/runs/run-2/actions")

    back = old["items"][0]
    assert (back["noun"], back["verb"], back["body"]) == (
        "application",
        "rollback",
        {"to": "run-1"},
    )
    assert back["command"] == "volary rollback web --to run-1"
    assert back["enabled"]
    assert [action["verb"] for action in last["items"]] == ["sync", "rollback", "retry"]
    assert last["items"][1]["disabledReason"].startswith("there is no run whose change is still")
