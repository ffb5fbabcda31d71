"""What the lines of a log are about: application, run, stage, cluster.

Bound for a block of work, they hold for everything that is said within, also by libraries and in
tasks that are started there.
"""

import contextvars
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

_BOUND: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar(
    "volary_log_fields",
    default=MappingProxyType({}),
)


def current() -> Mapping[str, str]:
    """Return what holds for whoever asks, in the order in which it was bound."""
    return _BOUND.get()


@contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Have lines within the block be about this too; what is empty is left out."""
    added = {name: value for name, value in fields.items() if value}
    token = _BOUND.set(MappingProxyType({**_BOUND.get(), **added}))
    try:
        yield
    finally:
        _BOUND.reset(token)
