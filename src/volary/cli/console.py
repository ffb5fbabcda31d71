"""Where output goes: results on stdout, messages on stderr; ``NO_COLOR`` is honoured by both."""

import logging
import sys
import traceback
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from rich import console, markup
from rich import text as rich_text

from volary.manifests import redaction
from volary.model import errors, safe_text

#: What this process must not show.
_HIDDEN = redaction.Masker()


def hide(values: Iterable[object]) -> None:
    """Never show these values from now on, but for what a command is there to write."""
    _HIDDEN.learn_values(values)
    sys.excepthook = _show_crash
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Formatter())


def without_secrets(text: str) -> str:
    """Return a text as it may be shown."""
    return _HIDDEN.clean(text)


class _Formatter(logging.Formatter):
    """Writes what nobody configured a log for, traces included."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def _show_crash(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(without_secrets(text))


class Console(console.Console):
    """A console whose texts cannot steer the terminal, wherever they come from.

    They hold no secret that came to light in this process either.
    """

    def render_str(self, text: str, **options: Any) -> rich_text.Text:
        """Turn a string into what is shown; every printed string comes through here."""
        return super().render_str(without_secrets(text), **options)


def messages() -> console.Console:
    """Return the console for people: progress, warnings, errors."""
    return Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def tell(sentence: str) -> None:
    """Print a line for people, as it is."""
    messages().print(sentence, markup=False)


def results() -> console.Console:
    """Return the console for results, which a pipe may read."""
    return Console(highlight=False, emoji=False, soft_wrap=True)


def write(text: str) -> None:
    """Write a result that is encoded (JSON, YAML) to stdout as it is, with a line end.

    Also secrets: this is what `volary render` is for.
    """
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(body: object) -> None:
    """Write one object to stdout as a line of JSON and flush, so that a reader sees it now."""
    encoded = msgspec.json.encode(body).decode()
    line = safe_text.escaped(without_secrets(encoded)) + "\n"
    # JSON is UTF-8, whatever the terminal's encoding.
    sys.stdout.buffer.write(line.encode())
    sys.stdout.flush()


def write_text(text: str) -> None:
    """Write words to stdout, with a line end and without what steers a terminal."""
    write(without_secrets(text))


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of words; see `write_text`."""
    for line in lines:
        write_text(line)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def show_problems(target: console.Console, problems: Iterable[errors.Problem]) -> None:
    """Print each problem: what, where, then the hint on a line of its own."""
    for problem in errors.hints_once(problems):
        colour = "red" if problem.severity is errors.Severity.ERROR else "yellow"
        place = f"{markup.escape(str(problem.where))}: " if str(problem.where) else ""
        target.print(f"[{colour}]{problem.severity}:[/] {place}{markup.escape(problem.message)}")
        if problem.hint:
            target.print(f"  hint: {markup.escape(problem.hint)}")
