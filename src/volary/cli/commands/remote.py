"""The commands of a server and against one; each imports its work only when it runs."""

from collections.abc import Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from volary.cli.remote import login as logins

app = typer.Typer(rich_markup_mode=None)
token = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="API tokens of a server.")
app.add_typer(token, name="token")


class Form(StrEnum):
    """Forms of an answer."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class Noun(StrEnum):
    """What there is to get."""

    APP = "app"
    APPS = "apps"
    RUNS = "runs"
    CLUSTERS = "clusters"


class Role(StrEnum):
    """What somebody may do."""

    VIEWER = "viewer"
    DEPLOYER = "deployer"
    APPROVER = "approver"
    RESPONDER = "responder"
    ADMIN = "admin"


Config = Annotated[
    str, typer.Option("--config", metavar="FILE", help="Settings of the controller.")
]
Server = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="Default: $VOLARY_SERVER, or the last login."),
]
Output = Annotated[Form, typer.Option("--output", "-o", help="Form of the result.")]
Run = Annotated[str, typer.Argument(help="Id of a run, or an application: its newest run.")]
Application = Annotated[str, typer.Argument(help="Name of an application.")]
Comment = Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]
WholeApplication = Annotated[
    bool, typer.Option("--application", help="NAME is an application: all of it, not one run.")
]
Follow = Annotated[bool, typer.Option("--watch", help="Show the run until its end.")]


def finish(work: Coroutine[object, object, int]) -> None:
    """Carry out a command's work and exit with its code."""
    import asyncio  # half of the start-up time of ``volary --help``

    raise typer.Exit(asyncio.run(work))


def target_of(server: str) -> "logins.Target":
    """Return the server that is meant and how to get in."""
    import os

    from volary.cli.remote import login as logins

    return logins.find(server, os.environ)


def _send_to_run(kind: str, run: str, server: str, body: dict[str, object]) -> None:
    from volary.cli.remote import commands

    finish(commands.send_to_run(target_of(server), kind, run, body))


def _send_to_run_or_application(
    kind: str, name: str, server: str, body: dict[str, object], *, whole: bool
) -> None:
    from volary.cli.remote import commands

    if not whole:
        return _send_to_run(kind, name, server, body)
    return finish(commands.send_to_application(target_of(server), kind, name, body))


@app.command("server")
def serve(config: Config = "volary-server.yaml") -> None:
    """Run the controller and its API server in one process.

    SIGTERM or Ctrl-C stops it; runs resume at the next start.
    """
    from volary.cli import server_process

    finish(server_process.serve(config))


@token.command("create")
def create_token(
    name: Annotated[str, typer.Argument(help="As the audit names it.")],
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.VIEWER,
    label: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Only for applications with it; repeatable."),
    ] = [],  # noqa: B006 - read only
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="Until it expires. Default: never.")
    ] = None,
    config: Config = "volary-server.yaml",
) -> None:
    """Create a token and print it once; only its hash is stored."""
    from volary.cli import server_process

    raise typer.Exit(server_process.create_token(config, name, role.value, tuple(label), days))


@token.command("list")
def list_tokens(config: Config = "volary-server.yaml") -> None:
    """Show the tokens' names, roles and states; never the tokens."""
    from volary.cli import server_process

    raise typer.Exit(server_process.list_tokens(config))


@token.command("revoke")
def revoke_token(
    name: Annotated[str, typer.Argument(help="Name or id.")], config: Config = "volary-server.yaml"
) -> None:
    """Revoke a token; effective at once."""
    from volary.cli import server_process

    raise typer.Exit(server_process.revoke_token(config, name))


@app.command()
def login(server: Annotated[str, typer.Argument(metavar="URL", help="The server.")]) -> None:
    """Read a token from the terminal or standard input, try it, and keep it (mode 0600)."""
    from volary.cli.remote import commands

    finish(commands.log_in(server))


@app.command()
def get(
    noun: Annotated[Noun, typer.Argument(help="What to show.")],
    name: Annotated[
        str,
        typer.Argument(help="Of `app`: its name; with --fleet or --contexts: its directory."),
    ] = "",
    app_name: Annotated[str, typer.Option("--app", metavar="NAME", help="Of one only.")] = "",
    status: Annotated[str, typer.Option(metavar="WORD", help="With this status only.")] = "",
    removed: Annotated[
        bool, typer.Option("--removed", help="Of `apps`: also those whose file went away.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many.")] = 100,
    fleet: Annotated[
        str, typer.Option("--fleet", metavar="FILE", help="Of `app`: ask these clusters directly.")
    ] = "",
    contexts: Annotated[str, typer.Option(metavar="A,B", help="Instead of a fleet file.")] = "",
    server: Server = "",
    output: Output = Form.TEXT,
) -> None:
    """List applications, runs or clusters; show one application over all its clusters.

    `-o wide` also shows each cluster, `-o json` everything.
    """
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    form = forms.Form(output.value)
    if removed and noun is not Noun.APPS:
        raise typer.BadParameter("--removed belongs to `get apps`")
    if noun is Noun.APP:
        asked = queries.StatusQuery(name, app_name, fleet, contexts)
        finish(queries.get_app(lambda: target_of(server), asked, form))
    if name or fleet or contexts:
        raise typer.BadParameter("a name, --fleet and --contexts belong to `get app`")
    wanted = forms.Noun(noun.value)
    sought = queries.ListQuery(wanted, app_name, status, removed)
    finish(queries.get(target_of(server), sought, limit, form))


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="Id of a run, or name of an application.")],
    server: Server = "",
    output: Output = Form.TEXT,
) -> None:
    """Show everything about a run or an application."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    finish(queries.describe(target_of(server), name, forms.Form(output.value)))


@app.command()
def explain(run: Run, server: Server = "", output: Output = Form.TEXT) -> None:
    """Say why a run is there, why it waits, what comes next, and what happens if it fails."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    finish(queries.explain(target_of(server), run, forms.Form(output.value)))


@app.command()
def watch(run: Run, server: Server = "", output: Output = Form.TEXT) -> None:
    """Show a run as it happens, as `volary run` does; ends with the run."""
    from volary.cli.remote import queries

    finish(queries.watch(target_of(server), run, as_json=output is Form.JSON))


@app.command()
def logs(
    run: Run,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends.")
    ] = False,
    stage: Annotated[str, typer.Option(metavar="ID", help="Of one stage only.")] = "",
    cluster: Annotated[str, typer.Option(metavar="NAME", help="Of one cluster only.")] = "",
    server: Server = "",
    output: Output = Form.TEXT,
) -> None:
    """Show the logs of a run's tasks."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    form = forms.Form(output.value)
    finish(queries.logs(target_of(server), run, stage, cluster, follow=follow, form=form))


@app.command()
def status(
    run: Run,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until it ends or a person has to decide.")
    ] = False,
    server: Server = "",
    output: Output = Form.TEXT,
) -> None:
    """Show the status of a run; exit code 0 fine, 1 failed, 3 waiting for a person."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    form = forms.Form(output.value)
    finish(queries.status(target_of(server), run, wait=wait, form=form))


@app.command()
def sync(
    application: Application,
    commit: Annotated[str, typer.Option(metavar="REV", help="Default: the branch's head.")] = "",
    strategy: Annotated[
        str, typer.Option(metavar="WORD", help="quick or pipeline. Default: as planned.")
    ] = "",
    follow: Follow = False,
    server: Server = "",
) -> None:
    """Roll a commit out."""
    from volary.cli.remote import commands

    body: dict[str, object] = {"commit": commit, "strategy": strategy}
    finish(commands.start_run(target_of(server), "sync", application, body, follow=follow))


@app.command()
def rollback(
    application: Application,
    to: Annotated[
        str,
        typer.Option(metavar="REV", help="Commit or run. Default: what each cluster ran before."),
    ] = "",
    follow: Follow = False,
    server: Server = "",
) -> None:
    """Roll back the last change, the last wave first; or go to a commit."""
    from volary.cli.remote import commands

    finish(
        commands.start_run(target_of(server), "rollback", application, {"to": to}, follow=follow)
    )


@app.command()
def approve(
    run: Run,
    comment: Comment = "",
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Withdraw your approval before anything has begun.")
    ] = False,
    server: Server = "",
) -> None:
    """Approve what a run waits for."""
    _send_to_run("withdraw" if withdraw else "approve", run, server, {"comment": comment})


@app.command()
def reject(run: Run, comment: Comment = "", server: Server = "") -> None:
    """Reject what a run waits for."""
    _send_to_run("reject", run, server, {"comment": comment})


@app.command()
def promote(
    run: Run,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    wave: Annotated[
        str, typer.Option(metavar="NAME", help="Refused when it is at another one.")
    ] = "",
    server: Server = "",
) -> None:
    """End the soak, webhook or analysis of the current wave; its health is still checked."""
    _send_to_run("promote", run, server, {"reason": reason, "wave": wave})


@app.command()
def unfreeze(
    run: Run,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    server: Server = "",
) -> None:
    """Let one run change clusters whose windows are closed; for responders and admins."""
    _send_to_run("unfreeze", run, server, {"reason": reason})


@app.command()
def pause(
    run: Run, whole: WholeApplication = False, reason: Reason = "", server: Server = ""
) -> None:
    """Pause a run, or with --application a whole application."""
    _send_to_run_or_application("pause", run, server, {"reason": reason}, whole=whole)


@app.command()
def resume(run: Run, whole: WholeApplication = False, server: Server = "") -> None:
    """Resume what was paused, at the commit it is pinned to."""
    _send_to_run_or_application("resume", run, server, {}, whole=whole)


@app.command()
def cancel(
    run: Run,
    rollback: Annotated[
        bool,
        typer.Option("--rollback/--keep", help="Go back, or leave everything as it is."),
    ] = True,
    now: Annotated[bool, typer.Option("--now", help="Also break off writes under way.")] = False,
    reason: Reason = "",
    server: Server = "",
) -> None:
    """End a run."""
    _send_to_run("cancel", run, server, {"rollback": rollback, "now": now, "reason": reason})


@app.command()
def retry(
    run: Run,
    cluster: Annotated[
        list[str], typer.Option(metavar="NAME", help="Only there; repeatable.")
    ] = [],  # noqa: B006 - read only
    server: Server = "",
) -> None:
    """Try again what failed."""
    _send_to_run("retry", run, server, {"targets": list(cluster)})


@app.command()
def skip(
    run: Run,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    cluster: Annotated[str, typer.Option(metavar="NAME", help="The one to leave out.")] = "",
    stage: Annotated[
        str, typer.Option(metavar="ID", help="The ANALYSIS or WAIT to end, such as 3-ANALYSIS.")
    ] = "",
    server: Server = "",
) -> None:
    """Go on without a cluster (--cluster), or without the rest of a stage (--stage)."""
    _send_to_run("skip", run, server, {"target": cluster, "stage": stage, "reason": reason})
