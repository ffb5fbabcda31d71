"""`volary whoami`, `volary token … --server` and `volary audit` against a real server."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import server_world
from volary.cli import exit_codes, forms, token_lists
from volary.cli.remote import audit, client, login, people
from volary.model import errors, projects
from volary.tenancy import membership

TEXT, JSON = forms.Form.TEXT, forms.Form.JSON


def _target(world: server_world.Served, role: str, name: str, **labels: str) -> login.Target:
    header = world.token(role, name, **labels)["authorization"]
    return login.Target(world.url, header.removeprefix("Bearer "))


def wanted(
    name: str,
    role: str = "viewer",
    labels: Mapping[str, str] | None = None,
    *,
    project: str = "",
    days: int | None = None,
) -> token_lists.WantedToken:
    return token_lists.WantedToken(name, role, labels or {}, project, days)


async def test_people_see_who_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with server_world.served(tmp_path) as world:
        for target in (
            _target(world, "admin", "ana"),
            _target(world, "deployer", "ci", team="shop"),
            login.Target(
                world.url,
                world.token("admin", "lead", project="shop")["authorization"].removeprefix(
                    "Bearer "
                ),
            ),
        ):
            async with client.Client.open(target) as server:
                await people.whoami(server, TEXT)
        shown = capsys.readouterr().out.splitlines()

    assert shown == [
        "token:ana: an API token of this server",
        "roles: admin",
        "expires: never",
        "token:ci: an API token of this server",
        "roles: deployer of applications with team=shop",
        "expires: never",
        "token:shop/lead: an API token of this server",
        "roles: admin of applications of shop",
        "expires: never",
    ]


async def test_whoever_is_not_known_is_told_to_log_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VOLARY_TOKEN", raising=False)
    async with server_world.served(tmp_path) as world:
        world.token("admin")
        said = []
        for token in ("", "volary_wrong"):
            async with client.Client.open(login.Target(world.url, token)) as server:
                with pytest.raises(errors.UserError) as caught:
                    await people.whoami(server, TEXT)
            said.append((caught.value.problems[0].message, caught.value.problems[0].hint))

    assert said == [
        ("credentials are needed", f"volary login {world.url}"),
        ("the token is not known, has expired or was revoked", f"volary login {world.url}"),
    ]


async def test_tokens_are_made_listed_and_revoked_by_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        async with client.Client.open(_target(world, "admin", "ana")) as server:
            await people.create_token(server, wanted("ci", "deployer", {"team": "shop"}, days=30))
            made = capsys.readouterr()
            await people.list_tokens(server, TEXT)
            listed = capsys.readouterr().out
            await people.list_tokens(server, JSON)
            whole = json.loads(capsys.readouterr().out)
            await people.revoke_token(server, "ci")
            with pytest.raises(errors.UserError, match="there is no token ci"):
                await people.revoke_token(server, "ci")
        stored = {token.name: token for token in world.tokens.all()}

    secret = made.out.strip()
    assert secret.startswith("volary_")
    assert "shown only now" in made.err
    assert secret not in listed
    assert listed.splitlines()[0].split() == [
        *("ID", "NAME", "ROLE", "STATUS", "PROJECT", "LABELS", "CREATED", "EXPIRES", "LAST", "USED")
    ]
    line = listed.splitlines()[2]
    assert "2030-01-31 12:00" in line
    assert "team=shop" in line
    assert line.endswith("not yet")
    assert [each["name"] for each in whole] == ["ana", "ci"]
    assert stored["ci"].revoked is not None


async def test_tokens_of_a_project_bear_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        shop = {"shop": projects.Project("shop")}
        world.service.dependencies.projects = lambda: membership.Projects(shop)
        async with client.Client.open(_target(world, "admin", "ana")) as server:
            await people.create_token(server, wanted("ci", "admin", project="shop"))
            made = capsys.readouterr()
            await people.list_tokens(server, JSON)
            with pytest.raises(errors.UserError, match="there is no project pay"):
                await people.create_token(server, wanted("ci", project="pay"))
        lead = login.Target(world.url, made.out.strip())
        capsys.readouterr()
        async with client.Client.open(lead) as server:
            await people.create_token(server, wanted("more", project="shop"))
            await people.revoke_token(server, "shop/more")
            with pytest.raises(errors.UserError, match="there is no token ana"):
                await people.revoke_token(server, "ana")
            capsys.readouterr()
            await audit.export(server, JSON, {})
            exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            with pytest.raises(errors.UserError, match="may not administer here"):
                await audit.verify(server, "")
        states = {token.full_name: token.revoked is None for token in world.tokens.all()}

    assert "token shop/ci (admin); it is shown only now" in made.err
    assert states == {"ana": True, "shop/ci": True, "shop/more": False}
    assert [(each["by"], each["action"], each["project"]) for each in exported] == [
        ("token:ana", "token.create", "shop"),
        ("token:shop/ci", "token.create", "shop"),
        ("token:shop/ci", "token.revoke", "shop"),
    ]


async def test_the_audit_is_exported_and_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "export.jsonl"
    async with (
        server_world.served(tmp_path / "data") as world,
        client.Client.open(_target(world, "admin", "ana")) as server,
    ):
        await audit.verify(server, "")
        empty = capsys.readouterr().out
        for name in ("a", "b", "c"):
            await people.create_token(server, wanted(name))
        await people.revoke_token(server, "b")
        capsys.readouterr()
        await audit.export(server, JSON, {})
        export.write_text(capsys.readouterr().out)
        await audit.export(server, TEXT, {"action": "token.revoke"})
        revoked = capsys.readouterr().out
        assert await audit.verify(server, "") == exit_codes.Exit.DONE
        whole = capsys.readouterr().out
        head = whole.split()[-1]
        assert await audit.verify(server, head) == exit_codes.Exit.DONE
        assert await audit.verify(server, "2:" + "0" * 64) == exit_codes.Exit.FAILED
        capsys.readouterr()

    assert "no entry yet" in empty
    assert "token:ana from 127.0.0.1  token.revoke  ok" in revoked
    assert "status: valid -> revoked" in revoked
    assert whole.startswith("the audit is whole: 4 entries\nhead 4:")
    lines = export.read_text().splitlines()
    assert [json.loads(line)["position"] for line in lines] == [1, 2, 3, 4]

    def verified(*kept: str, expected: str = "") -> tuple[int, str]:
        export.write_text("\n".join(kept) + "\n")
        code = audit.verify_file(str(export), expected)
        return code, capsys.readouterr().out.splitlines()[0]

    assert verified(*lines) == (0, "the audit is whole: 4 entries")
    assert verified(*lines[:1], *lines[2:]) == (1, "entry 2 is missing")
    assert verified(*lines[:3], expected=head) == (1, "entry 4 is missing at the end")
    forged = lines[1].replace('"viewer"', '"admin"')
    assert verified(lines[0], forged, *lines[2:]) == (
        1,
        "entry 2 was changed: it does not have the hash of its content",
    )


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no", '{"position": 1}', "[" * 100_000])
def test_what_is_no_export_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "export").write_text(text)
    with pytest.raises(errors.UserError, match=r"no export|lacks"):
        audit.verify_file(str(tmp_path / "export"), "")
    with pytest.raises(errors.UserError, match="cannot be read"):
        audit.verify_file(str(tmp_path / "nothing"), "")


@pytest.mark.parametrize("expected", ["7", "a:b", "7:", ":x", "-1:x", "9" * 30 + ":x"])
def test_what_is_no_head_is_an_error(tmp_path: Path, expected: str) -> None:
    with pytest.raises(errors.UserError, match="is no position with its hash"):
        audit.verify_file(str(tmp_path / "nothing"), expected)
