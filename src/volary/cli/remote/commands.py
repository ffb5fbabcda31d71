"""Commands that ask the server for something."""

import asyncio
import getpass
import os
import sys

from volary.cli import console, exit_codes
from volary.cli.remote import client, login, queries
from volary.model import errors, json

#: Seconds that planning a run may take before a watcher gives up, and between two looks.
_PREPARATION = 60.0
_POLL_INTERVAL = 0.3


async def start_run(
    server: client.Client, kind: str, application: str, body: json.JsonObject, *, follow: bool
) -> int:
    """Ask for a sync or a rollback of an application; with `follow` watch what it leads to."""
    asked = await server.post("applications", application, kind, body=_without_empty(body))
    if follow:
        await _until_prepared(server, application, asked["run"])
    console.messages().print(f"{asked['run']}: {asked['reason'] or 'accepted'}", markup=False)
    console.write(asked["run"])
    if follow:
        return await queries.watch(server, asked["run"], as_json=False)
    return exit_codes.Exit.DONE


async def send_to_application(
    server: client.Client, kind: str, application: str, body: json.JsonObject
) -> int:
    """Ask something of an application that leads to no run of its own."""
    asked = await server.post("applications", application, kind, body=_without_empty(body))
    console.write_text(f"{application}: {asked['reason'] or 'accepted'}")
    return exit_codes.Exit.DONE


async def plan_rebalance(server: client.Client, application: str) -> int:
    """Say what a rebalance would move."""
    planned = await server.post("applications", application, "rebalance", "plan", body={})
    console.write_text(planned["reason"])
    console.write_text(f"it would be on {', '.join(planned['clusters'])}")
    for exclusion in planned["leftOut"]:
        console.write_text(f"not on {exclusion['cluster']}: {exclusion['reason']}")
    return exit_codes.Exit.DONE


async def _until_prepared(server: client.Client, application: str, run: str) -> None:
    """Wait until a requested run exists; planning it reads the clusters.

    When it does not in time, watching it says that there is no such run.

    Raises:
        errors.PermanentError: It never will: something has to be mended, or a newer commit
            took its place.
    """
    messages, said = console.messages(), ""
    for _ in range(round(_PREPARATION / _POLL_INTERVAL)):
        known = await server.get("applications", application)
        if await _exists(server, run):
            return
        waiting = known["waiting"]
        if not waiting or waiting["run"] != run:
            raise errors.PermanentError(f"run {run} did not begin: {known['reason']}")
        if waiting["waitingReason"] != said:
            said = waiting["waitingReason"]
            messages.print(f"{run} waits: {said}", markup=False)
        await asyncio.sleep(_POLL_INTERVAL)


async def _exists(server: client.Client, run: str) -> bool:
    try:
        await server.get("runs", run)
    except errors.UserError:
        return False
    return True


async def send_to_run(server: client.Client, kind: str, run: str, body: json.JsonObject) -> int:
    """Ask something of a run: of this id, or the newest of the application of this name."""
    document = await queries.run_of(server, run)
    asked = await server.post("runs", document["summary"]["id"], kind, body=_without_empty(body))
    console.write_text(f"{asked['run']}: {asked['reason'] or 'accepted'}")
    return exit_codes.Exit.DONE


def _without_empty(body: json.JsonObject) -> json.JsonObject:
    return {key: value for key, value in body.items() if value not in ("", None)}


async def log_in(server: str) -> int:
    """Try a token that is read from the terminal or standard input, and keep it."""
    token = getpass.getpass("token: ") if sys.stdin.isatty() else sys.stdin.readline()
    target = login.check(login.Target(server.rstrip("/"), token.strip()))
    async with client.Client.open(target) as opened:
        await opened.get("clusters")
    file = login.path(os.environ)
    login.write(file, target)
    console.messages().print(f"logged in to {target.server}; kept in {file}", markup=False)
    return exit_codes.Exit.DONE
