"""What a demo that stays up goes on with: a server, whose web UI shows a run that waits.

Scenarios that release without a server get one here, on the same clusters, and one release more,
which asks somebody before it goes to everybody.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from volary.cli.remote import client, login
from volary.demo import harness, server_process
from volary.model import json, statuses

_REPOSITORY = "shop"
_STAGE = "      - name: K8S_PRIMARY_ROLLOUT"
#: On this machine, without credentials, everybody is `local`.
_APPROVAL = "      - name: WAIT_APPROVAL\n        with: {approvers: [local]}\n"
#: Such a run goes no further by itself.
_RESTING = ("waiting", *statuses.GOOD_ENDS, "failed", "cancelled", "rolled_back")


@contextlib.asynccontextmanager
async def one_more_release(
    environment: harness.ReleaseEnvironment, base: Path
) -> AsyncIterator[list[str]]:
    """Have a server release one version more as long as the block lasts; gives what to open."""
    directory, repository = base / "server", environment.repository
    directory.mkdir()
    old, new = environment.scenario.change
    running = new
    if environment.scenario.expected is not statuses.RunStatus.SUCCEEDED:
        repository.edit({new: old}, f"Go back to {old}")
        running = old
    async with server_process.prepare(
        environment.console, directory, environment.sandbox, {_REPOSITORY: repository}, {}
    ) as prepared:
        repository.push()
        await prepared.server.start()
        async with client.Client.open(login.Target(prepared.server.url, "")) as api:
            before = await _rests(api, "")
            repository.edit(
                {running: f"{running.rpartition(':')[0]}:v3", _STAGE: _APPROVAL + _STAGE},
                "Release v3, and ask before it goes to everybody",
            )
            repository.push()
            run = await _rests(api, before["id"])
        yield server_process.page_of(prepared.server.url, f"/runs/{run['id']}")


async def _rests(api: client.Client, before: str) -> json.JsonObject:
    """Return the newest run after `before`, once it goes no further by itself."""

    async def newest() -> json.JsonObject:
        runs = (await api.get("runs"))["items"]
        return dict(runs[0]) if runs else {}

    return await server_process.until(
        newest, lambda run: run and run["id"] != before and run["status"] in _RESTING
    )
