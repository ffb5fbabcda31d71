"""``volary worker``: carries out tasks on clusters whose credentials are in a fleet file here."""

import logging
import sys
from dataclasses import replace

import aiohttp

from volary.agents import hellos
from volary.agents.orders import keys
from volary.agents.tasks import (
    bundled_runs,
    permissions,
    server_services,
    task_loop,
    worker_identities,
)
from volary.cli import console, exit_codes, log_output, server_process, temporal_files
from volary.clusters.client import client_pool, write_rules
from volary.controller import system_clock
from volary.controller.persistence import redaction
from volary.controller.planning import opened_applications
from volary.engine.temporal import connections
from volary.model import errors
from volary.model.fleet import fleets
from volary.server import tracing


async def work(
    identity_file: str,
    fleet_file: str,
    files: temporal_files.TemporalFiles,
    tracing_endpoint: str = "",
) -> int:
    """Take tasks until SIGINT or SIGTERM.

    Raises:
        errors.UserError: A file cannot be read, or does not fit to the others.
    """
    secrets = redaction.SecretValues()
    known = worker_identities.IdentityFile(identity_file, secrets.learn)
    identity = known.current
    members = _members(identity, opened_applications.load_fleet(fleet_file))
    handler = log_output.LimitedHandler(sys.stderr)
    handler.setFormatter(server_process.Formatter("%(asctime)s %(levelname)s %(message)s", secrets))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    connection = connections.of_settings(
        temporal_files.settings(identity.temporal, files),
        connections.identity_of(hellos.worker_role(identity.name)),
    )
    console.tell(f"worker {identity.name}: takes tasks of {', '.join(identity.clusters)}")
    with handler.keep_telling(), tracing.traced(tracing.sent_to(tracing_endpoint)):
        await server_process.until_signalled(_take(known, members, connection))
    return exit_codes.Exit.DONE


async def _take(
    known: worker_identities.IdentityFile,
    members: fleets.Fleet,
    connection: connections.Connection,
) -> None:
    identity = known.current
    clock = system_clock.SystemClock()
    async with (
        aiohttp.ClientSession(trust_env=True) as session,
        client_pool.open_pool(members, clock=clock, rule=write_rules.refuse_own_writes) as clusters,
    ):
        services = server_services.ServerServices(
            session, lambda: known.current.token, lambda: known.current.servers
        )
        runs = bundled_runs.BundledRuns(
            bundled_runs.Identity(
                identity.clusters,
                [keys.read_verifying(identity.signing_key)],
                known.opened_with,
            ),
            services,
            clusters,
            permissions.PermitAll(),
            clock,
        )
        queues = task_loop.Queues(identity.temporal.queue_prefix, identity.clusters)
        await task_loop.keep_taking(
            connection, queues, runs, system_clock.elapsed, services.until_unknown
        )


def _members(identity: worker_identities.WorkerIdentity, known: fleets.Fleet) -> fleets.Fleet:
    """Return the worker's clusters, as the fleet file describes them.

    Raises:
        errors.UserError: One is not there, or is reached through an agent.
    """
    by_name = {cluster.name: cluster for cluster in known.clusters}
    missing = [name for name in identity.clusters if name not in by_name]
    if missing:
        raise errors.user_error(
            f"the fleet file has no cluster {missing[0]}",
            hint=f"worker {identity.name} is for {', '.join(identity.clusters)}",
        )
    chosen = tuple(by_name[name] for name in identity.clusters)
    through_agents = [cluster.name for cluster in chosen if cluster.agent]
    if through_agents:
        raise errors.user_error(
            f"the fleet file says that {through_agents[0]} is reached through its agent",
            hint="a worker needs credentials: write kubeconfig there, in a fleet file of its own",
        )
    return replace(known, clusters=chosen)
