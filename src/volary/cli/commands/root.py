"""The commands and their options; each imports its work only when it runs."""

from typing import Annotated, Literal

import typer

from volary.cli import forms
from volary.cli.commands import (
    analysis,
    applications,
    audit,
    clusters,
    convert,
    insights,
    options,
    projects,
    remote,
    workers,
    workspaces,
)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich would double the start-up time
    epilog="Exit codes: 0 done; 1 failed, cancelled or rolled back; 2 wrong usage or"
    " configuration, nothing was changed; 3 waiting for a person.",
    help="One pipeline, every cluster: progressive delivery for many Kubernetes clusters.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from volary import __version__

        typer.echo(f"volary {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """One pipeline, every cluster: progressive delivery for many Kubernetes clusters."""


@app.command()
def lint(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file, or a directory to search.")
    ] = ".",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
    config: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Settings of a server: its analysisProviders, and its fleet."
        ),
    ] = "",
    project: Annotated[
        str,
        typer.Option(
            metavar="FILE[:NAME]", help="Project file: what the applications may deploy, and where."
        ),
    ] = "",
    output: Annotated[
        Literal["text", "json"],
        typer.Option("--output", "-o", help="json: a list of problems."),
    ] = "text",
) -> None:
    """Check application, fleet and settings files; show all problems at once."""
    from volary.cli.lint import linting

    raise typer.Exit(
        linting.run(
            path,
            fleet=fleet,
            contexts=contexts,
            config=config,
            project=project,
            as_json=output == "json",
        )
    )


@app.command()
def schema(
    kind: Annotated[
        Literal["agentpolicy", "application", "controller", "fleet", "project", "workspace"],
        typer.Argument(metavar="KIND", help="Which file."),
    ] = "application",
) -> None:
    """Print the JSON Schema of files, for editors."""
    import json

    from volary.cli import console
    from volary.config.generated import schemas

    made = {
        "agentpolicy": schemas.agent_policy_schema,
        "application": schemas.application_schema,
        "workspace": schemas.workspace_schema,
        "controller": schemas.controller_schema,
        "fleet": schemas.fleet_schema,
        "project": schemas.project_schema,
    }
    console.write(json.dumps(made[kind](), indent=2))


@app.command()
def doctor() -> None:
    """Say which programs are there, and whether renderers can be kept from the network here.

    Exit code 1: they cannot, so a server renders with programs only if its settings say
    `rendererIsolation: preferred`.
    """
    from volary.cli.local import doctor as local_doctor

    raise typer.Exit(local_doctor.run())


@app.command()
def render(
    path: options.Path,
    target: Annotated[str, typer.Option(metavar="NAME", help="Cluster to render for.")],
    variant: Annotated[
        Literal["primary", "canary", "baseline"] | None,
        typer.Option(help="Default: that of the stage, else primary."),
    ] = None,
    stage: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", show_default=False, help="Stage of the pipeline, counted from 1."
        ),
    ] = 0,
    app_path: options.ApplicationPath = "",
    commit: options.Commit = "",
    running: Annotated[
        str, typer.Option(metavar="REV", help="What runs now; the baseline is made from it.")
    ] = "",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
    output: Annotated[
        Literal["yaml", "json"], typer.Option("--output", "-o", help="How they are written.")
    ] = "yaml",
) -> None:
    """Print exactly what a stage would apply to a cluster.

    The application's id is that of a first release: a cluster that knows it has kept its own.
    """
    from volary.cli.local import rendering
    from volary.controller.planning import preparation

    request = preparation.RunOptions(
        path=path, app=app_path, commit=commit, running=running, fleet=fleet, contexts=contexts
    )
    chosen = rendering.Choice(target, variant or "", stage)
    options.finish(rendering.run(request, chosen, output))


Running = Annotated[
    str,
    typer.Option(
        metavar="REV",
        help="Commit that runs now, to compare with and to go back to; `none` for a first"
        " deployment. Default: what is remembered, else what the clusters say.",
    ),
]
Strategy = Annotated[
    Literal["auto", "quick", "pipeline"],
    typer.Option(help="Quick sync or pipeline. Default: decided by the change."),
]
AllowMassDeletion = Annotated[
    bool, typer.Option("--allow-mass-deletion", help="Prune even when most objects would go.")
]


@app.command()
def run(
    path: options.Path,
    app_path: options.ApplicationPath = "",
    commit: options.Commit = "",
    running: Running = "",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="Limit of the whole run, such as 30m.")
    ] = "",
    strategy: Strategy = "auto",
    on_unreachable: Annotated[
        Literal["fail", "continue"],
        typer.Option(help="A cluster that cannot be reached fails the run, or is left out."),
    ] = "fail",
    concurrency: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", show_default=False, help="Clusters worked on at once. Default: all."
        ),
    ] = 0,
    allow_mass_deletion: AllowMassDeletion = False,
    approve_as: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Approve WAIT_APPROVAL stages in this name, one of the approvers."
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a run that was killed, whatever commit the path is at now.",
        ),
    ] = False,
    abandon: Annotated[
        bool,
        typer.Option(
            "--abandon", help="Leave a run that was killed as it is, and begin a new one."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and try on the servers; write nothing.")
    ] = False,
    output: Annotated[
        Literal["text", "json"], typer.Option("--output", "-o", help="json: one event a line.")
    ] = "text",
) -> None:
    """Roll a commit out over all clusters, stage by stage.

    Everything is tried on every cluster before the first write; nothing is changed when one
    of them refuses. Ctrl-C once stops gracefully and says what is left as it is, twice at once.
    A run that was killed goes on when the same command is given again.
    """
    from volary.cli import durations
    from volary.cli.run import local_run
    from volary.controller.planning import preparation
    from volary.controller.runs import release_plans
    from volary.engine.runs import policies

    if resume and abandon:
        raise typer.BadParameter("--resume and --abandon exclude each other")
    left_behind = local_run.LeftBehind.COMPARE
    if resume or abandon:
        left_behind = local_run.LeftBehind.RESUME if resume else local_run.LeftBehind.ABANDON
    left_out = on_unreachable == "continue"
    request = preparation.RunOptions(
        path=path,
        app=app_path,
        commit=commit,
        running=running,
        fleet=fleet,
        contexts=contexts,
        timeout=durations.parse(timeout, option="--timeout") if timeout else None,
        strategy=release_plans.parse_strategy("" if strategy == "auto" else strategy),
        on_unreachable=(
            policies.OnUnreachable.CONTINUE_WITHOUT if left_out else policies.OnUnreachable.FAIL
        ),
        concurrency=concurrency,
        allow_mass_deletion=allow_mass_deletion,
    )
    mode = local_run.OutputMode(
        as_json=output == "json",
        dry_run=dry_run,
        approve_as=approve_as,
        left_behind=left_behind,
    )
    options.finish(local_run.run(request, mode))


@app.command()
def plan(
    path: options.Path,
    app_path: options.ApplicationPath = "",
    commit: options.Commit = "",
    running: Running = "",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
    strategy: Strategy = "auto",
    allow_mass_deletion: AllowMassDeletion = False,
    output: Annotated[
        forms.PlanForm,
        typer.Option("--output", "-o", help="markdown: for a comment on a pull request."),
    ] = "text",
) -> None:
    """Show what a commit would change in every cluster; write nothing.

    Exit code 0: no changes, 4: changes, or objects that Git no longer has would be left;
    1: a cluster would refuse or cannot be asked.
    """
    from volary.cli.local import planning
    from volary.controller.planning import preparation
    from volary.controller.runs import release_plans

    request = preparation.RunOptions(
        path=path,
        app=app_path,
        commit=commit,
        running=running,
        fleet=fleet,
        contexts=contexts,
        strategy=release_plans.parse_strategy("" if strategy == "auto" else strategy),
        allow_mass_deletion=allow_mass_deletion,
    )
    options.finish(planning.run(request, output))


@app.command()
def encrypt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What templates call the value.")],
    public_key: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Public key, PEM. Default: that of the settings, or of $VOLARY_PRIVATE_KEY_FILE.",
        ),
    ] = "",
    config: options.Config = "",
    keep_line_end: Annotated[
        bool, typer.Option("--keep-line-end", help="A line end at the end is part of the value.")
    ] = False,
) -> None:
    """Encrypt a value for `spec.encryption`: read from standard input, written to standard output.

    The private key of the server decrypts it when the application is rendered.
    """
    from volary.cli import encryption

    raise typer.Exit(
        encryption.run(name, key_file=public_key, config=config, keeps_line_end=keep_line_end)
    )


@app.command()
def targets(
    path: options.Path,
    app_path: options.ApplicationPath = "",
    commit: options.Commit = "",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say which clusters an application goes to, in which wave, and why not to the others."""
    from volary.cli.local import targets as local_targets
    from volary.controller.planning import preparation

    request = preparation.RunOptions(
        path, app=app_path, commit=commit, fleet=fleet, contexts=contexts
    )
    options.finish(local_targets.show_targets(request, as_json=as_json))


@app.command("diff-targets")
def diff_targets(
    path: options.Path,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Clusters to compare. Default: all."),
    ] = None,
    app_path: options.ApplicationPath = "",
    commit: options.Commit = "",
    fleet: options.FleetFile = "",
    contexts: options.Contexts = "",
) -> None:
    """Show what clusters get differently: each one compared with the first."""
    from volary.cli.local import targets as local_targets
    from volary.controller.planning import preparation

    request = preparation.RunOptions(
        path, app=app_path, commit=commit, fleet=fleet, contexts=contexts
    )
    options.finish(local_targets.show_differences(request, tuple(names or ())))


app.add_typer(convert.app, name="convert")
app.add_typer(analysis.app, name="analysis")
app.add_typer(clusters.app, name="cluster")
app.add_typer(workers.app, name="worker")
app.add_typer(workspaces.app, name="workspace")
app.add_typer(applications.app, name="application")
app.add_typer(projects.app, name="project")
app.add_typer(audit.app, name="audit")
app.add_typer(insights.app)
app.add_typer(remote.app)
