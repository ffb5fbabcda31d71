"""One cluster's API server: a port, its TLS, and the application behind it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from volary.sandbox import registry
from volary.sandbox.http import users

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Middleware = Callable[[web.Request, _Handler], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a cluster is reached."""

    #: The cluster's name, for messages.
    name: str
    host: str = "127.0.0.1"
    #: 0: any free one.
    port: int = 0
    #: Who may do what; by token.
    users: tuple[users.User, ...] = ()
    #: Serve TLS with a certificate of the process' own authority (kubectl sends tokens only then).
    tls: bool = True
    #: Run before everything else, authentication included: `fault_middleware` is one.
    middlewares: tuple[Middleware, ...] = ()


class Server:
    """A server that listens; made by `start`."""

    #: ``https://127.0.0.1:6443``.
    url: str
    #: The authority's certificate in PEM, for ``certificate-authority-data``; empty without TLS.
    certificate_authority: str
    registry: registry.Registry

    async def stop(self) -> None:
        """End all watches and connections and free the port."""
        raise NotImplementedError


async def start(cluster: registry.Registry, settings: Settings) -> Server:
    """Listen and serve `cluster` until `Server.stop`.

    Raises:
        OSError: The port is taken.
    """
    raise NotImplementedError
