"""Spans: how long a piece of work took, what it was about, and what it was part of.

Where nobody traces, a span costs a look at a variable. The trace of a run follows from the run's
id, so what several processes do for it, before and after a restart, is one trace.
"""

import contextvars
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

#: What a span says of itself: never what somebody wrote, which may hold a secret.
Attributes = Mapping[str, str | int]


class Kind(Enum):
    """On which side of a request a span is."""

    INTERNAL = "internal"
    #: Answers a request.
    SERVER = "server"
    #: Sends one.
    CLIENT = "client"


class Span(Protocol):
    """A piece of work under way."""

    def describe(self, attributes: Attributes) -> None:
        """Say more of it."""
        ...

    def rename(self, name: str) -> None:
        """Call it otherwise, as more is known of it now."""
        ...

    def fail(self, why: str) -> None:
        """Say that it went wrong; `why` is a word or a type, not a sentence."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a trace that is known beforehand, by what it stands for."""

    #: What the trace is of, such as the id of a run.
    trace: str
    #: From the outermost inwards: what the span is of. Empty: the trace's root.
    path: tuple[str, ...] = ()

    @property
    def parent(self) -> "Place | None":
        """The place around it; None: it is the root."""
        return Place(self.trace, self.path[:-1]) if self.path else None


@dataclass(frozen=True, slots=True)
class FinishedSpan:
    """A span that is told after it has ended, by who knows of it only then."""

    name: str
    place: Place
    began: datetime
    ended: datetime
    attributes: Attributes = field(default_factory=dict)
    #: A word for what went wrong; empty: nothing did.
    failure: str = ""


class Tracer(Protocol):
    """Takes spans."""

    def span(
        self, name: str, kind: Kind, attributes: Attributes, within: Place | None
    ) -> AbstractContextManager[Span]:
        """Begin a span within a place, or within what the caller is doing; it ends with the block.

        What is raised in the block fails it.
        """
        ...

    def tell(self, finished: FinishedSpan) -> None:
        """Take a span that has ended."""
        ...


class _NoSpan:
    """Says nothing."""

    def describe(self, attributes: Attributes) -> None: ...

    def rename(self, name: str) -> None: ...

    def fail(self, why: str) -> None: ...


_NO_SPAN = _NoSpan()
_TRACER: contextvars.ContextVar[Tracer | None] = contextvars.ContextVar(
    "volary_tracer", default=None
)


@contextmanager
def traced(tracer: Tracer | None) -> Iterator[None]:
    """Have everything within the block, and tasks that are started there, be traced."""
    token = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(token)


@contextmanager
def span(
    name: str,
    attributes: Attributes | None = None,
    *,
    kind: Kind = Kind.INTERNAL,
    within: Place | None = None,
) -> Iterator[Span]:
    """Trace the block, where anybody traces.

    Args:
        name: Few different ones: no ids.
        attributes: What it is about.
        kind: On which side of a request it is.
        within: What it is part of; None: of what the caller is doing.
    """
    tracer = _TRACER.get()
    if tracer is None:
        yield _NO_SPAN
        return
    with tracer.span(name, kind, attributes or {}, within) as made:
        yield made


def tell(finished: FinishedSpan) -> None:
    """Tell of a span that has ended, where anybody traces."""
    tracer = _TRACER.get()
    if tracer is not None:
        tracer.tell(finished)
