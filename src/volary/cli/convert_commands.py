"""The commands that turn other projects' files into ours; each imports its work when it runs."""

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Turn other projects' files into application files.",
)


@app.callback()
def root() -> None:
    """Turn other projects' files into application files."""


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
    from volary.cli import converting

    raise typer.Exit(converting.flagger(path))
