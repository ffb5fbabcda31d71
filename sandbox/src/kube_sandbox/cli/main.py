"""The entry point of the `kube-sandbox` command."""

import sys

from kube_sandbox import errors
from kube_sandbox.cli import commands, terminal


def main() -> None:
    """Run the command line; 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C."""
    try:
        commands.app()
    except KeyboardInterrupt:
        sys.exit(terminal.INTERRUPTED)
    except errors.UserError as error:
        sys.stderr.write(f"error: {terminal.printable(error.message)}\n")
        if error.hint:
            sys.stderr.write(f"  hint: {terminal.printable(error.hint)}\n")
        sys.exit(terminal.USAGE)
