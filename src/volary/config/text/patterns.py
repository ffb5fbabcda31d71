"""Regular expressions of users: RE2's, as PipeCD and Flagger, written in Go, read them.

An expression takes time that grows with its text and no faster, whatever it says: there is
nothing to be looked for again (no backreferences, no lookaround). So nobody's expression can
hold up the process that others share.
"""

import functools
import re

import re2

#: Bytes that an expression may take once it is read, and as many again while it is used.
_MEMORY = 1 << 20
#: Characters of an expression.
LONGEST = 2000
_SURROGATES = re.compile("[\ud800-\udfff]")


class PatternError(ValueError):
    """The text is no expression; says why for the person who wrote it."""


def search(pattern: str, text: str) -> bool:
    """Say whether an expression matches anywhere in a text.

    Raises:
        PatternError: It is none.
    """
    return compile_pattern(pattern).search(_encodable(text)) is not None


def fullmatch(pattern: str, text: str) -> bool:
    """Say whether an expression matches all of a text; ``.`` is any character.

    Raises:
        PatternError: It is none.
    """
    return compile_pattern(pattern, any_character=True).fullmatch(_encodable(text)) is not None


@functools.lru_cache(maxsize=2048)
def compile_pattern(pattern: str, *, any_character: bool = False) -> "re2._Regexp":
    """Read an expression; with `any_character`, ``.`` is a line break too.

    Raises:
        PatternError: It is none.
    """
    if len(pattern) > LONGEST:
        raise PatternError(f"it is longer than {LONGEST} characters")
    options = re2.Options()
    options.log_errors, options.max_mem, options.dot_nl = False, _MEMORY, any_character
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(said or "it cannot be read") from error


def _encodable(text: str) -> str:
    """Names of files need not be UTF-8: what is not is an unknown character, as in Go."""
    return _SURROGATES.sub("\ufffd", text)
