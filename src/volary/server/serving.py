"""Serves the application on a socket until it is cancelled, and stops gracefully."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator

import fastapi
import uvicorn

from volary.model import errors, server_settings
from volary.server import server_state

_LOG = logging.getLogger(__name__)
#: Seconds for requests under way when it stops.
_GRACE = 5
_BACKLOG = 512
_CONNECTIONS = 2000


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs the event loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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
    listening: socket.socket,
    *,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until cancelled; then let requests under way finish, and end the streams.

    Args:
        application: From `app.build`.
        settings: TLS files.
        listening: From `bound`.
        ready: Told the URL once connections are taken.

    Raises:
        errors.UserError: The TLS files cannot be used.
    """
    server = _Server(_config(application, settings))
    here: server_state.ServerState = application.state.server_state
    async with asyncio.TaskGroup() as group:
        # In a group of its own, so that being cancelled does not break off what it does.
        serving = group.create_task(server.serve(sockets=[listening]), name="http")
        authenticating = group.create_task(here.authenticator.run(), name="authentication")
        try:
            # The library has no event to wait for.
            while not server.started and not serving.done():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            ready(_url(settings, listening))
            await asyncio.wait([serving])
        finally:
            here.stopping.set()
            server.should_exit = True
            await asyncio.wait([serving], timeout=_GRACE + 2)
            authenticating.cancel()


def _config(application: fastapi.FastAPI, settings: server_settings.Settings) -> uvicorn.Config:
    tls = settings.tls
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=64 * 1024,
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


def _url(settings: server_settings.Settings, listening: socket.socket) -> str:
    scheme = "https" if settings.tls else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{listening.getsockname()[1]}"
