"""One cluster's API server: a port, its TLS, and the application behind it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from aiohttp import typedefs, web

from kube_sandbox.apiserver import application
from kube_sandbox.apiserver.access import certificates, default_roles, users
from kube_sandbox.apiserver.endpoints import bodies
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.registry.admission import priorities
from kube_sandbox.apiserver.storage import verbs

#: An alias, since a field of `Settings` has the module's name.
_Account = users.Account
#: What a middleware passes a request on to.
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Middleware = Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]

#: Seconds that requests under way get when the server stops; watches end at once.
_GRACE = 2.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a cluster is reached."""

    #: The cluster's name, for messages.
    name: str
    host: str = "127.0.0.1"
    #: 0: any free one.
    port: int = 0
    #: Who is known by a token; what they may do stand in roles and bindings.
    users: tuple[_Account, ...] = ()
    #: Serve TLS with a certificate of the process' own authority (kubectl sends tokens only then).
    tls: bool = True
    #: What stands in front of the application, faults for one; the first sees a request first.
    #: Made with ``aiohttp.web.middleware``.
    middlewares: tuple[Middleware, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """A server that listens; made by `start`."""

    registry: registry.Registry
    #: ``https://127.0.0.1:6443``.
    url: str
    #: The authority's certificate in PEM, for ``certificate-authority-data``; empty without TLS.
    certificate_authority: str
    _application: application.Application
    _runner: web.AppRunner

    async def stop(self) -> None:
        """End all watches and connections and free the port."""
        self._application.end_watches()
        served = self._runner.server
        open_now = [each.transport for each in served.connections] if served is not None else []
        await self._runner.cleanup()
        # TLS would wait for the other side's farewell, perhaps longer than the event loop lives.
        for transport in open_now:
            # TLS of Python before 3.11.4 trips over one that was closed twice.
            with contextlib.suppress(AttributeError):
                if transport is not None:
                    transport.abort()
        await asyncio.sleep(0)


async def start(cluster: registry.Registry, settings: Settings) -> Server:
    """Listen and serve `cluster` until `Server.stop`.

    Raises:
        OSError: The port is taken.
    """
    _complete(cluster)
    answers = application.Application(cluster, settings.users)
    # Made by aiohttp's decorator, they take their arguments by position or by name.
    front = [cast("typedefs.Middleware", each) for each in settings.middlewares]
    app = web.Application(client_max_size=bodies.LIMIT, middlewares=front)
    app.router.add_route("*", "/{path:.*}", answers.handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_GRACE)
    await runner.setup()
    made = context = None
    if settings.tls:
        hosts = tuple(dict.fromkeys((*_LOOPBACK, settings.host)))
        made = certificates.authority(certificates.today(cluster.time.now()), hosts)
        context = certificates.context(made)
    site = web.TCPSite(runner, settings.host, settings.port, ssl_context=context)
    try:
        await site.start()
    except OSError:
        await runner.cleanup()
        raise
    port = runner.addresses[0][1]
    scheme = "https" if made else "http"
    return Server(
        registry=cluster,
        url=f"{scheme}://{settings.host}:{port}",
        certificate_authority=made.certificate if made else "",
        _application=answers,
        _runner=runner,
    )


def _complete(cluster: registry.Registry) -> None:
    """Give the cluster the roles and priorities that every one has."""
    options = verbs.Options(manager="kube-apiserver", agent="kube-apiserver")
    for body in (*default_roles.objects(), *priorities.DEFAULTS):
        kind, name = cluster.kind_of(body), body["metadata"]["name"]
        if cluster.find(kind, "", name) is None:
            cluster.create(kind, "", body, options)
