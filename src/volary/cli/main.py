"""The entry point of the `volary` command."""

import sys

from volary.cli import commands, exits
from volary.model import errors


def main() -> None:
    """Run the command line and leave with an exit code of `exits.Exit`."""
    try:
        commands.app()
    except KeyboardInterrupt:
        sys.exit(exits.Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (``volary … | head``); nothing is left to say.
        sys.stderr.close()
        sys.exit(exits.Exit.FAILED)
    except errors.VolaryError as error:
        sys.exit(_explain(error))


def _explain(error: errors.VolaryError) -> int:
    """Say what went wrong, without a traceback."""
    from volary.cli import console  # rich is loaded only when there is something to say

    talk = console.talk()
    if isinstance(error, errors.UserError):
        console.show_problems(talk, error.problems)
        return exits.Exit.USAGE
    talk.print(f"error: {error}", style="red", markup=False)
    return exits.Exit.FAILED
