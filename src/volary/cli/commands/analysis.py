"""``volary analysis``: what was measured in a run, and metrics tried without one."""

from typing import Annotated, Any

import typer
from typer import core

from volary.cli import forms
from volary.cli.commands import options


class _Group(core.TyperGroup):
    """A word that is no command is a run: `volary analysis RUN` is `volary analysis show RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name in where it was left out."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = options.group(
    "What was measured in a run and how it was judged; `volary analysis RUN` shows it.", cls=_Group
)


@app.command()
def show(
    run: options.Run,
    stage: options.Stage = "",
    cluster: options.Cluster = "",
    metric: Annotated[str, typer.Option(metavar="NAME", help="One metric only.")] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show what a run's analyses measured, how they were judged, and why.

    `-o wide` shows the queries too, `-o json` every measurement.
    """
    from volary.cli.analysis import run_findings

    options.ask(server, run_findings.show, run, stage, cluster, metric, output)


@app.command("test")
def try_out(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Application file or directory.")],
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="2026-01-31T12:00:00Z, or -10m: that long ago."),
    ] = "",
    looks: Annotated[
        int, typer.Option(min=1, max=1000, help="So many looks up to then, at each interval.")
    ] = 1,
    previous: Annotated[
        str, typer.Option(metavar="TIME", help="Begin of the analysis that PREVIOUS compares with.")
    ] = "",
    cluster: Annotated[str, typer.Option(metavar="NAME", help="On one cluster only.")] = "",
    fleet: Annotated[
        str, typer.Option("--fleet", metavar="FILE", help="Fleet file with analysisProviders.")
    ] = "",
    contexts: options.Contexts = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Ask the queries of an application file and judge the answers, without a release.

    Exit code 1: a release would not have passed.
    """
    from volary.cli.analysis import metric_trial
    from volary.controller.planning import preparation

    request = metric_trial.TrialRequest(
        preparation.RunOptions(path, fleet=fleet, contexts=contexts),
        at=at,
        looks=looks,
        previous=previous,
        cluster=cluster,
    )
    options.finish(metric_trial.run(request, output))
