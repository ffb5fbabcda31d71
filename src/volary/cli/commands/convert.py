"""The commands that turn other projects' files into application files.

Each imports its work when it runs.
"""

from typing import Annotated

import typer

from volary.cli.commands import options

app = options.group("Turn other projects' files into application files.")


@app.command()
def flagger(
    path: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="File with a Canary, or the directory with one such file."
        ),
    ],
) -> None:
    """Print the application file that says what a Flagger Canary says."""
    from volary.cli import conversion

    raise typer.Exit(conversion.flagger(path))


_APPROVER = typer.Option(
    "--approver",
    metavar="NAME",
    help="Who may approve where the file asks for people; may be repeated.",
)


@app.command()
def karmada(
    path: Annotated[
        str,
        typer.Argument(metavar="DIR", help="Application directory with Karmada's policies."),
    ],
) -> None:
    """Print the application file that says what Karmada's policies say."""
    from volary.cli import conversion

    raise typer.Exit(conversion.karmada(path))


@app.command()
def kubefleet(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="File with a ClusterStagedUpdateStrategy.")
    ],
    approver: Annotated[list[str] | None, _APPROVER] = None,
) -> None:
    """Print the waves that go through the stages of a KubeFleet strategy."""
    from volary.cli import conversion

    raise typer.Exit(conversion.rollout("kubefleet", path, approver or []))


@app.command()
def ocm(
    path: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="File with a ManifestWorkReplicaSet, and with its Placement."
        ),
    ],
) -> None:
    """Print the waves that follow a rollout strategy of Open Cluster Management."""
    from volary.cli import conversion

    raise typer.Exit(conversion.rollout("ocm", path, []))


@app.command()
def argocd(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="File with an ApplicationSet with RollingSync.")
    ],
    approver: Annotated[list[str] | None, _APPROVER] = None,
) -> None:
    """Print the waves that go through the RollingSync steps of an ApplicationSet."""
    from volary.cli import conversion

    raise typer.Exit(conversion.rollout("argocd", path, approver or []))
