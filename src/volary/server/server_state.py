"""What every request works with; one per server, in the application's state (`app.state`)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from starlette import requests

from volary.concurrency import single_flight
from volary.controller.api import service
from volary.gitops import webhooks
from volary.model import addresses, clocks, server_settings
from volary.server import metrics, permissions, shared_reads, web_files
from volary.server.authentication import issuer_client, logins
from volary.server.connections import bounds, budgets, request_rates
from volary.store import records

#: Told the name of a repository and what a webhook said; returns at once.
RequestRefresh = Callable[[str, webhooks.PushEvent], None]


ShareTokens = Callable[[], Awaitable[None]]
Answer = TypeVar("Answer")


async def _share_nothing() -> None:
    """Share tokens with nobody."""


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
    bounds: bounds.Bounds
    patience: StreamTimeouts = field(default_factory=StreamTimeouts)
    #: The web UI.
    web: web_files.WebFiles = field(default_factory=web_files.WebFiles)
    #: Has a token that was made or revoked here known to every server.
    share_tokens: ShareTokens = _share_nothing
    #: Set when the server stops: streams end then.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    #: What many ask about the server at a time is looked for once.
    looks: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)
    rates: request_rates.RequestRates = field(init=False)
    #: Asks the issuer about logins in the browser; None: nobody logs in there.
    issuer_login: issuer_client.IssuerClient | None = field(init=False)
    #: What viewers read of the store at a moment.
    reads: shared_reads.SharedReads = field(init=False)
    #: Bytes of bodies that are in memory now.
    bodies: budgets.Budget = field(init=False)
    #: Streams that are open now, by person and by address.
    streams_of_people: budgets.Budget = field(init=False)
    streams: budgets.Budget = field(init=False)

    def __post_init__(self) -> None:
        oidc = self.settings.auth.oidc
        has_client = oidc is not None and bool(oidc.client_id)
        self.issuer_login = issuer_client.IssuerClient(oidc) if oidc and has_client else None
        self.reads = shared_reads.SharedReads(lambda: self.service.kept.count)
        self.rates = request_rates.RequestRates(servers=self.authenticator.servers)
        self.bodies = budgets.Budget(self.bounds.bodies)
        self.streams = budgets.Budget(self.bounds.streams)
        self.streams_of_people = budgets.Budget(self.bounds.streams)

    async def read(self, key: Hashable, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return what `work` reads of the store; in the leader once for all who ask at a moment.

        The leader hears of everything that is stored, so nobody is shown there what was before
        it. Elsewhere somebody may just have been told of a change by another server: each request
        reads for itself.
        """
        if self.service.fleet.register.is_leader:
            return await self.reads.read(key, work)
        return await work()

    def has_cookie(self, request: requests.HTTPConnection) -> bool:
        """Say whether a browser shows that it is logged in; not whether that is so."""
        return bool(self.authenticator.browser_cookies.session.read(request))

    def anonymous_wait(self, request: requests.HTTPConnection) -> float:
        """Count a request without credentials.

        Returns:
            0; or the seconds that its address has to wait, as it sent too many.
        """
        address = logins.address_of(request)
        if self.bounds.is_proxy(address):
            return 0.0
        return self.rates.wait(addresses.holder_of(address), time.monotonic())


def of(request: requests.HTTPConnection) -> ServerState:
    """Return what a request works with."""
    return cast("ServerState", request.app.state.server_state)


def agent(request: requests.HTTPConnection) -> records.AgentRecord:
    """Return the agent that was let in."""
    return cast("records.AgentRecord", request.state.agent)


def person(request: requests.Request) -> permissions.Person:
    """Return who was let in."""
    return cast("permissions.Person", request.state.person)
