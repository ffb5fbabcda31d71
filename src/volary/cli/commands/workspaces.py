"""``volary workspace``: what teams have on clusters, and deleting what is not written any more."""

from typing import Annotated

import typer

from volary.cli import forms
from volary.cli.commands import options

app = options.group("Show what teams have on a server's clusters; delete what was taken out.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a workspace.")]


@app.command("list")
def list_workspaces(
    project: Annotated[str, typer.Option(metavar="NAME", help="Of one project only.")] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """List the workspaces with their project and state."""
    from volary.cli.remote import workspaces

    options.ask(server, workspaces.show_all, output, project=project)


@app.command()
def get(
    name: _Name,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show a workspace: how it is on each cluster and why, and what waits to be deleted."""
    from volary.cli.remote import workspaces

    options.ask(server, workspaces.show, name, output)


@app.command()
def delete(
    name: _Name,
    confirm: Annotated[
        str, typer.Option(metavar="NAME", help="The name once more: what goes cannot come back.")
    ] = "",
    with_contents: Annotated[
        bool,
        typer.Option(
            "--with-contents", help="Also namespaces that hold what is not the workspace's."
        ),
    ] = False,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Delete what is left of a workspace and not written any more; for admins.

    Says what was deleted and what stayed, on each cluster. Exit code 0: nothing is left, 1:
    something is.
    """
    from volary.cli.remote import workspaces

    options.ask(
        server, workspaces.delete, name, output, confirm=confirm, with_contents=with_contents
    )
