"""``volary cluster``: how clusters are, and what keeps applications away from them."""

from typing import Annotated

import typer

from volary.cli import forms
from volary.cli.commands import options

app = options.group("Show a server's clusters and change their taints.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a cluster.")]


def _ask(name: str, verb: str, body: dict[str, object], server: str) -> None:
    from volary.cli.remote import clusters

    options.ask(server, clusters.send, name, verb, body)


@app.command("list")
def list_clusters(
    status: Annotated[
        str, typer.Option(metavar="WORD", help="ready, notReady, unreachable, suspended, unknown.")
    ] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """List the clusters with their state and taints."""
    from volary.cli.remote import queries

    options.ask(server, queries.get, "clusters", output, status=status)


@app.command()
def get(
    name: _Name,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show a cluster: its state and since when, why, and its taints."""
    from volary.cli.remote import clusters

    options.ask(server, clusters.get, name, output)


@app.command()
def cordon(name: _Name, reason: options.Reason = "", server: options.Server = "") -> None:
    """Start nothing new in a cluster; releases it misses are backfilled after `uncordon`."""
    _ask(name, "cordon", {"reason": reason}, server)


@app.command()
def drain(
    name: _Name,
    reason: options.Reason = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    server: options.Server = "",
) -> None:
    """Cordon a cluster, and have what runs there moved where applications allow it."""
    from volary.cli.remote import clusters

    if dry_run:
        options.ask(server, clusters.preview, name, "drain")
    _ask(name, "drain", {"reason": reason}, server)


@app.command()
def uncordon(name: _Name, reason: options.Reason = "", server: options.Server = "") -> None:
    """Let a cluster take part again after `cordon` or `drain`."""
    _ask(name, "uncordon", {"reason": reason}, server)


@app.command()
def taint(
    name: _Name,
    marks: Annotated[
        list[str],
        typer.Argument(
            metavar="TAINT…", help="KEY=VALUE:EFFECT or KEY:EFFECT; KEY- or KEY:EFFECT- removes."
        ),
    ],
    reason: options.Reason = "",
    server: options.Server = "",
) -> None:
    """Add a taint to a cluster (NoSchedule, NoExecute), or remove one."""
    from volary.cli.remote import clusters

    options.ask(server, clusters.taint, name, marks, reason)
