"""Text from outside, made safe to show: nothing in it steers a terminal or hides. Pure.

Commit messages, answers of clusters and output of programs may hold escape codes, carriage
returns that overwrite a line, and marks that turn the direction of writing. Terminals and
readers of logs would obey them.
"""

import re

#: Control characters but tab and line feed; line and paragraph separators; marks of direction.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
#: Stands for a character that cannot be shown.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """Return the text with each character that steers or hides replaced; lines stay lines."""
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def escaped(text: str) -> str:
    """Return JSON with what steers or hides written as escapes: the same data, safe to show."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str) -> str:
    """Return the text as one line: printable, with spaces in the place of line ends."""
    return " ".join(printable(text).splitlines())
