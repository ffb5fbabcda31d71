"""The entry point of the `volary` command."""

import sys

import typer

from volary.cli import exit_codes, garbage_collector, process_exits
from volary.cli.commands import root
from volary.demo import commands as demo_commands
from volary.model import errors

#: Every command: those of the product, then those that need the sandbox.
app = root.app
app.add_typer(demo_commands.app)
#: Them with their options, read from the functions once.
command = typer.main.get_command(app)


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
        command()
    except KeyboardInterrupt:
        sys.exit(exit_codes.Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (``volary … | head``); nothing is left to say.
        sys.stderr.close()
        sys.exit(exit_codes.Exit.FAILED)
    except errors.VolaryError as error:
        sys.exit(_explain(error))


def _explain(error: errors.VolaryError) -> int:
    """Say what went wrong, without a traceback."""
    from volary.cli import console  # rich is loaded only when there is something to say

    messages = console.messages()
    if isinstance(error, errors.UserError):
        console.show_problems(messages, error.problems)
        return exit_codes.Exit.USAGE
    messages.print(f"error: {error}", style="red", markup=False)
    return exit_codes.Exit.FAILED
