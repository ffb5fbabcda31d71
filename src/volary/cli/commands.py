"""The commands and their options; each imports its work only when it runs."""

import typer

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: rich would double the start-up time
    help="One pipeline, every cluster: progressive delivery for many Kubernetes clusters.",
)


@app.callback()
def root() -> None:
    """One pipeline, every cluster: progressive delivery for many Kubernetes clusters."""
