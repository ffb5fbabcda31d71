"""``volary insights``, ``volary compare`` and ``volary calendar``: runs as figures."""

from typing import Annotated

import typer

from volary.cli import forms
from volary.cli.commands import options

app = typer.Typer(rich_markup_mode=None)

_Days = Annotated[int, typer.Option(min=1, max=366, help="How many days.")]
_OneApplication = Annotated[
    str, typer.Option("--app", metavar="NAME", help="One application only.")
]


@app.command()
def insights(
    application: _OneApplication = "",
    project: Annotated[
        str, typer.Option(metavar="NAME", help="Applications of one project only.")
    ] = "",
    days: _Days = 30,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show deployment frequency, lead time, change failure rate and time to restore.

    Below the figures it is said how each is counted; `-o json` has the runs behind them.
    """
    from volary.cli.remote import insights as remote_insights

    options.ask(server, remote_insights.show, project, application, days, output)


@app.command()
def compare(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run.")],
    before: Annotated[
        str,
        typer.Argument(
            metavar="[BEFORE]", help="Another run of its application. Default: the one before it."
        ),
    ] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Say what differs between two runs of an application, and show their stages side by side."""
    from volary.cli.remote import insights as remote_insights

    options.ask(server, remote_insights.compare, run, before, output)


@app.command()
def calendar(
    application: _OneApplication = "",
    days: _Days = 30,
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show when nothing begins where: the closed windows of the next days, with reasons."""
    from volary.cli.remote import insights as remote_insights

    options.ask(server, remote_insights.show_calendar, application, days, output)
