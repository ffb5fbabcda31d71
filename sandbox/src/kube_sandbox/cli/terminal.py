"""What a terminal gets: exit codes, and text that cannot steer it."""

import re

DONE = 0
FAILED = 1
#: Something was asked for that cannot be had.
USAGE = 2
#: Ended by Ctrl-C, as shells report it.
INTERRUPTED = 130

#: Control characters but tab and line feed; line and paragraph separators; marks of direction.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def printable(text: str) -> str:
    """Return the text with each character that steers a terminal replaced; lines stay lines."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
