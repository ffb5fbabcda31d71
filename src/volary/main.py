"""The entry point of the `volary` command."""

import copy
import sys
from collections.abc import Iterator

import typer
from typer import models

from volary.cli import exit_codes, garbage_collector, process_exits
from volary.cli.commands import root
from volary.demo import commands as demo_commands
from volary.model import errors

#: Every command: those of the product, then those that need the sandbox.
app = root.app
app.add_typer(demo_commands.app)


def run() -> None:
    """Be the process of the command line."""
    try:
        main()
    except SystemExit as end:
        process_exits.leave(end)
    process_exits.leave(SystemExit())


def main() -> None:
    """Run the command line and leave with an exit code of `exit_codes.Exit`."""
    garbage_collector.wait_for_imports()
    try:
        typer.main.get_command(_only(sys.argv[1:2]))()
    except KeyboardInterrupt:
        sys.exit(exit_codes.Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (``volary … | head``); nothing is left to say.
        sys.stderr.close()
        sys.exit(exit_codes.Exit.FAILED)
    except errors.VolaryError as error:
        sys.exit(_explain(error))


def _only(first: list[str]) -> typer.Typer:
    """Return all commands, or the one alone that is named first, where there is such a one.

    Options are read from the functions, and few commands list what others there are.
    """
    found = [member for name, member in _named(app) if [name] == first]
    if not found:
        return app
    alone = copy.copy(app)
    alone.registered_commands = [one for one in found if isinstance(one, models.CommandInfo)]
    alone.registered_groups = [one for one in found if isinstance(one, models.TyperInfo)]
    return alone


def _named(group: typer.Typer) -> Iterator[tuple[str, models.CommandInfo | models.TyperInfo]]:
    """Yield commands and groups by their names; what a group without a name has is beside it."""
    for command in group.registered_commands:
        if command.callback is not None:
            yield command.name or typer.main.get_command_name(command.callback.__name__), command
    for inner in group.registered_groups:
        if isinstance(inner.name, str):
            yield inner.name, inner
        elif inner.typer_instance is not None:
            yield from _named(inner.typer_instance)


def _explain(error: errors.VolaryError) -> int:
    """Say what went wrong, without a traceback."""
    from volary.cli import console  # rich is loaded only when there is something to say

    messages = console.messages()
    if isinstance(error, errors.UserError):
        console.show_problems(messages, error.problems)
        return exit_codes.Exit.USAGE
    messages.print(f"error: {error}", style="red", markup=False)
    return exit_codes.Exit.FAILED
