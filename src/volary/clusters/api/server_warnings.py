"""What API servers say besides their answers: ``Warning`` headers, as kubectl shows them.

A deprecated version, a field that has no effect, a policy that only warns. Whoever carries
something out says who is told, for all requests of the block and of the tasks begun in it.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar

#: ``299 - "text"``, several in one header parted by commas (RFC 7234, section 5.5).
_WARNING = re.compile(r'\b\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_LONGEST = 400

Tell = Callable[[str], None]
_TELL: ContextVar[Tell | None] = ContextVar("tell of server warnings", default=None)


@contextlib.contextmanager
def told_to(tell: Tell) -> Iterator[None]:
    """Tell what servers warn of about the writes that are sent in the block."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def hear(headers: Iterable[str]) -> None:
    """Tell of each warning in these headers, if anybody wants to know."""
    tell = _TELL.get()
    if tell is not None:
        for text in texts(headers):
            tell(text)


def texts(headers: Iterable[str]) -> list[str]:
    """Return what ``Warning`` headers say."""
    return [
        _ESCAPED.sub(r"\1", match[1])[:_LONGEST]
        for header in headers
        for match in _WARNING.finditer(header)
    ]
