"""The commands and their options; each imports its work only when it runs."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich would double the start-up time
    help="One pipeline, every cluster: progressive delivery for many Kubernetes clusters.",
)


class Output(StrEnum):
    """Forms of a result."""

    TEXT = "text"
    JSON = "json"


class ManifestOutput(StrEnum):
    """Forms of manifests."""

    YAML = "yaml"
    JSON = "json"


class VariantName(StrEnum):
    """Variants by name."""

    PRIMARY = "primary"
    CANARY = "canary"
    BASELINE = "baseline"


class SchemaKind(StrEnum):
    """Files that have a schema."""

    APPLICATION = "application"
    FLEET = "fleet"


FleetFile = Annotated[
    str, typer.Option("--fleet", metavar="FILE", help="Fleet file, or PipeCD's piped file.")
]
Contexts = Annotated[
    str,
    typer.Option(
        metavar="A,B", help="Contexts of the ordinary kubeconfig, instead of a fleet file."
    ),
]
ApplicationPath = Annotated[
    str,
    typer.Option(
        "--app", metavar="DIR", help="Application directory or file, relative to the path."
    ),
]
Commit = Annotated[
    str, typer.Option(metavar="REV", help="Commit, branch or tag to use. Default: HEAD.")
]


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
    path: Annotated[str, typer.Argument(help="A file, or a directory to search.")] = ".",
    fleet: FleetFile = "",
    contexts: Contexts = "",
    output: Annotated[Output, typer.Option("--output", "-o")] = Output.TEXT,
) -> None:
    """Check application and fleet files; show all problems at once."""
    from volary.cli import linting

    raise typer.Exit(
        linting.run(path, fleet=fleet, contexts=contexts, as_json=output is Output.JSON)
    )


@app.command()
def schema(
    kind: Annotated[SchemaKind, typer.Argument(help="Which file.")] = SchemaKind.APPLICATION,
) -> None:
    """Print the JSON Schema of application or fleet files, for editors."""
    from volary.cli import schemas

    raise typer.Exit(schemas.run(kind.value))


@app.command()
def render(
    path: Annotated[str, typer.Argument(help="Directory or Git repository.")],
    target: Annotated[str, typer.Option(help="Cluster to render for.")],
    variant: Annotated[
        VariantName | None, typer.Option(help="Default: that of the stage, else primary.")
    ] = None,
    stage: Annotated[int, typer.Option(min=0, help="Stage of the pipeline, counted from 1.")] = 0,
    app_path: ApplicationPath = "",
    commit: Commit = "",
    running: Annotated[
        str, typer.Option(metavar="REV", help="What runs now; the baseline is made from it.")
    ] = "",
    fleet: FleetFile = "",
    contexts: Contexts = "",
    output: Annotated[ManifestOutput, typer.Option("--output", "-o")] = ManifestOutput.YAML,
) -> None:
    """Print exactly what a stage would apply to a cluster."""
    from volary.cli import rendering

    wish = rendering.Wish(
        path=path,
        target=target,
        variant=variant.value if variant else "",
        stage=stage,
        app=app_path,
        commit=commit,
        running=running,
        fleet=fleet,
        contexts=contexts,
        output=output.value,
    )
    raise typer.Exit(asyncio.run(rendering.run(wish)))
