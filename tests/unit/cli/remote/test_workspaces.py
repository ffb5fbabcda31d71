"""`volary workspace …` against a real server, of which no cluster answers."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import server_world
from volary.cli import exit_codes, forms
from volary.cli.remote import client, login, workspaces
from volary.controller.workspaces import workspace_states
from volary.model import errors
from volary.model import workspaces as model_workspaces
from volary.model.fleet import fleets

SINCE = datetime(2026, 11, 23, tzinfo=UTC)
MEMBERS = fleets.Fleet((fleets.Cluster("us", kubeconfig=("missing",)),))


def state(*, removed: bool = False) -> workspace_states.WorkspaceState:
    shop = model_workspaces.Workspace(
        name="team-a",
        project="team-a",
        namespaces=(model_workspaces.WorkspaceNamespace("shop"),),
    )
    known = workspace_states.ClusterState(
        workspace_states.ClusterWord.DRIFTED,
        "RoleBinding shop/volary-edit: forbidden",
        SINCE,
        ("shop",),
        repair="Role shop/volary-view",
        repaired=SINCE,
    )
    return workspace_states.WorkspaceState(
        shop, {"us": known, "mars": known}, SINCE if removed else None
    )


async def store(world: server_world.Served, *states: workspace_states.WorkspaceState) -> None:
    written = [workspace_states.to_record(one, SINCE) for one in states]
    await world.service.store.workspaces.keep(written, fence=None)


def target(world: server_world.Served, role: str, **labels: str) -> login.Target:
    token = world.token(role, "", **labels)["authorization"].removeprefix("Bearer ")
    return login.Target(world.url, token)


async def test_they_are_listed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        world.service.fleet.register.replace(MEMBERS)
        await store(world, state())
        async with client.Client.open(target(world, "viewer")) as server:
            await workspaces.show_all(server, forms.Form.TEXT)
            listed = capsys.readouterr().out
            await workspaces.show(server, "team-a", forms.Form.TEXT)
            shown = capsys.readouterr().out
            await workspaces.show(server, "team-a", forms.Form.JSON)
            whole = json.loads(capsys.readouterr().out)
            await workspaces.show_all(server, forms.Form.JSON, project="team-b")
            other = json.loads(capsys.readouterr().out)

    assert listed.splitlines()[1].split()[:3] == ["team-a", "team-a", "drifted"]
    assert "us  drifted for" in shown
    assert "RoleBinding shop/volary-edit: forbidden" in shown
    assert "put back" in shown
    # One of its clusters left the fleet.
    assert "namespace shop: removed, waiting for confirmation" in shown
    assert "--confirm team-a" in shown
    assert {one["cluster"]: one["status"] for one in whole["clusters"]} == {
        "us": "drifted",
        "mars": "removed",
    }
    assert other == []


async def test_who_may_see_a_part_only_does_not_see_them(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await store(world, state())
        some = world.token("viewer", team="shop")
        _, listed = await world.ask("GET", "/api/v1/workspaces", headers=some)
        status, _ = await world.ask("GET", "/api/v1/workspaces/team-a", headers=some)
        denied, _ = await world.ask(
            "POST",
            "/api/v1/workspaces/team-a/delete",
            headers=world.token("admin", team="shop"),
            json={"confirm": "team-a"},
        )

    assert listed["items"] == []
    assert (status, denied) == (404, 403)


async def test_deleting_is_confirmed_refused_and_in_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        async with client.Client.open(target(world, "admin")) as server:
            with pytest.raises(errors.UserError, match="nothing was deleted"):
                await workspaces.delete(
                    server, "team-a", forms.Form.TEXT, confirm="", with_contents=False
                )
            with pytest.raises(errors.UserError, match="there is no workspace team-a"):
                await workspaces.delete(
                    server, "team-a", forms.Form.TEXT, confirm="team-a", with_contents=False
                )
        refused, _ = await world.ask(
            "POST",
            "/api/v1/workspaces/team-a/delete",
            headers=world.token("viewer"),
            json={"confirm": "team-a"},
        )
        _, audit = await world.ask("GET", "/api/v1/audit", headers=world.token("admin"))

    assert refused == 403
    assert [(one["action"], one["result"]) for one in audit["items"]] == [
        ("workspace.delete", "denied")
    ]
    assert audit["items"][0]["document"] == {"workspace": "team-a"}


def test_exit_codes_say_whether_something_is_left() -> None:
    left = {"name": "shop", "reason": "it still holds Deployment web"}
    whole = {"cluster": "us", "deleted": ["shop"], "left": []}
    part = {"cluster": "eu", "deleted": [], "left": [left]}

    assert workspaces.exit_code({"clusters": [whole]}) is exit_codes.Exit.DONE
    assert workspaces.exit_code({"clusters": [whole, part]}) is exit_codes.Exit.FAILED
