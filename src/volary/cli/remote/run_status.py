"""``volary status``: how a run is, or what became of a commit of an application."""

import asyncio
from dataclasses import dataclass

from volary.cli import console, exit_codes, forms
from volary.cli.remote import client, output, queries
from volary.cli.run import matrix
from volary.model import errors, json, statuses

#: Seconds between two looks at a commit that has not become a run.
_POLL_INTERVAL = 0.3
#: Seconds after which it is said again what a run that is waited for waits for.
_REPEATED_AFTER = 5.0
#: Commits of an application that are looked through.
_MOST_COMMITS = 1000


@dataclass(frozen=True, slots=True)
class _NoRun:
    """A commit that is no run: why, and what that means for whoever waits for it."""

    document: json.JsonObject
    line: str
    exit_code: exit_codes.Exit


async def show(
    server: client.Client, name: str, *, commit: str = "", wait: bool, form: forms.Form
) -> int:
    """Say how a run is, or the run of an application; with `wait` once nothing happens any more.

    Args:
        server: Where it is asked.
        name: Id of a run, or name of an application.
        commit: Of an application: the one that is meant. Empty: with `wait` the one that its
            branch is at now, which Git is asked for; else that of the newest run.
        wait: Until the run has ended or a person has to decide.
        form: How it is written.

    Raises:
        errors.UserError: There is no such run, application or commit.
    """
    document, is_run = await queries.read_either(server, name)
    if is_run and commit:
        raise errors.user_error(f"{name} is a run; --commit belongs to an application")
    if not is_run and (commit or wait):
        became = await _find_run(server, document["name"], commit, wait=wait)
        if isinstance(became, _NoRun):
            output.answer(became.document, form, lambda: console.write_text(became.line))
            return became.exit_code
        document = became
    elif not is_run:
        if waiting := document["waiting"]:
            cause = queries.cause_of_waiting(document)
            console.messages().print(_waiting_line(waiting, cause), markup=False)
        document = await queries.run_of(server, name)
    if wait and not _is_settled(document):
        document = await _until_settled(server, document["summary"]["id"])
    summary = document["summary"]
    reason = summary["reason"] if summary["finished"] else document["waitingReason"]
    line = f"{summary['id']}  {summary['status']}: {reason}"
    output.answer(summary, form, lambda: console.write_text(line))
    if not form.is_document:
        output.tell_what_to_type(document)
    if document["held"] or document["pendingApproval"]:
        return exit_codes.Exit.WAITING
    return queries.exit_code_of(summary["status"])


async def _find_run(
    server: client.Client, name: str, commit: str, *, wait: bool
) -> json.JsonObject | _NoRun:
    """Return the run of a commit of an application, empty: of its branch's head; or why none."""
    head = (await server.post("applications", name, "fetch", body={}))["head"] if wait else ""
    wanted, said = commit or head, ("", "")
    told, loop = float("-inf"), asyncio.get_running_loop()
    while True:
        application = await server.get("applications", name)
        waiting = application["waiting"]
        is_requested = waiting and waiting["commit"].startswith(wanted)
        if not is_requested:
            known = await _find_commit(server, name, wanted)
            # It was requested just after the application was read.
            is_queued = wait and known is not None and known["status"] == "queued"
            if known is not None and not is_queued:
                return await _of_commit(server, known)
            is_looked_at = application["removed"] or head in ("", application["decided"])
            if is_looked_at and not is_queued:
                return await _of_unchanged(server, application, wanted)
        line = _waiting_line(waiting) if is_requested else f"{wanted[:7]} is not looked at yet"
        if is_requested and not wait:
            return _NoRun(waiting, line, exit_codes.Exit.DONE)
        if is_requested and await _needs_person(server, application):
            return _NoRun(waiting, line, exit_codes.Exit.WAITING)
        cause = queries.cause_of_waiting(application) if is_requested else ""
        if line != said[0] or (cause != said[1] and loop.time() - told >= _REPEATED_AFTER):
            shown = _waiting_line(waiting, cause) if is_requested else line
            console.messages().print(shown, markup=False)
            said, told = (line, cause), loop.time()
        await asyncio.sleep(_POLL_INTERVAL)


def _waiting_line(waiting: json.JsonObject, cause: str = "") -> str:
    because = f": {cause}" if cause else ""
    return f"{waiting['commit'][:7]} waits: {waiting['waitingReason']}{because}"


async def _find_commit(server: client.Client, name: str, commit: str) -> json.JsonObject | None:
    listed = await server.pages("applications", name, "commits", most=_MOST_COMMITS)
    return next((known for known in listed if known["commit"].startswith(commit)), None)


async def _of_commit(server: client.Client, known: json.JsonObject) -> json.JsonObject | _NoRun:
    if known["status"] not in ("superseded", "reverted") and known["run"]:
        return await server.get("runs", known["run"])
    line = f"{known['commit'][:7]}  {known['status']}: {known['reason']}"
    is_done = known["status"] == "reverted"
    return _NoRun(known, line, exit_codes.Exit.DONE if is_done else exit_codes.Exit.FAILED)


async def _of_unchanged(
    server: client.Client, application: json.JsonObject, commit: str
) -> json.JsonObject:
    """Return the newest run: the commit needed none of its own."""
    name = application["name"]
    if not application["head"].startswith(commit):
        raise errors.user_error(
            f"{name} has no commit {commit}", hint="--wait asks Git for what is new"
        )
    message = f"{commit[:7]} changes nothing of {name}; this is its newest run"
    console.messages().print(message, markup=False)
    return await queries.run_of(server, name)


async def _needs_person(server: client.Client, application: json.JsonObject) -> bool:
    """Say whether what is requested waits until somebody decides."""
    if application["paused"] or not application["run"]:
        return bool(application["paused"])
    run = await server.get("runs", application["run"])
    return run["summary"]["finished"] is None and _is_settled(run)


def _is_settled(run: json.JsonObject) -> bool:
    """Say whether nothing happens any more without a person."""
    ended = run["summary"]["finished"] is not None
    return bool(ended or run["held"] or run["pendingApproval"])


async def _until_settled(server: client.Client, run: str) -> json.JsonObject:
    shown = matrix.Matrix()
    async for piece in server.stream("runs", run, "events", "stream"):
        event = queries.read_event(piece.data)
        if event is None:
            continue
        shown = matrix.fold(shown, event)
        if shown.status in (*queries.ENDED, statuses.RunStatus.WAITING):
            document = await server.get("runs", run)
            if _is_settled(document):
                return document
    return await server.get("runs", run)
