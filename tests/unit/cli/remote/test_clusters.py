"""`volary cluster …` against a real server."""

import json
from pathlib import Path

import pytest

import server_world
from volary.cli import forms
from volary.cli.remote import client, clusters, login, queries
from volary.model import errors
from volary.model.fleet import fleets, taints

MEMBERS = fleets.Fleet(
    (
        fleets.Cluster("us", kubeconfig=("missing",), region="us"),
        fleets.Cluster("arn:aws:eks:1:cluster/eu", taints=(taints.Taint("gpu", "a100"),)),
        fleets.Cluster("old", suspended=True),
    )
)
EU = "arn:aws:eks:1:cluster/eu"


def _admin(world: server_world.Served) -> login.Target:
    token = world.token("admin", "ana")["authorization"].removeprefix("Bearer ")
    return login.Target(world.url, token)


async def test_clusters_are_listed_shown_and_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        world.service.fleet.register.replace(MEMBERS)
        async with client.Client.open(_admin(world)) as server:
            text = forms.Form.TEXT
            await clusters.send(server, "us", "cordon", {"reason": "1.36"})
            cordoned = capsys.readouterr().out
            await clusters.taint(server, EU, ["maintenance=disk:NoExecute", "x:NoSchedule"], "slow")
            tainted = capsys.readouterr().out
            await clusters.taint(server, EU, ["x-", "maintenance:NoExecute-"], "")
            untainted = capsys.readouterr().out
            await queries.get(server, "clusters", text)
            listed = capsys.readouterr().out
            await queries.get(server, "clusters", text, status="suspended")
            suspended = capsys.readouterr().out
            await clusters.get(server, "us", text)
            shown = capsys.readouterr().out
            await clusters.get(server, EU, forms.Form.JSON)
            whole = json.loads(capsys.readouterr().out)
            with pytest.raises(
                errors.UserError, match=r"us is already cordoned by token:ana: 1\.36"
            ):
                await clusters.send(server, "us", "cordon", {})
            with pytest.raises(errors.UserError, match="mars"):
                await clusters.send(server, "mars", "cordon", {})
        _, audit = await world.ask("GET", "/api/v1/audit", headers=world.token("admin", "eve"))

    assert cordoned.strip().endswith("volary.dev/cordoned:NoSchedule")
    assert "maintenance=disk:NoExecute" in tainted
    assert untainted.strip().endswith("gpu=a100:NoSchedule")
    assert {"NAME", "STATUS", "TAINTS", "REASON"} <= set(listed.splitlines()[0].split())
    assert "volary.dev/cordoned:NoSchedule" in listed.splitlines()[1]
    assert suspended.splitlines()[1].split()[:2] == ["old", "suspended"]
    assert "volary.dev/cordoned:NoSchedule by token:ana since 20" in shown
    assert (whole["name"], whole["schedulable"]) == (EU, False)
    assert whole["taints"][0]["by"] == "fleet file"
    assert [each["action"] for each in audit["items"]][::-1] == [
        "cluster.cordon",
        "cluster.taint",
        "cluster.taint",
        "cluster.untaint",
        "cluster.untaint",
        "cluster.cordon",
    ]
    first, refused = audit["items"][-1], audit["items"][0]
    assert first["before"] == {"schedulable": True, "taints": []}
    assert first["after"] == {
        "schedulable": False,
        "taints": ["volary.dev/cordoned=:NoSchedule"],
    }
    assert (refused["result"], refused["before"], refused["after"]) == ("failed", {}, {})


@pytest.mark.parametrize(
    "text", ["", "gpu", "gpu=x", "gpu:Sometimes", ":NoSchedule", "gpu=x-", "-"]
)
async def test_what_is_no_taint_is_refused_before_anything_is_asked(text: str) -> None:
    async with client.Client.open(login.Target("http://127.0.0.1:1", "")) as nobody:
        with pytest.raises(errors.UserError, match="is no taint"):
            await clusters.taint(nobody, "us", ["a-", text], "")


def test_a_preview_says_what_would_move_and_why_the_rest_stays() -> None:
    move = {"application": "web", "moves": True, "replacements": ["us"], "reason": "it goes to us"}
    stay = {**move, "application": "payments", "moves": False, "reason": "nothing is divided"}
    shown = {"sentence": "of 3 there 1 would move", "applications": [move, stay], "omitted": 1}

    assert list(clusters.preview_lines(shown)) == [
        "of 3 there 1 would move",
        "APPLICATION  MOVES  REASON",
        "web          yes    it goes to us",
        "payments     no     nothing is divided",
        "1 further application not looked at",
    ]
