"""``volary project``: what each team of a server may do, and why something is not permitted."""

from typing import Annotated

import typer

from volary.cli import forms
from volary.cli.commands import options

app = options.group("Show the projects of a server, and explain what they permit.")


@app.command("list")
def list_projects(server: options.Server = "", output: options.Output = forms.Form.TEXT) -> None:
    """List the projects: sources, clusters, namespaces, how many applications."""
    from volary.cli.remote import projects

    options.ask(server, projects.show_list, output)


@app.command()
def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a project.")],
    application: Annotated[
        str,
        typer.Option("--application", metavar="APP", help="Does this application belong to it?"),
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            "--object",
            metavar="KIND.GROUP",
            help="May it have objects of this kind, such as Deployment.apps or ConfigMap?",
        ),
    ] = "",
    cluster: Annotated[
        str, typer.Option(metavar="NAME", help="With --object: on this cluster.")
    ] = "",
    namespace: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="With --object: in this namespace; of a Namespace its name."
        ),
    ] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show what a project permits, or whether it permits one thing. Exit code 1: it does not."""
    from volary.cli.remote import projects

    asked = projects.Question(application, kind, cluster, namespace)
    options.ask(server, projects.explain, name, asked, output)
