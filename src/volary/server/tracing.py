"""Traces of a process, where its settings say so: the server's, an agent's, or a worker's."""

import contextlib
from collections.abc import Iterator

from volary import __version__, secret_files
from volary.model import errors, server_settings
from volary.telemetry import otlp, spans


def sent_to(endpoint: str) -> server_settings.Tracing | None:
    """Return where traces of an agent or a worker are sent; empty: nowhere."""
    return server_settings.Tracing(endpoint) if endpoint else None


@contextlib.contextmanager
def traced(tracing: server_settings.Tracing | None) -> Iterator[None]:
    """Have what is done in the block traced, where anything is said about it.

    Raises:
        errors.UserError: What it takes is not there.
    """
    if tracing is None:
        yield
        return
    if not otlp.IS_INSTALLED:
        hint = "pip install 'volary[otel]'"
        raise errors.user_error("tracing needs packages that are not installed", hint=hint)
    token = secret_files.read_text(tracing.token_file) if tracing.token_file else ""
    collector = otlp.Collector(
        tracing.endpoint,
        {"authorization": f"Bearer {token}"} if token else {},
        tracing.ca_file,
        tracing.sampled,
        {"service.version": __version__},
    )
    with otlp.open_tracer(collector) as tracer, spans.traced(tracer):
        yield
