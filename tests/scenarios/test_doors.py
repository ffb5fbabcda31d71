"""Who gets into a server that runs: requests as curl sends them, and what is done to its files."""

import asyncio
import json
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

import command_world
import process_time

SETTINGS = """
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:0
dataDirectory: {data}
{more}
repositories:
- {{name: shop, url: {repository}, interval: 1s}}
"""
#: What credentials that are not valid get; the second within a minute after others of there.
SHUT = {401, 429}
PATHS = ("/api/v1/applications", "/api/v1/audit", "/api/v1/tokens", "/api/v1/whoami", "/metrics")


@dataclass
class Door:
    """A server that runs, and who stands before it."""

    world: command_world.World
    url: str
    config: Path
    data: Path

    async def get(self, path: str, token: str = "", **headers: str) -> tuple[int, Any]:
        """Ask as curl does."""
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url + path, headers=headers) as answer,
        ):
            text = await answer.text()
            return answer.status, json.loads(text) if "json" in answer.content_type else text

    async def statuses(self, token: str = "", **headers: str) -> set[int]:
        """Return how every path answers."""
        return {(await self.get(path, token, **headers))[0] for path in PATHS}

    async def volary(self, *words: str, token: str = "") -> command_world.Ended:
        """Type a command against the server."""
        return await self.world.volary(*words, VOLARY_SERVER=self.url, VOLARY_TOKEN=token)

    async def create(self, name: str, role: str = "admin") -> str:
        """Make a token on the server's machine."""
        words = ("token", "create", name, "--role", role, "--config", str(self.config))
        made = await self.world.volary(*words)
        assert made.code == 0, made
        return made.out.strip()


def door(world: command_world.World, base: Path, process: command_world.Started) -> Door:
    found = re.search(r"http://127\.0\.0\.1:\d+", process.said)
    assert found
    return Door(world, found.group(), base / "server.yaml", base / "data")


def write_settings(world: command_world.World, base: Path, more: str = "") -> str:
    values = {"fleet": world.fleet, "data": base / "data", "repository": world.directory}
    (base / "server.yaml").write_text(SETTINGS.format(**values, more=more))
    return str(base / "server.yaml")


async def test_a_server_is_closed_until_somebody_has_a_token(tmp_path: Path) -> None:
    """And whatever happens to the tokens then, nobody else gets in."""
    async with command_world.world(tmp_path, "us") as world:
        (tmp_path / "data").mkdir(mode=0o755)
        config = write_settings(world, tmp_path)
        async with world.start("server", "--config", config) as process:
            await process.until("hint: volary token create")
            server = door(world, tmp_path, process)
            tokens = server.data / "tokens.json"

            # Closed from the beginning, and it says how to get in.
            assert "nobody can log in yet" in process.said
            assert server.data.stat().st_mode & 0o777 == 0o700
            assert [(await server.get(path))[0] for path in ("/healthz", "/readyz")] == [200, 200]
            assert await server.statuses() == {401}
            _, body = await server.get("/api/v1/applications")
            assert "volary token create NAME --role admin" in body["detail"]
            typed = await server.volary("get", "apps")
            assert typed.code == 2
            assert f"hint: volary login {server.url}" in typed.err
            typed = await server.volary("get", "apps", token="volary_old")
            assert f"hint: unset VOLARY_TOKEN, then volary login {server.url}" in typed.err

            # The first token opens it without a restart, and for nobody else.
            admin = await server.create("me")
            assert await server.statuses(admin) == {200}
            assert await server.statuses() == {401}
            who = await server.volary("whoami", token=admin)
            assert who.out.startswith("token:me: an API token of this server\nroles: admin")

            # Guessing shuts nobody else of this address out.
            async with asyncio.timeout(process_time.HANG):
                # Ten within a minute, however long each takes.
                while (await server.get(PATHS[0], "volary_guess"))[0] != 429:
                    pass
            assert await server.statuses(admin) == {200}

            # Others could read the tokens: they open nothing, until that is mended.
            tokens.chmod(0o644)
            assert await server.statuses(admin) == {503}
            assert await server.statuses() == {401}
            tokens.chmod(0o600)
            assert await server.statuses(admin) == {200}

            # Tokens by the API, by an admin.
            words = ("token", "create", "ci", "--server", server.url, "--days", "7")
            made = await server.volary(*words, token=admin)
            ci = made.out.strip()
            more = await server.volary(*words, token=ci)
            listed = await server.volary("token", "list", "--server", server.url, token=admin)
            assert (made.code, more.code) == (0, 2)
            assert "may not administer" in more.err
            assert {line.split()[1] for line in listed.out.splitlines()[1:]} == {"me", "ci"}
            assert ci not in listed.out
            revoked = await server.volary(
                "token", "revoke", "ci", "--server", server.url, token=admin
            )
            assert revoked.code == 0, revoked
            assert await server.statuses(ci) <= SHUT

            # The audit is whole, until somebody takes something out of the database.
            whole = await server.volary("audit", "verify", token=admin)
            exported = await server.volary("audit", "export", "-o", "json", token=admin)
            entries = [json.loads(line) for line in exported.out.splitlines()]
            assert whole.code == 0, whole
            assert whole.out.startswith(f"the audit is whole: {len(entries)} entries")
            assert [(each["by"], each["action"], each["result"]) for each in entries] == [
                ("token:me", "token.create", "ok"),
                ("token:ci", "token.create", "denied"),
                ("token:me", "token.revoke", "ok"),
            ]
            assert entries[2]["before"] == {"status": "valid"}
            assert entries[2]["after"] == {"status": "revoked"}
            assert {each["source"] for each in entries} == {"127.0.0.1"}
            await asyncio.to_thread(take_out, server.data / "volary.db", 2)
            robbed = await server.volary("audit", "verify", token=admin)
            assert robbed.code == 1
            assert robbed.out.startswith("entry 2 is missing\n")

            # The tokens go away: that lets nobody in.
            tokens.write_bytes(b"")
            assert await server.statuses() == {401}
            assert await server.statuses(admin) == {503}
            tokens.unlink()
            assert await server.statuses() == {401}
            # What the database knows of tokens, for other servers too, comes back by itself.
            assert await server.statuses(admin) <= {*SHUT, 200}
            assert (await server.get("/healthz"))[0] == 200


def take_out(database: Path, position: int) -> None:
    """Remove an entry, as somebody does who can write to the file."""
    connection = sqlite3.connect(database, timeout=60)
    with connection:
        connection.execute("DELETE FROM audit WHERE position = ?", (position,))
    connection.close()


async def test_authentication_none_is_for_this_machine_and_until_there_is_a_token(
    tmp_path: Path,
) -> None:
    async with command_world.world(tmp_path, "us") as world:
        abroad = write_settings(world, tmp_path, "authentication: none\nlisten: 0.0.0.0:0")
        text = Path(abroad).read_text().replace("listen: 127.0.0.1:0\n", "")
        Path(abroad).write_text(text)
        refused = await world.volary("server", "--config", abroad)
        assert refused.code == 2
        assert "nothing but this machine is answered, not 0.0.0.0" in refused.err

        config = write_settings(world, tmp_path, "authentication: none")
        async with world.start("server", "--config", config) as process:
            await process.until("may do everything")
            server = door(world, tmp_path, process)
            assert await server.statuses() == {200}
            for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host"):
                assert await server.statuses(**{name: "127.0.0.1"}) == {401}
            assert await server.statuses(Host="evil.example") == {421}
            assert await server.statuses(Host="127.0.0.1.evil.example") == {421}
            who = await server.volary("whoami")
            assert who.out.startswith("local: on its machine, without credentials")

            admin = await server.create("me")
            assert await server.statuses() == {401}
            assert await server.statuses(admin) == {200}
            (server.data / "tokens.json").unlink()
            assert await server.statuses() == {401}
            await server.create("again")
        async with world.start("server", "--config", config) as process:
            await process.until("authentication: none is not in force: there are API tokens")
