"""``volary audit``: export what people did, and show that nothing was taken out of it."""

from typing import Annotated

import typer

from volary.cli import forms
from volary.cli.commands import options

app = options.group("Export what people did, and show that nothing was taken out.")


def _of(words: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(metavar="NAME", help=words)
    return option


@app.command()
def export(
    by: Annotated[str, _of("Only what this one did, such as token:ci.")] = "",
    app: Annotated[str, _of("Only what is about this application.")] = "",
    run: Annotated[str, _of("Only what is about this run.")] = "",
    action: Annotated[str, _of("Only this, such as run.approve.")] = "",
    cluster: Annotated[str, _of("Only what names this cluster.")] = "",
    server: options.Server = "",
    output: Annotated[
        forms.LinesForm, typer.Option("--output", "-o", help="json: an object a line, whole.")
    ] = "text",
) -> None:
    """Write the audit of a server, the oldest entry first, an entry a line; for admins."""
    from volary.cli.remote import audit

    form = forms.Form(output)
    wanted = {"by": by, "application": app, "run": run, "action": action, "cluster": cluster}
    options.ask(server, audit.export, form, wanted)


@app.command()
def verify(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="An export of everything as JSON. Default: ask the server."
        ),
    ] = "",
    expect: Annotated[
        str,
        typer.Option(
            metavar="POSITION:HASH",
            help="A head that was noted before: that entry must still be the one it was.",
        ),
    ] = "",
    server: options.Server = "",
) -> None:
    """Say whether the audit is whole, and which entries are missing or were changed.

    Prints the head of the chain: noted elsewhere, it also shows that all was written anew.
    Exit code 0: whole, 1: not.
    """
    from volary.cli.remote import audit

    if file and server:
        raise typer.BadParameter("FILE and --server exclude each other")
    if file:
        raise typer.Exit(audit.verify_file(file, expect))
    options.ask(server, audit.verify, expect)
