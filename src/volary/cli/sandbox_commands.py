"""The demo and the sandbox's commands; each imports its work only when it runs."""

from collections.abc import Coroutine
from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None)


class Scenario(StrEnum):
    """What the demo shows."""

    CANARY = "canary"
    ISTIO = "istio"
    BROKEN = "broken"
    GITOPS = "gitops"
    BAD_CANARY = "bad-canary"
    PROGRESSIVE = "progressive"
    AB = "ab"
    BLUE_GREEN = "blue-green"
    ONE_BAD_REGION = "one-bad-region"
    WAVES = "waves"
    KARMADA = "karmada"
    FAILOVER = "failover"


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
    import asyncio  # half of the start-up time of ``volary --help``

    raise typer.Exit(asyncio.run(work))


@app.command()
def demo(
    scenario: Annotated[Scenario, typer.Option(help="What to show.")] = Scenario.CANARY,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the clusters up until Ctrl-C.")
    ] = False,
) -> None:
    """Roll an example out over three sandbox clusters.

    Deploys the first version, then the second by its pipeline, and looks at pods and traffic
    on the way. Ends by itself and leaves nothing running.
    """
    from volary.cli import (
        demonstration,
        failover_demo,
        gitops_demo,
        karmada_demo,
        traffic_demo,
        traffic_stories,
        waves_demo,
    )

    if scenario is Scenario.GITOPS:
        _finish(gitops_demo.run(keep=keep))
    if scenario is Scenario.WAVES:
        _finish(waves_demo.run(keep=keep))
    if scenario is Scenario.FAILOVER:
        _finish(failover_demo.run(keep=keep))
    if scenario is Scenario.KARMADA:
        _finish(karmada_demo.run(keep=keep))
    if scenario.value in traffic_stories.STORIES:
        _finish(traffic_demo.run(scenario.value, keep=keep))
    _finish(demonstration.run(scenario.value, keep=keep))


sandbox = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Emulated clusters to try things on."
)
app.add_typer(sandbox, name="sandbox")

Directory = Annotated[
    str, typer.Option("--dir", metavar="DIR", help="Where the sandbox keeps its files.")
]


@sandbox.command()
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
    speed: Annotated[
        float, typer.Option(min=0.1, max=1000, metavar="X", help="Sandbox seconds per second.")
    ] = 1.0,
) -> None:
    """Run emulated clusters in the foreground.

    Writes fleet.yaml and a kubeconfig per cluster, for kubectl and `volary run --fleet`;
    Ctrl-C ends the clusters.
    """
    from volary.cli import sandboxes

    wish = sandboxes.Wish(
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
    )
    _finish(sandboxes.up(wish))


@sandbox.command()
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
    from volary.cli import loading

    wish = loading.Wish(
        host=host,
        clusters=cluster,
        rate=rate,
        duration=duration,
        path=path,
        headers=tuple(header or ()),
        directory=directory,
        as_json=output is Form.JSON,
    )
    _finish(loading.run(wish))


@sandbox.command()
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
    from volary.cli import sandboxes

    _finish(sandboxes.fault(cluster, settings or [], directory=directory, clear=clear))
