"""The commands about where a server's applications are; each imports its work when it runs."""

from typing import Annotated

import typer

from volary.cli import remote_commands

app = typer.Typer()


@app.command()
def placement(
    application: remote_commands.Application,
    server: remote_commands.Server = "",
    output: remote_commands.Output = remote_commands.Form.TEXT,
) -> None:
    """Say which clusters an application is on, what moves, and what a move waits for."""
    from volary.cli.remote import moving
    from volary.cli.remote import output as forms

    target = remote_commands.target_of(server)
    remote_commands.finish(moving.show(target, application, forms.Form(output.value)))


@app.command()
def rebalance(
    application: remote_commands.Application,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    follow: remote_commands.Follow = False,
    server: remote_commands.Server = "",
) -> None:
    """Place an application anew: what moved away may come back, replicas are divided anew."""
    from volary.cli.remote import asking, moving

    target = remote_commands.target_of(server)
    if dry_run:
        remote_commands.finish(moving.plan(target, application))
    remote_commands.finish(
        asking.of_application(target, "rebalance", application, {}, follow=follow)
    )
