"""Serves the application on a socket until it is cancelled, and stops gracefully."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator

import fastapi
import uvicorn

from volary.agents.tunnel import frames
from volary.model import errors, server_settings
from volary.server import server_state
from volary.server.connections import bounds, listening

_LOG = logging.getLogger(__name__)
#: Seconds for requests under way when it stops.
_GRACE = 5
_BACKLOG = 512
#: Bytes of a head.
_LARGEST_HEAD = 32 * 1024


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Open the socket to listen on; port 0 takes a free one.

    Raises:
        errors.UserError: It cannot be opened.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.create_server(address, family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise errors.user_error(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', '') or error}",
            hint="stop what listens there, or choose another address in listen",
        ) from error
    with contextlib.closing(opened):
        yield opened


async def serve(
    application: fastapi.FastAPI,
    settings: server_settings.Settings,
    taken: socket.socket,
    *,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until cancelled; then let requests under way finish, and end the streams.

    Args:
        application: From `app.build`.
        settings: TLS files.
        taken: From `bound`.
        ready: Told the URL once connections are taken.

    Raises:
        errors.UserError: The TLS files cannot be used.
    """
    here: server_state.ServerState = application.state.server_state
    config = _config(application, settings, here.bounds.seconds)
    _tell_bounds(settings.limits, here.bounds)
    async with asyncio.TaskGroup() as group:
        listener = listening.Listener(taken, config, here.bounds, here.metrics, group)
        listener.open()
        watching = group.create_task(listener.watch(), name="connections")
        authenticating = group.create_task(here.authenticator.run(), name="authentication")
        try:
            ready(_url(settings, taken))
            await watching
        finally:
            here.stopping.set()
            await listener.close(_GRACE)
            watching.cancel()
            authenticating.cancel()


def _tell_bounds(limits: server_settings.Limits, derived: bounds.Bounds) -> None:
    if derived.connections < limits.connections:
        _LOG.warning(
            "at most %d connections at once are taken, not %d: this process may have only a few "
            "file descriptors open (raise LimitNOFILE or ulimit -n)",
            derived.connections,
            limits.connections,
        )


def _config(
    application: fastapi.FastAPI, settings: server_settings.Settings, seconds: bounds.Seconds
) -> uvicorn.Config:
    tls = settings.tls
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="wsproto",
        ws_max_size=frames.LARGEST,
        ws_ping_interval=None,  # tunnels ask by themselves, on both sides
        ws_per_message_deflate=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(seconds.idle),
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    try:
        config.load()
    except (OSError, ValueError) as error:
        raise errors.user_error(
            "the certificate or the key of tls cannot be used",
            hint="both are PEM files, and belong together",
        ) from error
    return config


def _url(settings: server_settings.Settings, taken: socket.socket) -> str:
    scheme = "https" if settings.tls else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{taken.getsockname()[1]}"
