"""Commands that only look: get, describe, explain, watch, logs, status."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from volary.cli import console, exit_codes, forms
from volary.cli.remote import application_status, client, output
from volary.cli.run import views
from volary.config.decoding import readings
from volary.controller.status import application_statuses
from volary.engine.observers import feed
from volary.model import errors, json, safe_text, statuses
from volary.model.fleet import cluster_health

_PATHS = {
    "apps": "applications",
    "runs": "runs",
    "clusters": "clusters",
    "servers": "servers",
}
_STATUSES: Mapping[forms.Noun, type[StrEnum]] = {
    "apps": application_statuses.StatusWord,
    "runs": statuses.RunStatus,
    "clusters": cluster_health.ClusterState,
}
_MOST_CLUSTERS = 1000
#: A run in one of these never changes again.
ENDED = (
    *statuses.GOOD_ENDS,
    statuses.RunStatus.FAILED,
    statuses.RunStatus.CANCELLED,
    statuses.RunStatus.ROLLED_BACK,
)


async def get(
    server: client.Client,
    noun: forms.Noun,
    form: forms.Form,
    *,
    app: str = "",
    status: str = "",
    with_removed: bool = False,
    most: int = 100_000,
) -> int:
    """Show a list: of one application, and with one status, where these are given.

    Raises:
        errors.UserError: Nothing of the kind can have this status.
    """
    known = list(_STATUSES.get(noun, ()))
    if status and status not in known:
        hint = readings.did_you_mean(status, known)
        raise errors.user_error(f"{status} is no status of {noun}", hint=hint)
    query: dict[str, str | int] = {"status": status} if known else {}
    if noun == "runs":
        query["application"] = app
    if with_removed:
        query["removed"] = "true"
    items = await server.pages(_PATHS[noun], most=most, **query)
    if app and noun == "apps":
        items = [item for item in items if item["name"] == app]
    output.show_list(noun, items, form)
    return exit_codes.Exit.DONE


async def get_app(server: client.Client, name: str, form: forms.Form) -> int:
    """Show one application over all its clusters, as the server knows them."""
    return _show_app(await server.get("applications", name, "status"), form)


async def survey_app(path: str, app: str, fleet: str, contexts: str, form: forms.Form) -> int:
    """Show the application of a directory over all its clusters, which are asked directly."""
    # Clusters, which a server's commands do without.
    from volary.cli.local import live_status
    from volary.controller.planning import preparation

    request = preparation.RunOptions(path or ".", app=app, fleet=fleet, contexts=contexts)
    return _show_app(await live_status.read(request), form)


def _show_app(document: json.JsonObject, form: forms.Form) -> int:
    lines = application_status.lines(document, wide=form is forms.Form.WIDE)
    return output.answer(document, form, lambda: console.write_lines(lines))


async def show_placement(server: client.Client, application: str, form: forms.Form) -> int:
    """Show where an application is, and what moves."""
    placement = await server.get("applications", application, "placement")
    lines = output.placement_lines(placement)
    return output.answer(placement, form, lambda: console.write_lines(lines))


async def describe(server: client.Client, name: str, form: forms.Form) -> int:
    """Show everything about a run or an application."""
    document, is_run = await read_either(server, name)
    show = output.describe_run if is_run else output.describe_application
    return output.answer(document, form, lambda: show(document))


def cause_of_waiting(application: json.JsonObject) -> str:
    """Return what the run waits for that a requested one of an application waits behind."""
    if not application["waiting"] or not application["cause"]:
        return ""
    return f"{application['cause']}; type volary explain {application['run']}"


async def read_either(server: client.Client, name: str) -> tuple[json.JsonObject, bool]:
    """Return the run of this id, or else the application of this name."""
    try:
        return await server.get("runs", name), True
    except errors.UserError as refused:
        try:
            return await server.get("applications", name), False
        except errors.UserError:
            raise refused from None


async def run_of(server: client.Client, name: str) -> json.JsonObject:
    """Return a run: of this id, or the newest of the application of this name.

    Raises:
        errors.UserError: There is neither.
    """
    document, is_run = await read_either(server, name)
    if is_run:
        return document
    if not document["run"]:
        raise errors.user_error(f"{name} has no run yet")
    return await server.get("runs", document["run"])


async def explain(server: client.Client, run: str, form: forms.Form) -> int:
    """Say why a run is there, why it waits, what comes next and what if it fails."""
    known, is_run = await read_either(server, run)
    waiting = None if is_run else known["waiting"]
    commands = await _commands_of_waiting(server, known) if waiting else ()
    if waiting and not known["run"]:
        shown = {"waiting": waiting, "nextCommands": list(commands)}
        return output.answer(shown, form, lambda: output.explain_waiting(known, commands))
    document = known if is_run else await run_of(server, run)
    keys = ("summary", "plan", "waitingReason", "whatNext", "nextCommands", "ifFailed", "move")
    shown = {key: document[key] for key in keys} | ({"waiting": waiting} if waiting else {})

    def write() -> None:
        if waiting:
            output.explain_waiting(known, commands)
        output.explain_run(document)

    return output.answer(shown, form, write)


async def _commands_of_waiting(
    server: client.Client, application: json.JsonObject
) -> tuple[str, ...]:
    """Return what a person may type about what an application will do next, and cannot yet."""
    if application["paused"]:
        return (f"volary resume {application['name']} --application",)
    reason = application["waiting"]["waitingReason"]
    listed = await server.pages("clusters", most=_MOST_CLUSTERS)
    silent = [one["name"] for one in listed if f"cluster {one['name']} " in f"{reason} "]
    return tuple(f"volary cluster cordon {name} --reason TEXT" for name in silent)


async def watch(server: client.Client, run: str, *, as_json: bool) -> int:
    """Show a run as it happens, until its end."""
    return await watch_run(server, await run_of(server, run), as_json=as_json)


async def watch_run(server: client.Client, document: json.JsonObject, *, as_json: bool) -> int:
    """Show a run that was read, until its end; returns the exit code for that."""
    run_id, messages = document["summary"]["id"], console.messages()
    if not as_json and not document["summary"]["finished"]:
        # What clusters have said until now is not among the events.
        messages.print(document["waitingReason"], markup=False)
        output.tell_what_to_type(document)
    with views.choose(messages, as_json=as_json) as view:
        async for piece in server.stream("runs", run_id, "events", "stream"):
            event = read_event(piece.data)
            if event is not None:
                view.notify(event)
    if not as_json:
        console.write_text(f"{view.shown.status.value}: {view.shown.reason}")
        if view.shown.status is not statuses.RunStatus.SUCCEEDED:
            output.tell_what_to_type(await server.get("runs", run_id))
    return exit_code_of(view.shown.status.value)


def read_event(document: json.JsonObject) -> feed.RunEvent | None:
    """Return the event of a line of a stream; None for one that this version does not know."""
    try:
        event: feed.RunEvent = json.convert(_shown(document), feed.AnyEvent)
    except msgspec.ValidationError:
        return None
    return event


def _shown(value: object) -> object:
    """Return a field without what steers terminals: a server may be of any version."""
    match value:
        case str():
            return safe_text.printable(value)
        case list():
            return [_shown(element) for element in value]
        case dict():
            return {str(_shown(key)): _shown(inner) for key, inner in value.items()}
        case _:
            return value


async def logs(
    server: client.Client, run: str, stage: str, cluster: str, *, follow: bool, form: forms.Form
) -> int:
    """Write the lines that a run's tasks said."""
    run = (await run_of(server, run))["summary"]["id"]
    if not follow:
        for line in await server.pages(
            "runs", run, "logs", most=100_000, stage=stage, cluster=cluster
        ):
            _write_log_line(line, form)
        return exit_codes.Exit.DONE
    path = ("runs", run, "logs", "stream")
    async for piece in server.stream(*path, stage=stage, cluster=cluster):
        if piece.event == "line":
            _write_log_line(piece.data, form)
    return exit_codes.Exit.DONE


def _write_log_line(line: json.JsonObject, form: forms.Form) -> None:
    if form is forms.Form.JSON:
        console.write_json(line)
    else:
        console.write_text(f"{line['at'][:19]}Z  {line['target']}  {line['stage']}  {line['text']}")


def exit_code_of(status: str) -> exit_codes.Exit:
    """Return the exit code for a run's status."""
    if status in statuses.GOOD_ENDS:
        return exit_codes.Exit.DONE
    if status in (*ENDED, statuses.RunStatus.ROLLING_BACK):
        return exit_codes.Exit.FAILED
    return exit_codes.Exit.WAITING if status == statuses.RunStatus.WAITING else exit_codes.Exit.DONE
