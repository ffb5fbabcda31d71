"""Options and arguments that several commands have, and how a command's work is carried out."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, NoReturn, ParamSpec

import typer

from volary.cli import forms, garbage_collector

if TYPE_CHECKING:
    from volary.cli.remote import client

Arguments = ParamSpec("Arguments")

Path = Annotated[str, typer.Argument(metavar="PATH", help="Directory or Git repository.")]
ApplicationPath = Annotated[
    str,
    typer.Option(
        "--app", metavar="DIR", help="Application directory or file, relative to the path."
    ),
]
Commit = Annotated[
    str, typer.Option(metavar="REV", help="Commit, branch or tag to use. Default: HEAD.")
]
FleetFile = Annotated[
    str, typer.Option("--fleet", metavar="FILE", help="Fleet file, or PipeCD's piped file.")
]
Contexts = Annotated[
    str,
    typer.Option(
        metavar="A,B", help="Contexts of the ordinary kubeconfig, instead of a fleet file."
    ),
]
Config = Annotated[
    str, typer.Option("--config", metavar="FILE", help="Settings of the controller.")
]
Server = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="Default: $VOLARY_SERVER, or the last login."),
]
Output = Annotated[forms.Form, typer.Option("--output", "-o", help="Form of the result.")]
Run = Annotated[str, typer.Argument(help="Id of a run, or an application: its newest run.")]
Application = Annotated[str, typer.Argument(help="Name of an application.")]
Stage = Annotated[str, typer.Option(metavar="ID", help="Of one stage only.")]
Cluster = Annotated[str, typer.Option(metavar="NAME", help="Of one cluster only.")]
Comment = Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")]
MeantStage = Annotated[
    str,
    typer.Option(
        "--stage", metavar="ID", help="The one you mean; refused when the run is at another one."
    ),
]
MeantGroup = Annotated[
    str, typer.Option("--group", metavar="NAME", help="The group of the stage that you mean.")
]
Seen = Annotated[
    int,
    typer.Option(
        "--seen",
        min=0,
        metavar="VERSION",
        help="Version of the run as it was shown to you; refused when something to decide about"
        " has changed since. Default: as the run is now.",
    ),
]
WholeApplication = Annotated[
    bool, typer.Option("--application", help="NAME is an application: all of it, not one run.")
]
Follow = Annotated[bool, typer.Option("--watch", help="Show the run until its end.")]


def group(words: str, **settings: Any) -> typer.Typer:
    """Return an empty group of commands."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=words, **settings)


def finish(work: Coroutine[object, object, int]) -> NoReturn:
    """Carry out a command's work and exit with its code."""
    import asyncio  # half of the start-up time of ``volary --help``

    garbage_collector.leave_alone_what_is_there()
    raise typer.Exit(asyncio.run(work))


def serve(work: Coroutine[object, object, int]) -> NoReturn:
    """Carry out what goes on until it is stopped, on the fastest event loop, and exit."""
    from volary.concurrency import event_loops

    garbage_collector.leave_alone_what_is_there()
    raise typer.Exit(event_loops.run(work))


def ask(
    server: str,
    work: "Callable[Concatenate[client.Client, Arguments], Coroutine[object, object, int]]",
    *given: Arguments.args,
    **options: Arguments.kwargs,
) -> NoReturn:
    """Carry out what a command asks of a server, and exit with its code."""
    import os

    from volary.cli.remote import client, login

    async def asked() -> int:
        async with client.Client.open(login.find(server, os.environ)) as opened:
            return await work(opened, *given, **options)

    finish(asked())


TracingEndpoint = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="OTEL_EXPORTER_OTLP_ENDPOINT",
        help="A collector that takes traces, OTLP over HTTP. Needs volary[otel].",
    ),
]
TemporalAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Where Temporal is reached from here. Default: where the servers say.",
    ),
]
TemporalTls = Annotated[
    bool, typer.Option("--temporal-tls", help="Secure the connection to Temporal.")
]
TemporalCa = Annotated[
    str, typer.Option(metavar="FILE", help="Certificates by which Temporal is verified, PEM.")
]
TemporalCertificate = Annotated[
    str, typer.Option(metavar="FILE", help="Our certificate for Temporal, PEM.")
]
TemporalKey = Annotated[str, typer.Option(metavar="FILE", help="Its private key, PEM.")]
TemporalServerName = Annotated[
    str, typer.Option(metavar="NAME", help="The name that Temporal's certificate is for.")
]
TemporalApiKey = Annotated[
    str, typer.Option(metavar="FILE", help="A key of Temporal's API, sent with each call.")
]
