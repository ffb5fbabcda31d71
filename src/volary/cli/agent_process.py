"""``volary agent``: the process beside a cluster."""

import asyncio
import contextlib
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from volary.agents import agent, policy_file
from volary.cli import exit_codes, forms, log_output, server_process
from volary.clusters.kubeconfig import connections, kubeconfigs
from volary.controller import system_clock
from volary.controller.persistence import redaction
from volary.model import errors
from volary.model.fleet import fleets
from volary.server import tracing
from volary.server.connections import descriptors

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    cluster: str
    server: str
    token_file: str
    policy: str
    kubeconfig: str = ""
    context: str = ""
    ca_file: str = ""
    #: Without them it takes no tasks.
    private_key: str = ""
    signing_key: str = ""
    temporal: Mapping[str, str | bool] = field(default_factory=dict)
    #: Where traces are sent; empty: nowhere.
    tracing_endpoint: str = ""


async def run(options: Options, *, log_format: forms.LinesForm = "text") -> int:
    """Run the agent until SIGINT or SIGTERM."""
    handler = log_output.LimitedHandler(sys.stderr)
    made = server_process.JsonFormatter if log_format == "json" else server_process.Formatter
    handler.setFormatter(made("%(asctime)s %(levelname)s %(message)s", redaction.SecretValues()))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    descriptors.raise_limit()
    server = options.server.rstrip("/")
    agent.check_address(server)
    settings = agent.AgentSettings(
        options.cluster,
        server,
        options.token_file,
        options.policy,
        _connection(options),
        options.ca_file,
    )
    made_agent = agent.Agent(
        settings,
        clock=system_clock.SystemClock(),
        policy=policy_file.PolicyFile(options.policy),
        parts=_parts(options),
    )
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    assert working is not None
    for caught in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(caught, working.cancel)
    with (
        handler.keep_telling(),
        tracing.traced(tracing.sent_to(options.tracing_endpoint)),
        contextlib.suppress(asyncio.CancelledError),
    ):
        await made_agent.run()
    return exit_codes.Exit.DONE


def _parts(options: Options) -> tuple[agent.Part, ...]:
    """Return what goes on beside the tunnels.

    Raises:
        errors.UserError: One of the keys is missing, or cannot be used.
    """
    if not (options.private_key or options.signing_key):
        return ()
    if not (options.private_key and options.signing_key):
        raise errors.user_error("--private-key and --signing-key belong together")
    if importlib.util.find_spec("temporalio") is None:
        _LOG.warning("no tasks: the package temporalio is not installed (volary[temporal])")
        return ()
    # Here alone: an agent that is only read through does without it.
    from volary.cli import agent_tasks, temporal_files

    files = temporal_files.TemporalFiles(**options.temporal)  # type: ignore[arg-type]
    tasks = agent_tasks.AgentTasks(
        _member(options), options.private_key, options.signing_key, files
    )
    tasks.check()
    return (tasks.take,)


def _connection(options: Options) -> connections.Connection:
    """Return how the agent reaches its own cluster: as a pod there, unless a file is named.

    Raises:
        errors.UserError: It cannot be read, or this is no pod.
    """
    if options.context and not options.kubeconfig:
        raise errors.user_error("--context belongs to --kubeconfig", hint="name the file, too")
    return kubeconfigs.load(_member(options), environment=os.environ)


def _member(options: Options) -> fleets.Cluster:
    return fleets.Cluster(
        options.cluster,
        kubeconfig=(options.kubeconfig,) if options.kubeconfig else (),
        context=options.context,
        in_cluster=not options.kubeconfig,
    )
