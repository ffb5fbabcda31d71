"""What every request works with; one per server, in the application's state (`app.state`)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from starlette import requests

from volary.controller.api import service
from volary.gitops import webhooks
from volary.model import clocks, server_settings
from volary.server import metrics, permissions
from volary.server.authentication import logins

#: Told the name of a repository and what a webhook said; returns at once.
RequestRefresh = Callable[[str, webhooks.PushEvent], None]


@dataclass(frozen=True, slots=True)
class StreamTimeouts:
    """How long streams wait; seconds."""

    #: Between two signs of life.
    heartbeat: float = 15.0
    #: A reader that takes nothing for so long is let go.
    slowest_reader: float = 30.0
    #: For it to take the event that says so.
    close_timeout: float = 2.0


@dataclass(slots=True)
class ServerState:
    """What every request works with."""

    service: service.Service
    settings: server_settings.Settings
    authenticator: logins.Authenticator
    clock: clocks.Clock
    metrics: metrics.Metrics
    request_refresh: RequestRefresh
    patience: StreamTimeouts = field(default_factory=StreamTimeouts)
    #: Set when the server stops: streams end then.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    #: Streams that are open now.
    streams: int = 0


def of(request: requests.Request) -> ServerState:
    """Return what a request works with."""
    return cast("ServerState", request.app.state.server_state)


def person(request: requests.Request) -> permissions.Person:
    """Return who was let in."""
    return cast("permissions.Person", request.state.person)
