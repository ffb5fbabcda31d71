"""Commands that ask the server for something."""

import asyncio
import getpass
import os
import shlex
import sys
from dataclasses import dataclass

import typer

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


async def plan_rollback(server: client.Client, application: str, to: str) -> int:
    """Say what going back to a commit, or to that of a run, would change in each cluster.

    Ends as a failure where a cluster could not be asked or would refuse.
    """
    planned = await server.post("applications", application, "rollback", "plan", body={"to": to})
    console.write_text(f"{application} at {planned['commit'][:7]}: {planned['sentence']}")
    for cluster in planned["clusters"]:
        console.write_text(f"  {cluster['name']}: {cluster['sentence']}")
    is_well = all(each["status"] not in ("refused", "unreachable") for each in planned["clusters"])
    return exit_codes.Exit.DONE if is_well else exit_codes.Exit.FAILED


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


@dataclass(frozen=True, slots=True)
class Meant:
    """What a person says that a request is about; what is empty is as the run is now."""

    stage: str = ""
    group: str = ""
    #: Version of the run as it was shown; 0: as it is read right before.
    version: int = 0
    #: Nothing is sent until run, stage and group are said, here or on the terminal.
    must_be_said: bool = False


async def send_to_run(
    server: client.Client, kind: str, run: str, body: json.JsonObject, meant: Meant | None = None
) -> int:
    """Ask something of a run: of this id, or the newest of the application of this name.

    It is bound to what is `meant`, or else to what the run is at when it is read here, which is
    shown; a run that has moved on since refuses it. None: it holds wherever the run is.

    Raises:
        errors.UserError: It was refused, or nobody said what is meant.
    """
    document = await queries.run_of(server, run)
    name = document["summary"]["id"]
    if meant is not None:
        body = {**body, "seen": _seen(kind, run, document, meant)}
    asked = await server.post("runs", name, kind, body=_without_empty(body))
    console.write_text(f"{asked['run']}: {asked['reason'] or 'accepted'}")
    return exit_codes.Exit.DONE


async def abandon(server: client.Client, run: str, body: json.JsonObject) -> int:
    """End a run as it is: of this id, or the newest of the application of this name.

    The run itself is not read, for it may be damaged.

    Raises:
        errors.UserError: It was refused.
    """
    try:
        name = (await server.get("applications", run))["run"] or run
    except errors.UserError:
        name = run
    asked = await server.post("runs", name, "abandon", body=body)
    console.write_text(f"{asked['run']}: {asked['reason'] or 'accepted'}")
    return exit_codes.Exit.DONE


def _seen(kind: str, named: str, document: json.JsonObject, meant: Meant) -> json.JsonObject:
    """Return where a run is said to be, else where it is; on a terminal that is confirmed."""
    now, summary = document["seen"], document["summary"]
    stage, version = meant.stage or now["stage"], meant.version or now["version"]
    group = meant.group or ("" if meant.stage else now["group"])
    about = f"{stage} of {group}" if group else stage
    commit = summary["commit"][:7]
    console.tell(f"{kind} {about}: run {summary['id']}, commit {commit}, version {version}")
    is_said = named == summary["id"] and meant.stage and (group or not now["group"])
    # Anywhere else there is nothing to decide about: the server says why.
    if meant.must_be_said and not is_said and summary["status"] == "waiting":
        _confirm(kind, summary["id"], now)
    return {"stage": stage, "group": group, "version": version}


def _confirm(kind: str, run: str, now: json.JsonObject) -> None:
    """Have a person on a terminal agree; nobody else is asked.

    Raises:
        errors.UserError: They do not agree, or nobody is there.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        group = f" --group {shlex.quote(now['group'])}" if now["group"] else ""
        raise errors.user_error(
            f"nothing is sent: say which run and stage you {kind}",
            hint=f"volary {kind} {run} --stage {now['stage']}{group} --seen {now['version']}",
        )
    if not typer.confirm(f"{kind}?", err=True):
        raise errors.user_error("nothing is sent")


def _without_empty(body: json.JsonObject) -> json.JsonObject:
    return {key: value for key, value in body.items() if value not in ("", None)}


async def log_in(server: str) -> int:
    """Try a token that is read from the terminal or standard input, and keep it."""
    token = getpass.getpass("token: ") if sys.stdin.isatty() else sys.stdin.readline()
    target = login.check(login.Target(server.rstrip("/"), token.strip()))
    async with client.Client.open(target) as opened:
        person = await opened.get("whoami")
    file = login.path(os.environ)
    login.write(file, target)
    console.tell(f"logged in to {target.server} as {person['name']}; kept in {file}")
    return exit_codes.Exit.DONE
