"""The entry point of the `volary` command."""

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def root() -> None:
    """One pipeline, every cluster."""


def main() -> None:
    """Run the command line."""
    app()
