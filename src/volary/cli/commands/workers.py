"""``volary worker``: tasks on clusters, apart from the servers."""

from typing import Annotated

import typer

from volary.cli.commands import options

app = typer.Typer(
    rich_markup_mode=None,
    help="Carry out tasks on clusters, apart from the servers.",
    invoke_without_command=True,
)
_Name = Annotated[str, typer.Argument(metavar="NAME", help="What the worker is called.")]


@app.callback()
def work(
    context: typer.Context,
    identity: Annotated[
        str, typer.Option(metavar="FILE", help="What `volary worker join` printed.")
    ] = "worker.json",
    fleet: options.FleetFile = "",
    temporal_address: options.TemporalAddress = "",
    temporal_tls: options.TemporalTls = False,
    temporal_ca: options.TemporalCa = "",
    temporal_certificate: options.TemporalCertificate = "",
    temporal_key: options.TemporalKey = "",
    temporal_server_name: options.TemporalServerName = "",
    temporal_api_key: options.TemporalApiKey = "",
    tracing_endpoint: options.TracingEndpoint = "",
) -> None:
    """Take tasks on the clusters of an identity, and carry them out, until it is stopped.

    Any number of processes may share an identity: each task is taken by one of them.
    """
    if context.invoked_subcommand is not None:
        return
    from volary.cli import temporal_files, worker_process

    files = temporal_files.TemporalFiles(
        temporal_ca,
        temporal_certificate,
        temporal_key,
        temporal_server_name,
        temporal_api_key,
        temporal_tls,
        temporal_address,
    )
    options.serve(worker_process.work(identity, fleet, files, tracing_endpoint))


@app.command()
def join(
    name: _Name,
    cluster: Annotated[
        list[str], typer.Option(metavar="NAME", help="A cluster that it works in; repeatable.")
    ],
    server: options.Server = "",
) -> None:
    """Register a worker, and print its identity: a secret, which is shown this once."""
    from volary.cli.remote import workers

    options.ask(server, workers.join, name, cluster)


@app.command()
def rotate(name: _Name, server: options.Server = "") -> None:
    """Make another token and key for a worker, and print the identity with them: a secret.

    The token before is good until the new one was used. Processes read their identity again when
    its file has changed.
    """
    from volary.cli.remote import workers

    options.ask(server, workers.rotate, name)


@app.command()
def remove(name: _Name, server: options.Server = "") -> None:
    """Take all rights of a worker at once: its processes carry out no task any more."""
    from volary.cli.remote import workers

    options.ask(server, workers.remove, name)
