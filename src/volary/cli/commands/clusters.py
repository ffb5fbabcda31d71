"""``volary cluster``: how clusters are, and what keeps applications away from them."""

from typing import Annotated

import typer

from volary.cli.commands import remote

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show a server's clusters and change their taints.",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a cluster.")]


def _ask(name: str, verb: str, body: dict[str, object], server: str) -> None:
    from volary.cli.remote import clusters

    target = remote.target_of(server)
    remote.finish(clusters.send(target, name, verb, body))


@app.command("list")
def list_clusters(
    status: Annotated[
        str, typer.Option(metavar="WORD", help="ready, notReady, unreachable, suspended, unknown.")
    ] = "",
    server: remote.Server = "",
    output: remote.Output = remote.Form.TEXT,
) -> None:
    """List the clusters with their state and taints."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import queries

    target = remote.target_of(server)
    form = forms.Form(output.value)
    sought = queries.ListQuery(forms.Noun.CLUSTERS, status=status)
    remote.finish(queries.get(target, sought, 100_000, form))


@app.command()
def get(
    name: _Name,
    server: remote.Server = "",
    output: remote.Output = remote.Form.TEXT,
) -> None:
    """Show a cluster: its state and since when, why, and its taints."""
    from volary.cli.remote import clusters
    from volary.cli.remote import output as forms

    target = remote.target_of(server)
    remote.finish(clusters.get(target, name, forms.Form(output.value)))


@app.command()
def cordon(name: _Name, reason: remote.Reason = "", server: remote.Server = "") -> None:
    """Start nothing new in a cluster; releases it misses are backfilled after `uncordon`."""
    _ask(name, "cordon", {"reason": reason}, server)


@app.command()
def drain(name: _Name, reason: remote.Reason = "", server: remote.Server = "") -> None:
    """Cordon a cluster, and have what runs there moved where applications allow it."""
    _ask(name, "drain", {"reason": reason}, server)


@app.command()
def uncordon(name: _Name, reason: remote.Reason = "", server: remote.Server = "") -> None:
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
    reason: remote.Reason = "",
    server: remote.Server = "",
) -> None:
    """Add a taint to a cluster (NoSchedule, NoExecute), or remove one."""
    from volary.cli.remote import clusters

    target = remote.target_of(server)
    remote.finish(clusters.taint(target, name, marks, reason))
