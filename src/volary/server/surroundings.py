"""What every request works with; one per server, hung on the application's state."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from starlette import requests

from volary.controller import service
from volary.gitops import webhooks
from volary.model import clock as clocks
from volary.model import controller
from volary.server import authentication, census, metrics, permissions

#: Told the name of a repository and what a webhook said; returns at once.
Hasten = Callable[[str, webhooks.Hint], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long streams wait; seconds."""

    #: Between two signs of life.
    heartbeat: float = 15.0
    #: A reader that takes nothing for so long is let go.
    slowest_reader: float = 30.0
    #: For it to take the event that says so.
    farewell: float = 2.0


@dataclass(slots=True)
class Surroundings:
    """What every request works with."""

    service: service.Service
    settings: controller.Settings
    door: authentication.Door
    clock: clocks.Clock
    metrics: metrics.Metrics
    census: census.Census
    hasten: Hasten
    patience: Patience = field(default_factory=Patience)
    #: Set when the server stops: streams end then.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    #: Streams that are open now.
    streams: int = 0


def of(request: requests.Request) -> Surroundings:
    """Return what a request works with."""
    return cast("Surroundings", request.app.state.surroundings)


def person(request: requests.Request) -> permissions.Person:
    """Return who was let in."""
    return cast("permissions.Person", request.state.person)
