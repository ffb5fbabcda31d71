"""Who somebody is, and API tokens by the API."""

import asyncio
import json
from pathlib import Path
from typing import Any

import server_world
from volary.server.authentication import token_uses, tokens
from volary.store import records

API = "/api/v1"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


ALL = ["view", "deploy", "approve", "unfreeze", "administer"]


async def test_everybody_is_told_who_they_are(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        _, local = await world.ask("GET", f"{API}/whoami")
        _, ci = await world.ask(
            "GET", f"{API}/whoami", headers=world.token("deployer", "ci", team="shop")
        )
        nobody, _ = await world.ask("GET", f"{API}/whoami")

    assert local == {
        "name": "local",
        "source": "local",
        "roles": [{"role": "admin", "matchLabels": {}, "projects": [], "permissions": ALL}],
        "expires": None,
    }
    assert ci == {
        "name": "token:ci",
        "source": "token",
        "roles": [
            {
                "role": "deployer",
                "matchLabels": {"team": "shop"},
                "projects": [],
                "permissions": ["view", "deploy"],
            }
        ],
        "expires": None,
    }
    assert nobody == 401


async def test_admins_make_list_and_revoke_tokens(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        admin = world.token("admin", "ana")
        wanted = {"name": "ci", "role": "deployer", "matchLabels": {"team": "shop"}, "days": 30}
        status, made = await world.ask("POST", f"{API}/tokens", headers=admin, json=wanted)
        _, who = await world.ask("GET", f"{API}/whoami", headers=bearer(made["token"]))
        again, refusal = await world.ask("POST", f"{API}/tokens", headers=admin, json=wanted)
        _, listed = await world.ask("GET", f"{API}/tokens", headers=admin)
        _, page = await world.ask("GET", f"{API}/tokens?limit=1", headers=admin)
        _, second = await world.ask(
            "GET", f"{API}/tokens?limit=1&cursor={page['cursor']}", headers=admin
        )
        revoked, last = await world.ask("POST", f"{API}/tokens/ci/revoke", headers=admin)
        gone, _ = await world.ask("GET", f"{API}/whoami", headers=bearer(made["token"]))
        twice, _ = await world.ask("POST", f"{API}/tokens/ci/revoke", headers=admin)
        _, audit = await world.ask("GET", f"{API}/audit", headers=admin)

    assert (status, revoked, gone, twice) == (201, 202, 401, 404)
    assert (who["name"], who["expires"]) == ("token:ci", "2030-01-31T12:00:00Z")
    assert (again, refusal["detail"]) == (400, "there is a token ci already")
    assert [each["name"] for each in listed["items"]] == ["ana", "ci"]
    assert listed["items"][1] == {
        "id": made["id"],
        "name": "ci",
        "role": "deployer",
        "matchLabels": {"team": "shop"},
        "project": "",
        "status": "valid",
        "created": "2030-01-01T12:00:00Z",
        "expires": "2030-01-31T12:00:00Z",
        "revoked": None,
        "lastUsed": "2030-01-01T12:00:00Z",
    }
    assert (page["items"], second["items"]) == (listed["items"][:1], listed["items"][1:])
    assert last["status"] == "revoked"
    secret = made["token"].removeprefix(tokens.PREFIX)
    for shown in (listed, audit, last):
        assert secret not in json.dumps(shown)
        assert "hash" not in json.dumps(shown["items"] if shown is listed else last)
    revoking, refused, creating = audit["items"]
    assert (creating["by"], creating["action"], creating["source"]) == (
        *("token:ana", "token.create"),
        "127.0.0.1",
    )
    assert creating["document"] == {**wanted, "project": ""}
    assert creating["after"] == {"id": made["id"], "status": "valid"}
    assert (refused["result"], refused["after"]) == ("failed", {})
    assert (revoking["before"], revoking["after"]) == (
        {"status": "valid"},
        {"status": "revoked"},
    )


async def test_what_is_no_token_is_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"name": ""},
        {"name": "a b"},
        {"name": "../x"},
        {"name": "x" * 64},
        {"name": "ci", "role": "owner"},
        {"name": "ci", "days": 0},
        {"name": "ci", "days": 4000},
        {"name": "ci", "days": True},
        {"name": "ci", "matchLabels": {"a b": "c"}},
        {"name": "ci", "hash": "0"},
    ]
    async with server_world.served(tmp_path) as world:
        admin = world.token("admin")
        statuses = [
            (await world.ask("POST", f"{API}/tokens", headers=admin, json=body))[0]
            for body in wrong
        ]
        known = len(world.tokens.all())

    assert set(statuses) <= {400, 422}
    assert known == 1


async def test_admins_of_some_applications_make_no_tokens(tmp_path: Path) -> None:
    """Who may do everything with a team's applications could otherwise make themselves more."""
    async with server_world.served(tmp_path) as world:
        team = world.token("admin", "lead", team="shop")
        seen = [
            (await world.ask(method, f"{API}/{path}", headers=team, json=body))[0]
            for method, path, body in (
                ("GET", "tokens", None),
                ("POST", "tokens", {"name": "more", "role": "admin"}),
                ("POST", "tokens/lead/revoke", None),
            )
        ]
        _, audit = await world.ask("GET", f"{API}/audit", headers=world.token("admin"))

    assert seen == [403, 403, 403]
    assert [(each["action"], each["result"], each["document"]) for each in audit["items"]] == [
        ("token.revoke", "denied", {"token": "lead"}),
        ("token.create", "denied", {}),
    ]


async def test_the_last_use_is_kept_without_a_write_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / token_uses.FILE_NAME
    async with server_world.served(tmp_path) as world:
        ci = world.token("viewer", "ci")
        for _ in range(20):
            await world.ask("GET", f"{API}/runs", headers=ci)
        authenticator = world.application.state.server_state.authenticator
        in_memory = authenticator.uses.all()
        before = file.exists()
        world.clock.forward(seconds=100)
        await world.ask("GET", f"{API}/runs", headers=ci)
        soon = authenticator.uses.all()
        world.clock.forward(seconds=400)
        await world.ask("GET", f"{API}/runs", headers=ci)
        later = authenticator.uses.all()
        stored = tokens.TokenFile(tmp_path).all()[0]

    assert not before
    assert in_memory == soon == {stored.id: stored.created}
    assert later[stored.id] > stored.created
    assert token_uses.TokenUses(tmp_path).all() == later, "it is written when the server stops"
    assert file.stat().st_mode & 0o777 == 0o600
    assert ci["authorization"].removeprefix("Bearer ") not in file.read_text()


async def test_a_file_of_last_uses_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / token_uses.FILE_NAME).write_text("{")
    uses = token_uses.TokenUses(tmp_path)
    clock = server_world.fixed_clock.FixedClock()
    uses.note("1234", clock.now())
    await asyncio.to_thread(uses.write)

    assert token_uses.TokenUses(tmp_path).all() == {"1234": clock.now()}


async def test_what_a_command_changed_is_in_the_audit(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        admin = world.token("admin", "ana")
        await world.ask("POST", f"{API}/runs/run-web/cancel", headers=admin, json={})
        _, audit = await world.ask("GET", f"{API}/audit?order=oldest", headers=admin)
        _, head = await world.ask("GET", f"{API}/audit/head", headers=admin)
        wrong, _ = await world.ask("GET", f"{API}/audit?order=any", headers=admin)

    [entry] = audit["items"]
    assert (entry["result"], entry["before"], entry["after"]) == ("failed", {}, {})
    assert (entry["position"], entry["previous"]) == (1, "")
    assert head == {"position": 1, "hash": entry["hash"]}
    assert wrong == 422


async def test_the_audit_of_a_cluster_is_asked_for_by_its_name(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        for document in ({"cluster": "us"}, {"cluster": "eu"}, {}):
            await world.service.store.audit.write(
                records.AuditRecord(
                    world.clock.now(), "ana", "cluster.cordon", "ok", document=document
                )
            )
        status, found = await world.ask(
            "GET", f"{API}/audit?cluster=eu", headers=world.token("admin")
        )

    assert status == 200
    assert [entry["document"] for entry in found["items"]] == [{"cluster": "eu"}]
