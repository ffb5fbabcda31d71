"""Sends spans to a collector of OpenTelemetry, by OTLP over HTTP. Needs the extra ``otel``.

Sending is a thread's, in batches; a collector that is slow or away costs spans, which are counted
in the SDK's log, and never time of the work. Ids of what is known beforehand follow from names:
https://opentelemetry.io/docs/specs/otel/trace/sdk/#id-generators
"""

import contextvars
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from volary.telemetry import spans

if TYPE_CHECKING:
    from opentelemetry import context, trace
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.trace import id_generator

#: Whether the extra is installed.
IS_INSTALLED = importlib.util.find_spec("opentelemetry") is not None

_TRACE_BYTES, _SPAN_BYTES = 16, 8
#: Where the next span is; None: its ids are random.
_NEXT: contextvars.ContextVar[spans.Place | None] = contextvars.ContextVar(
    "volary_next_span", default=None
)


@dataclass(frozen=True, slots=True)
class Collector:
    """Where spans are sent, and how many."""

    #: Base address; ``/v1/traces`` is added.
    endpoint: str
    #: Sent with each batch; may hold a secret.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: A file with the authorities that are trusted; empty: the system's.
    authorities: str = ""
    #: Of 100 traces.
    sampled: int = 100
    #: What the process is, as ``service.version`` and the like.
    resource: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def open_tracer(collector: Collector) -> Iterator["OtlpTracer"]:
    """Return a tracer that sends to a collector; what is left is sent at the end."""
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk import resources
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.trace import export, sampling

    provider = sdk.TracerProvider(
        resource=resources.Resource.create({"service.name": "volary", **collector.resource}),
        # By the trace's id alone: every process decides the same about a run.
        sampler=sampling.TraceIdRatioBased(collector.sampled / 100),
        id_generator=_make_id_generator(),
        shutdown_on_exit=False,
    )
    exporter = trace_exporter.OTLPSpanExporter(
        endpoint=f"{collector.endpoint.rstrip('/')}/v1/traces",
        headers=dict(collector.headers),
        certificate_file=collector.authorities or None,
        timeout=5,
    )
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    try:
        yield OtlpTracer(provider)
    finally:
        provider.shutdown()


class OtlpTracer:
    """A `spans.Tracer` over the SDK of OpenTelemetry."""

    def __init__(self, provider: "sdk.TracerProvider") -> None:
        self._tracer = provider.get_tracer("volary")

    @contextmanager
    def span(
        self, name: str, kind: spans.Kind, attributes: spans.Attributes, within: spans.Place | None
    ) -> Iterator[spans.Span]:
        """Begin a span, see `spans.Tracer`."""
        from opentelemetry import trace

        context = None if within is None else _context(within)
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=trace.SpanKind[kind.name],
            attributes=dict(attributes),
            # Messages of errors may hold what people wrote.
            record_exception=False,
            set_status_on_exception=False,
        ) as made:
            said = _OtlpSpan(made)
            try:
                yield said
            except BaseException as error:
                said.fail(type(error).__name__)
                raise

    def tell(self, finished: spans.FinishedSpan) -> None:
        """Take a span that has ended, under the id of its place."""
        parent = finished.place.parent
        token = _NEXT.set(finished.place)
        try:
            made = self._tracer.start_span(
                finished.name,
                context=_context(parent),
                attributes=dict(finished.attributes),
                start_time=_nanoseconds(finished.began),
            )
        finally:
            _NEXT.reset(token)
        if finished.failure:
            _OtlpSpan(made).fail(finished.failure)
        made.end(_nanoseconds(finished.ended))


@dataclass(frozen=True, slots=True)
class _OtlpSpan:
    inner: "trace.Span"

    def describe(self, attributes: spans.Attributes) -> None:
        self.inner.set_attributes(dict(attributes))

    def rename(self, name: str) -> None:
        self.inner.update_name(name)

    def fail(self, why: str) -> None:
        from opentelemetry import trace

        self.inner.set_attribute("error.type", why)
        self.inner.set_status(trace.Status(trace.StatusCode.ERROR))


def _context(place: spans.Place | None) -> "context.Context":
    """Return what a span within a place begins with; None: it is the root of its trace."""
    from opentelemetry import context, trace

    if place is None:
        return context.Context()
    known = trace.SpanContext(
        _trace_id(place),
        _span_id(place),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(known), context.Context())


def _make_id_generator() -> "id_generator.IdGenerator":
    from opentelemetry.sdk.trace import id_generator

    class PlacedIds(id_generator.RandomIdGenerator):
        """Ids of places that are known beforehand, else random ones."""

        def generate_trace_id(self) -> int:
            place = _NEXT.get()
            return super().generate_trace_id() if place is None else _trace_id(place)

        def generate_span_id(self) -> int:
            place = _NEXT.get()
            return super().generate_span_id() if place is None else _span_id(place)

    return PlacedIds()


def _trace_id(place: spans.Place) -> int:
    return _number(_TRACE_BYTES, place.trace)


def _span_id(place: spans.Place) -> int:
    return _number(_SPAN_BYTES, place.trace, *place.path)


def _number(size: int, *names: str) -> int:
    """Return a number of so many bytes that follows from names; never 0, which stands for none."""
    text = "\0".join(names).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=size, person=b"volary").digest()) or 1


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
