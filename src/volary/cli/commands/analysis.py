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
    report: Annotated[
        str, typer.Option(metavar="FILE", help="Write it as one HTML file instead, with charts.")
    ] = "",
    server: options.Server = "",
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Show what a run's analyses measured, how they were judged, and why.

    `-o wide` shows the queries too, `-o json` every measurement. `--report out.html` is for those
    who were not there: it needs no server, no script and nothing from elsewhere.
    """
    from volary.cli.analysis import run_findings

    if report:
        options.ask(server, run_findings.write_report, run, stage, cluster, metric, report)
    else:
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


@app.command()
def plan(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Application file or directory.")],
    fleet: Annotated[
        str,
        typer.Option(
            "--fleet",
            metavar="FILE",
            help="Fleet file with analysisProviders: what is not stated of its clusters' traffic "
            "is asked of them.",
        ),
    ] = "",
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Requests a second that canary gets, on a cluster. Default: as measured with "
            "--fleet, else 10.",
        ),
    ] = None,
    other_rate: Annotated[
        float | None,
        typer.Option(min=0, help="Of the other side. Default: as measured, else as many."),
    ] = None,
    errors: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the requests that fails anyway. Default: as measured, else 0.01.",
        ),
    ] = None,
    scatter: Annotated[
        float, typer.Option(min=0, help="Standard deviation of latencies by their mean.")
    ] = 0.5,
    overdispersion: Annotated[
        float,
        typer.Option(min=0, max=0.5, help="Variance that requests of a look have in common."),
    ] = 0.0,
    autocorrelation: Annotated[
        float, typer.Option(min=0, max=0.99, help="Of neighbouring looks.")
    ] = 0.0,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=200, help="All alike. Default: as many as the fleet has, else 1."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=20, max=10_000, help="Simulated releases for each effect, at most.")
    ] = 200,
    output: options.Output = forms.Form.TEXT,
) -> None:
    """Simulate how the rules of an application file would do in some traffic.

    How many healthy releases would fail, and how many and how soon of those with 1.2 to 10
    times as many errors or as much latency.
    """
    from volary.cli.analysis import rule_plan
    from volary.controller.planning import preparation

    request = rule_plan.PlanRequest(
        preparation.RunOptions(path, fleet=fleet),
        rate=rate,
        other_rate=other_rate,
        errors=errors,
        scatter=scatter,
        overdispersion=overdispersion,
        autocorrelation=autocorrelation,
        clusters=clusters,
        runs=runs,
    )
    options.finish(rule_plan.run(request, output))
