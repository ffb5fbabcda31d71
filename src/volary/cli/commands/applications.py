"""``volary application``: adopt or forget one whose repository or file is gone."""

from typing import Annotated

import typer

from volary.cli.commands import options

app = options.group("Adopt or forget applications whose repository or file is gone.")

_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the audit keeps it.")]


@app.command()
def adopt(
    name: options.Application,
    repository: Annotated[
        str, typer.Option(metavar="NAME", help="Where it is now, as the settings name it.")
    ],
    reason: _Reason,
    server: options.Server = "",
) -> None:
    """Have it go on in another repository, with its history and its last release."""
    _ask("adopt", name, {"repository": repository, "reason": reason}, server)


@app.command()
def forget(name: options.Application, reason: _Reason, server: options.Server = "") -> None:
    """Drop what the server keeps of it. Nothing is deleted in any cluster."""
    _ask("forget", name, {"reason": reason}, server)


def _ask(kind: str, name: str, body: dict[str, object], server: str) -> None:
    from volary.cli.remote import commands

    options.ask(server, commands.send_to_application, kind, name, body)
