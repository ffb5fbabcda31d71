"""The commands of a server and against one; each imports its work only when it runs."""

import functools
from typing import Annotated, Any, Literal

import typer

from volary.cli import forms
from volary.cli.commands import options
from volary.model import errors

app = typer.Typer(rich_markup_mode=None)
token = options.group("API tokens of a server.")
app.add_typer(token, name="token")


def _send(kind: str, name: str, server: str, body: dict[str, object], **meant: Any) -> None:
    """Ask something of a run, bound to what is meant."""
    from volary.cli.remote import commands

    options.ask(server, commands.send_to_run, kind, name, body, commands.Meant(**meant))


def _send_unbound(
    kind: str, name: str, server: str, body: dict[str, object], *, whole: bool
) -> None:
    """Ask something of a whole application, or of a run wherever it is."""
    from volary.cli.remote import commands

    send = commands.send_to_application if whole else commands.send_to_run
    options.ask(server, send, kind, name, body)


@app.command()
def placement(
    application: options.Application,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Say which clusters an application is on, what moves, and what a move waits for."""
    from volary.cli.remote import queries

    options.ask(server, queries.show_placement, application, output)


@app.command()
def diff(
    application: options.Application,
    cluster: options.Cluster = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show what is not as Git says at the commit that runs, and who changed it.

    Exits with 0 when nothing differs, 1 when something does, and more when that cannot be said.
    """
    from volary.cli.remote import drift

    options.ask(server, drift.show_diff, application, cluster, output)


@app.command()
def rebalance(
    application: options.Application,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    follow: options.Follow = False,
    server: options.Server = "",
) -> None:
    """Place an application anew: what moved away may come back, replicas are divided anew."""
    from volary.cli.remote import commands

    if dry_run:
        options.ask(server, commands.plan_rebalance, application)
    options.ask(server, commands.start_run, "rebalance", application, {}, follow=follow)


@app.command("server")
def serve(
    config: options.Config = "volary-server.yaml",
    no_ui: Annotated[
        bool, typer.Option("--no-ui", help="Serve no web UI, as ui: false in the settings says.")
    ] = False,
    log_format: Annotated[
        forms.LinesForm,
        typer.Option(
            "--log-format",
            help="text, or json: an object a line, with application, run, stage and cluster.",
        ),
    ] = "text",
    advertise: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where other processes reach this server, in the place of what the settings say.",
        ),
    ] = "",
) -> None:
    """Run the controller, its API server and the web UI in one process.

    SIGTERM or Ctrl-C stops it; runs resume at the next start.
    """
    from volary.cli import server_process

    options.serve(
        server_process.serve(config, no_ui=no_ui, log_format=log_format, advertise=advertise)
    )


@app.command("agent")
def run_agent(
    cluster: Annotated[str, typer.Option(metavar="NAME", help="The cluster, as the fleet has it.")],
    server: Annotated[str, typer.Option(metavar="URL", help="A server.")],
    token_file: Annotated[
        str, typer.Option(metavar="FILE", help="Its token, from `volary cluster join`.")
    ],
    policy: Annotated[str, typer.Option(metavar="FILE", help="What it permits, kind AgentPolicy.")],
    kubeconfig: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="How it reaches the cluster. Default: as a pod there does."
        ),
    ] = "",
    context: Annotated[
        str, typer.Option(metavar="NAME", help="With --kubeconfig: the context. Default: current.")
    ] = "",
    ca_file: Annotated[
        str,
        typer.Option(metavar="FILE", help="Certificates by which the server is verified, PEM."),
    ] = "",
    private_key: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="The key that opens what is sealed for it, PEM, with --signing-key. Default: it"
            " takes no tasks.",
        ),
    ] = "",
    signing_key: Annotated[
        str,
        typer.Option(metavar="FILE", help="The controller's public key, which signs its orders."),
    ] = "",
    temporal_address: options.TemporalAddress = "",
    temporal_tls: options.TemporalTls = False,
    temporal_ca: options.TemporalCa = "",
    temporal_certificate: options.TemporalCertificate = "",
    temporal_key: options.TemporalKey = "",
    temporal_server_name: options.TemporalServerName = "",
    temporal_api_key: options.TemporalApiKey = "",
    tracing_endpoint: options.TracingEndpoint = "",
    log_format: Annotated[
        forms.LinesForm,
        typer.Option("--log-format", help="text, or json: an object a line."),
    ] = "text",
) -> None:
    """Run the agent of a cluster, in it or near it: it connects to the servers, never they to it.

    SIGTERM or Ctrl-C stops it. Exit code 2: the server does not let it in, as it says.
    """
    from volary.cli import agent_process

    given = agent_process.Options(
        cluster,
        server,
        token_file,
        policy,
        kubeconfig,
        context,
        ca_file,
        private_key,
        signing_key,
        {
            "address": temporal_address,
            "tls": temporal_tls,
            "ca": temporal_ca,
            "certificate": temporal_certificate,
            "key": temporal_key,
            "server_name": temporal_server_name,
            "api_key": temporal_api_key,
        },
        tracing_endpoint,
    )
    options.serve(agent_process.run(given, log_format=log_format))


_TokenServer = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        help="Ask this server, as an admin of it. Default: work on the files that the settings"
        " name, on the server's machine.",
    ),
]
_TokenConfig = Annotated[
    str,
    typer.Option(
        "--config", metavar="FILE", help="Settings of the server. Default: volary-server.yaml."
    ),
]


def _settings_of(config: str, server: str) -> str:
    """Return the settings file that is meant; empty: a server is asked."""
    if config and server:
        raise typer.BadParameter("--config and --server exclude each other")
    return "" if server else config or "volary-server.yaml"


@token.command("create")
def create_token(
    name: Annotated[
        str,
        typer.Argument(help="As the audit names it, after token: and, if given, the project."),
    ],
    role: Annotated[
        Literal["viewer", "deployer", "approver", "responder", "admin"],
        typer.Option(help="What it may do."),
    ] = "viewer",
    label: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUE", help="Only for applications with it; repeatable."),
    ] = [],  # noqa: B006 - read only
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Only for applications of this project.")
    ] = "",
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="Until it expires. Default: never.")
    ] = None,
    config: _TokenConfig = "",
    server: _TokenServer = "",
) -> None:
    """Create a token and print it once; only its hash is stored."""
    from volary.cli import server_process, token_lists
    from volary.cli.remote import people

    settings = _settings_of(config, server)
    wanted = token_lists.WantedToken(name, role, token_lists.read_labels(label), project, days)
    if not settings:
        options.ask(server, people.create_token, wanted)
    raise typer.Exit(server_process.create_token(settings, wanted))


@token.command("list")
def list_tokens(
    config: _TokenConfig = "",
    server: _TokenServer = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show the tokens' names, roles, states and last uses; never the tokens."""
    from volary.cli import server_process
    from volary.cli.remote import people

    settings = _settings_of(config, server)
    if not settings:
        options.ask(server, people.list_tokens, output)
    people.show_tokens(server_process.tokens_of(settings), output)


@token.command("revoke")
def revoke_token(
    name: Annotated[str, typer.Argument(help="Name, as the list has it, or id.")],
    config: _TokenConfig = "",
    server: _TokenServer = "",
) -> None:
    """Revoke a token; effective at once."""
    from volary.cli import server_process
    from volary.cli.remote import people

    settings = _settings_of(config, server)
    if not settings:
        options.ask(server, people.revoke_token, name)
    raise typer.Exit(server_process.revoke_token(settings, name))


@app.command()
def whoami(server: options.Server = "", output: options.Output = forms.Form.TEXT) -> None:
    """Say who the server takes you for: name, roles, and when your credentials end."""
    from volary.cli.remote import people

    options.ask(server, people.whoami, output)


@app.command()
def login(server: Annotated[str, typer.Argument(metavar="URL", help="The server.")]) -> None:
    """Read a token from the terminal or standard input, try it, and keep it (mode 0600)."""
    from volary.cli.remote import commands

    options.finish(commands.log_in(server))


def _check_tree(noun: forms.Noun, *, direct: bool) -> None:
    """Refuse a tree where there is none."""
    if noun != "app":
        raise typer.BadParameter("--tree, --cluster and --watch belong to `get app NAME`")
    if direct:
        raise typer.BadParameter(
            "--tree, --cluster and --watch ask a server; leave --fleet and --contexts out"
        )


@app.command()
def get(
    noun: Annotated[forms.Noun, typer.Argument(help="What to show.")],
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
    contexts: options.Contexts = "",
    tree: Annotated[
        bool, typer.Option("--tree", help="Of `app`: its live objects, down to the pods.")
    ] = False,
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="Of `app`: the tree of one cluster, not summed.")
    ] = "",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Of `app`: the tree, and what changes of it.")
    ] = False,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """List applications, runs, clusters, servers, agents, workers, task queues; or show one app.

    `-o wide` also shows each cluster, `-o json` everything.
    """
    from volary.cli.remote import application_tree, queries

    if tree := tree or bool(cluster) or watch:
        _check_tree(noun, direct=bool(fleet or contexts))
    if removed and noun != "apps":
        raise typer.BadParameter("--removed belongs to `get apps`")
    if noun == "app" and not (name or app_name):
        raise errors.user_error(
            "no application is named", hint="volary get app NAME; see volary get apps"
        )
    if noun == "app" and (fleet or contexts):
        options.finish(queries.survey_app(name, app_name, fleet, contexts, output))
    if tree:
        options.ask(server, application_tree.show, name or app_name, cluster, output, watch=watch)
    if noun in ("workers", "task-queues"):
        from volary.cli.remote import workers

        show = workers.show_list if noun == "workers" else workers.show_queues
        options.ask(server, show, output)
    if noun == "app":
        options.ask(server, queries.get_app, name or app_name, output)
    if noun == "agents":
        from volary.cli.remote import agents

        options.ask(server, agents.show_list, output)
    if name or fleet or contexts:
        raise typer.BadParameter("a name, --fleet and --contexts belong to `get app`")
    shown = functools.partial(queries.get, app=app_name, status=status, with_removed=removed)
    options.ask(server, shown, noun, output, most=limit)


@app.command()
def overview(
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on as it changes, until Ctrl-C.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, help="At most so many applications.")
    ] = 100,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show what needs you, which runs are under way, and which commit runs where.

    `-o wide` also shows what to type, `-o json` everything; with --watch a line for each change.
    """
    from volary.cli.remote import overview as screens

    if watch and output is forms.Form.YAML:
        raise typer.BadParameter("--watch writes text or JSON")
    options.ask(server, screens.show, output, watch=watch, most=limit)


@app.command()
def describe(
    name: Annotated[str, typer.Argument(help="Id of a run, or name of an application.")],
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show everything about a run or an application."""
    from volary.cli.remote import queries

    options.ask(server, queries.describe, name, output)


@app.command()
def explain(
    run: options.Run, server: options.Server = "", output: options.Output = forms.Form.TEXT
) -> None:
    """Say why a run is there, why it waits, what comes next, and what happens if it fails."""
    from volary.cli.remote import queries

    options.ask(server, queries.explain, run, output)


@app.command()
def watch(
    run: options.Run,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            "-f",
            help="Go on with the application after the run, until Ctrl-C: drift as it appears, is"
            " repaired and gone, and the runs that follow.",
        ),
    ] = False,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show a run as it happens, as `volary run` does; ends with the run unless it follows."""
    from volary.cli.remote import drift_watch, queries

    is_json = output is forms.Form.JSON
    if follow:
        options.ask(server, drift_watch.follow, run, as_json=is_json)
    else:
        options.ask(server, queries.watch, run, as_json=is_json)


@app.command()
def logs(
    run: options.Run,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends.")
    ] = False,
    stage: options.Stage = "",
    cluster: options.Cluster = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show the logs of a run's tasks."""
    from volary.cli.remote import queries

    options.ask(server, queries.logs, run, stage, cluster, follow=follow, form=output)


@app.command()
def status(
    run: options.Run,
    commit: Annotated[
        str,
        typer.Option(
            metavar="SHA",
            help="Of an application: the run of this commit. Default with --wait: of the commit"
            " that Git has now, else the newest run.",
        ),
    ] = "",
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Until it ends or a person has to decide; of an application, ask Git."
        ),
    ] = False,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show the status of a run; exit code 0 fine, 1 failed, 3 waiting for a person.

    A commit that was refused, or whose file has errors, is a run that has failed.
    """
    from volary.cli.remote import run_status

    options.ask(server, run_status.show, run, commit=commit, wait=wait, form=output)


@app.command()
def sync(
    application: options.Application,
    commit: Annotated[
        str,
        typer.Option(metavar="REV", help="A commit of the branch. Default: the branch's head."),
    ] = "",
    strategy: Annotated[
        str, typer.Option(metavar="WORD", help="quick or pipeline. Default: as planned.")
    ] = "",
    follow: options.Follow = False,
    server: options.Server = "",
) -> None:
    """Roll a commit out."""
    from volary.cli.remote import commands

    body: dict[str, object] = {"commit": commit, "strategy": strategy}
    options.ask(server, commands.start_run, "sync", application, body, follow=follow)


@app.command()
def rollback(
    application: options.Application,
    to: Annotated[
        str,
        typer.Option(metavar="REV", help="Commit or run. Default: what each cluster ran before."),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what going to REV would change.")
    ] = False,
    follow: options.Follow = False,
    server: options.Server = "",
) -> None:
    """Roll back the last change, the last wave first; or go to a commit."""
    from volary.cli.remote import commands

    if dry_run:
        options.ask(server, commands.plan_rollback, application, to)
    options.ask(server, commands.start_run, "rollback", application, {"to": to}, follow=follow)


@app.command()
def approve(
    run: options.Run,
    stage: options.MeantStage = "",
    group: options.MeantGroup = "",
    seen: options.Seen = 0,
    comment: options.Comment = "",
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Withdraw your approval before anything has begun.")
    ] = False,
    server: options.Server = "",
) -> None:
    """Approve what a run waits for: say run and --stage, or be asked on a terminal."""
    kind = "withdraw" if withdraw else "approve"
    meant = {"stage": stage, "group": group, "version": seen, "must_be_said": not withdraw}
    _send(kind, run, server, {"comment": comment}, **meant)


@app.command()
def reject(
    run: options.Run,
    stage: options.MeantStage = "",
    group: options.MeantGroup = "",
    seen: options.Seen = 0,
    comment: options.Comment = "",
    server: options.Server = "",
) -> None:
    """Reject what a run waits for: say run and --stage, or be asked on a terminal."""
    body: dict[str, object] = {"comment": comment}
    _send("reject", run, server, body, stage=stage, group=group, version=seen, must_be_said=True)


@app.command()
def promote(
    run: options.Run,
    reason: options.Reason,
    wave: Annotated[
        str, typer.Option(metavar="NAME", help="Refused when the run is at another one.")
    ],
    seen: options.Seen = 0,
    server: options.Server = "",
) -> None:
    """End the soak, webhook or analysis of the current wave; its health is still checked."""
    _send("promote", run, server, {"reason": reason, "wave": wave}, version=seen)


@app.command()
def unfreeze(
    run: options.Run,
    reason: options.Reason,
    seen: options.Seen = 0,
    server: options.Server = "",
) -> None:
    """Let one run change clusters whose windows are closed; for responders and admins."""
    _send("unfreeze", run, server, {"reason": reason}, version=seen)


@app.command()
def pause(
    run: options.Run,
    whole: options.WholeApplication = False,
    reason: options.Reason = "",
    server: options.Server = "",
) -> None:
    """Pause a run, or with --application a whole application."""
    _send_unbound("pause", run, server, {"reason": reason}, whole=whole)


@app.command()
def resume(
    run: options.Run,
    whole: options.WholeApplication = False,
    seen: options.Seen = 0,
    server: options.Server = "",
) -> None:
    """Resume what was paused, at the commit it is pinned to."""
    if whole:
        _send_unbound("resume", run, server, {}, whole=True)
    else:
        _send("resume", run, server, {}, version=seen)


@app.command()
def cancel(
    run: options.Run,
    rollback: Annotated[
        bool,
        typer.Option("--rollback/--keep", help="Go back, or leave everything as it is."),
    ] = True,
    now: Annotated[bool, typer.Option("--now", help="Also break off writes under way.")] = False,
    reason: options.Reason = "",
    server: options.Server = "",
) -> None:
    """End a run."""
    _send("cancel", run, server, {"rollback": rollback, "now": now, "reason": reason})


@app.command()
def abandon(
    run: options.Run,
    reason: options.Reason,
    server: options.Server = "",
) -> None:
    """End a run at once as it is, also one that cannot go on; names what stays behind."""
    from volary.cli.remote import commands

    options.ask(server, commands.abandon, run, {"reason": reason})


@app.command()
def retry(
    run: options.Run,
    cluster: Annotated[
        list[str], typer.Option(metavar="NAME", help="Only there; repeatable.")
    ] = [],  # noqa: B006 - read only
    stage: options.MeantStage = "",
    seen: options.Seen = 0,
    server: options.Server = "",
) -> None:
    """Try again what failed: say run and --stage, or be asked on a terminal."""
    body: dict[str, object] = {"targets": list(cluster)}
    _send("retry", run, server, body, stage=stage, version=seen, must_be_said=True)


@app.command()
def skip(
    run: options.Run,
    reason: options.Reason,
    cluster: Annotated[str, typer.Option(metavar="NAME", help="The one to leave out.")] = "",
    stage: Annotated[
        str, typer.Option(metavar="ID", help="The ANALYSIS or WAIT to end, such as 3-ANALYSIS.")
    ] = "",
    seen: options.Seen = 0,
    server: options.Server = "",
) -> None:
    """Go on without a cluster (--cluster), or without the rest of a stage (--stage)."""
    body: dict[str, object] = {"target": cluster, "stage": stage, "reason": reason}
    _send("skip", run, server, body, stage=stage, version=seen)
