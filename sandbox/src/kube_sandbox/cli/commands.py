"""The commands and their options; each imports its work only when it runs."""

from collections.abc import Coroutine
from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Emulated Kubernetes clusters to try things on.",
)


class Proxy(StrEnum):
    """What stands before the Services."""

    BUILTIN = "builtin"
    TRAEFIK = "traefik"
    ENVOY = "envoy"


class Form(StrEnum):
    """Forms of a result."""

    TEXT = "text"
    JSON = "json"


def _finish(work: Coroutine[object, object, int]) -> None:
    import asyncio

    raise typer.Exit(asyncio.run(work))


Directory = Annotated[
    str, typer.Option("--dir", metavar="DIR", help="Where the sandbox keeps its files.")
]


@app.command()
def up(
    directory: Directory = "sandbox",
    clusters: Annotated[
        int, typer.Option(min=1, max=500, metavar="N", help="How many clusters.")
    ] = 3,
    names: Annotated[
        str, typer.Option(metavar="A,B", help="Their names. Default: us, eu, asia, c4, ….")
    ] = "",
    ports: Annotated[
        str, typer.Option(metavar="N,N", help="Their ports, or the first one. Default: free ones.")
    ] = "",
    istio: Annotated[
        bool, typer.Option("--istio", help="Install Istio's custom resource definitions.")
    ] = False,
    gateway_api: Annotated[
        bool, typer.Option("--gateway-api", help="Install the Gateway API's definitions.")
    ] = False,
    traffic: Annotated[
        bool, typer.Option("--traffic", help="Pods really answer, behind a proxy (Linux).")
    ] = False,
    proxy: Annotated[
        Proxy, typer.Option(help="What stands before the Services; others imply --traffic.")
    ] = Proxy.BUILTIN,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Scrape the pods; implies --traffic.")
    ] = False,
    metrics_server: Annotated[
        bool, typer.Option("--metrics-server", help="Serve what pods use: kubectl top.")
    ] = False,
    speed: Annotated[
        float, typer.Option(min=0.1, max=1000, metavar="X", help="Sandbox seconds per second.")
    ] = 1.0,
) -> None:
    """Run emulated clusters in the foreground.

    Writes a kubeconfig per cluster, and fleet.yaml, which names them all; Ctrl-C ends the
    clusters.
    """
    from kube_sandbox.cli import clusters as command

    options = command.Options(
        directory=directory,
        clusters=clusters,
        names=names,
        ports=ports,
        istio=istio,
        gateway_api=gateway_api,
        speed=speed,
        traffic=traffic,
        proxy=proxy.value,
        prometheus=prometheus,
        metrics_server=metrics_server,
    )
    _finish(command.up(options))


@app.command()
def load(
    host: Annotated[str, typer.Argument(help="A Service's name, or a host that a route names.")],
    cluster: Annotated[
        str, typer.Option(metavar="A,B", help="Where to ask. Default: every cluster.")
    ] = "",
    rate: Annotated[
        float, typer.Option(min=0.1, max=5000, metavar="N", help="Requests a second and cluster.")
    ] = 50.0,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long.")] = "10s",
    path: Annotated[str, typer.Option(metavar="PATH", help="What to ask for.")] = "/",
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:VALUE", help="A header of the requests; may be repeated."),
    ] = None,
    directory: Directory = "sandbox",
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the result.")] = Form.TEXT,
) -> None:
    """Send requests at a fixed rate to a sandbox with real traffic, and count the answers.

    Exit code 0: every request got a good answer, 1: some did not.
    """
    from kube_sandbox.cli import loading

    options = loading.Options(
        host=host,
        clusters=cluster,
        rate=rate,
        duration=duration,
        path=path,
        headers=tuple(header or ()),
        directory=directory,
        as_json=output is Form.JSON,
    )
    _finish(loading.run(options))


@app.command()
def fault(
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="Faults to switch, such as latency=200ms, lost=refuse,"
            " images.*:v2=never-ready; an empty value switches one off. None: show them.",
        ),
    ] = None,
    directory: Directory = "sandbox",
    clear: Annotated[bool, typer.Option("--clear", help="Switch everything off first.")] = False,
) -> None:
    """Let a running sandbox cluster misbehave."""
    from kube_sandbox.cli import clusters as command

    _finish(command.fault(cluster, settings or [], directory=directory, clear=clear))
