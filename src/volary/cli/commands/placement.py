"""The commands about where a server's applications are; each imports its work when it runs."""

from typing import Annotated

import typer

from volary.cli.commands import remote

app = typer.Typer()


@app.command()
def placement(
    application: remote.Application,
    server: remote.Server = "",
    output: remote.Output = remote.Form.TEXT,
) -> None:
    """Say which clusters an application is on, what moves, and what a move waits for."""
    from volary.cli.remote import output as forms
    from volary.cli.remote import placements

    target = remote.target_of(server)
    remote.finish(placements.show(target, application, forms.Form(output.value)))


@app.command()
def rebalance(
    application: remote.Application,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    follow: remote.Follow = False,
    server: remote.Server = "",
) -> None:
    """Place an application anew: what moved away may come back, replicas are divided anew."""
    from volary.cli.remote import commands, placements

    target = remote.target_of(server)
    if dry_run:
        remote.finish(placements.plan(target, application))
    remote.finish(commands.start_run(target, "rebalance", application, {}, follow=follow))
