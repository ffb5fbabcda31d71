"""Writes docs/reference/cli.md from the commands themselves; a test checks that it is current.

python tools/write_cli_reference.py
"""

from collections.abc import Iterator
from pathlib import Path

import typer
import typer.main

from volary import main

PAGE = Path(__file__).parents[1] / "docs/reference/cli.md"
_WIDTH = 100
_START = """\
# Command line

Results go to standard output, messages to standard error. Colours need a terminal and are left out
with `NO_COLOR`; on a terminal `volary run` shows the clusters and stages live, elsewhere line by
line. Events of `--output json` and exit codes are on [a page of their own](events.md).

This page is written by `tools/write_cli_reference.py` from the commands' own help.
"""


def page() -> str:
    """Return the page."""
    root = typer.main.get_command(main.app)
    return "\n".join((_START, *_sections(root, "volary")))


def _sections(command: object, name: str) -> Iterator[str]:
    """Yield a section for a command, then those of its subcommands."""
    if name != "volary":
        yield f"{'#' * (len(name.split()))} `{name}`\n"
    yield f"```text\n{_help(command, name)}\n```\n"
    # A group that is mounted from elsewhere knows its commands once it was used.
    for each, inner in getattr(command, "commands", {}).items():
        yield from _sections(inner, f"{name} {each}")


def _help(command: object, name: str) -> str:
    context = command.make_context(  # type: ignore[attr-defined] # typer hides click's types
        name, [], resilient_parsing=True, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    lines = str(context.get_help()).splitlines()
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
