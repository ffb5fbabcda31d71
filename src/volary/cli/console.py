"""Where output goes: data on stdout, talk on stderr; ``NO_COLOR`` is honoured by both."""

import sys
from collections.abc import Iterable

from rich import console, markup

from volary.model import problem


def talk() -> console.Console:
    """Return the console for people: progress, warnings, errors."""
    return console.Console(stderr=True, highlight=False, soft_wrap=True)


def data() -> console.Console:
    """Return the console for results, which a pipe may read."""
    return console.Console(highlight=False, soft_wrap=True)


def write(text: str) -> None:
    """Write a result to stdout as it is, with a line end."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show_problems(target: console.Console, problems: Iterable[problem.Problem]) -> None:
    """Print each problem: what, where, then the hint on a line of its own."""
    for each in problems:
        colour = "red" if each.severity is problem.Severity.ERROR else "yellow"
        place = f"{markup.escape(str(each.where))}: " if str(each.where) else ""
        target.print(f"[{colour}]{each.severity}:[/] {place}{markup.escape(each.message)}")
        if each.hint:
            target.print(f"  hint: {markup.escape(each.hint)}")
