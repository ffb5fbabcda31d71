"""The tasks of an agent: what of ``volary agent`` carries out what the controller orders."""

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from volary import secret_files
from volary.agents import agent, hellos
from volary.agents.orders import keys
from volary.agents.tasks import bundled_runs, permissions, server_services, task_loop
from volary.cli import temporal_files
from volary.clusters.client import client_pool, write_rules
from volary.controller import system_clock
from volary.engine.temporal import connections
from volary.model import errors
from volary.model.fleet import fleets

_LOG = logging.getLogger(__name__)
#: Seconds between two looks whether a server says by now where tasks come from.
_AGAIN = 15.0


@dataclass(frozen=True, slots=True)
class AgentTasks:
    """Takes tasks of the agent's cluster; `take` is a part of the agent."""

    #: As this process reaches it.
    cluster: fleets.Cluster
    private_key_file: str
    signing_key_file: str
    temporal: temporal_files.TemporalFiles = field(default_factory=temporal_files.TemporalFiles)

    def check(self) -> None:
        """See that the keys can be used.

        Raises:
            errors.UserError: One cannot be read, or is none.
        """
        self._opened_with()
        self._signed_by()

    async def take(self, process: agent.Agent) -> None:
        """Take tasks until cancelled.

        Raises:
            errors.UserError: A file cannot be read, or Temporal would be reached without TLS.
        """
        told = await _told(process)
        connection = connections.of_settings(
            temporal_files.settings(told, self.temporal),
            connections.identity_of(f"agent {self.cluster.name}"),
        )
        members = fleets.Fleet((self.cluster,))
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=process.ssl), trust_env=True
            ) as session,
            client_pool.open_pool(
                members, clock=process.clock, rule=write_rules.refuse_own_writes
            ) as clusters,
        ):
            services = server_services.ServerServices(
                session, process.token, lambda: process.servers
            )
            runs = bundled_runs.BundledRuns(
                bundled_runs.Identity((self.cluster.name,), [self._signed_by()], self._opened_with),
                services,
                clusters,
                permissions.ByPolicy(process.policy.current),
                process.clock,
            )
            queues = task_loop.Queues(told.queue_prefix, (self.cluster.name,))
            await task_loop.keep_taking(
                connection, queues, runs, system_clock.elapsed, services.until_unknown
            )

    def _opened_with(self) -> list[keys.OpeningKey]:
        try:
            return [keys.read_opening(secret_files.read_text(self.private_key_file).encode())]
        except keys.NoKeyError as error:
            raise errors.user_error(f"{self.private_key_file} cannot be used: {error}") from None

    def _signed_by(self) -> keys.VerifyingKey:
        try:
            return keys.read_verifying(Path(self.signing_key_file).read_text().strip())
        except (OSError, UnicodeDecodeError, keys.NoKeyError) as error:
            raise errors.user_error(
                f"{self.signing_key_file} cannot be used: {error}",
                hint="volary cluster join prints the controller's public key",
            ) from None


async def _told(process: agent.Agent) -> hellos.Temporal:
    """Return where tasks come from, once a server says so."""
    said = False
    while True:
        if process.welcome is not None and process.welcome.temporal is not None:
            return process.welcome.temporal
        if not said:
            said = True
            _LOG.warning("no tasks: the server has no engine.temporal, and carries them out itself")
        await asyncio.sleep(_AGAIN)
