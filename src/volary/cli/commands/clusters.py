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


_Namespace = Annotated[
    str, typer.Option("--namespace", metavar="NAME", help="Where the agent runs there.")
]


@app.command()
def join(
    name: _Name,
    namespace: _Namespace = "volary",
    namespaces: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Give the agent rights in these namespaces only. Default: in all."
        ),
    ] = "",
    policy: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What it permits, kind AgentPolicy. Default: to read all but Secrets, and tasks in"
            " the namespaces.",
        ),
    ] = "",
    address: Annotated[
        str,
        typer.Option(metavar="URL", help="How it reaches the server. Default: as this command."),
    ] = "",
    ca_file: Annotated[
        str, typer.Option(metavar="FILE", help="By which it verifies the server, PEM.")
    ] = "",
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Default: volary of this version.")
    ] = "",
    server: options.Server = "",
) -> None:
    """Register an agent for a cluster, and print what is applied there: `kubectl apply -f -`.

    The fleet file has to say `agent: true` of the cluster. Its token and private key are in what is
    printed, and nowhere else.
    """
    from volary.cli.remote import agents

    wanted = agents.read_wanted(
        namespace=namespace,
        namespaces=namespaces,
        policy=policy,
        address=address,
        ca_file=ca_file,
        image=image,
    )
    options.ask(server, agents.join, name, wanted)


@app.command()
def rotate(name: _Name, namespace: _Namespace = "volary", server: options.Server = "") -> None:
    """Make another token and key for the agent of a cluster, and print the Secret to apply.

    The token before is good until the new one was used.
    """
    from volary.cli.remote import agents

    options.ask(server, agents.rotate, name, agents.read_wanted(namespace=namespace))


@app.command()
def remove(name: _Name, server: options.Server = "") -> None:
    """Take all rights of the agent of a cluster at once, and end its connections."""
    from volary.cli.remote import agents

    options.ask(server, agents.remove, name)


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
