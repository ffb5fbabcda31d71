"""What every scenario runs in: an environment, its clean end, Ctrl-C at any moment, and one
release at a time.
"""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from rich import console as rich_console

from kube_sandbox import fleet
from volary.cli import console, exit_codes
from volary.cli.run import local_run, plan_text, summary
from volary.clusters.client import client_pool
from volary.clusters.transport import circuit_breaker, transports
from volary.controller import inputs
from volary.controller.planning import preparation, projects
from volary.demo import snapshots
from volary.engine import executor
from volary.engine.runs import coverage, state
from volary.stages import executor as stage_executor


async def wait_for_interrupt(messages: rich_console.Console) -> None:
    """Wait for Ctrl-C; further ones are answered with words, until the event loop is closed."""
    told = asyncio.Event()

    def interrupted() -> None:
        if told.is_set():
            messages.print("closing …")
        told.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
    await told.wait()


def ignore_interrupts(messages: rich_console.Console) -> None:
    """From now on answer Ctrl-C with words, until the event loop is closed.

    What closes here takes moments; SIGTERM and SIGKILL still end the process.
    """
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, messages.print, "closing …")


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a story without real requests plays."""

    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: client_pool.ClientPool
    #: Of the story's files.
    repository: Path
    users: snapshots.TrafficProbe


EnvironmentT = TypeVar("EnvironmentT")
#: Opens where the story plays, in an empty directory.
OpenEnvironment = Callable[
    [rich_console.Console, Path], contextlib.AbstractAsyncContextManager[EnvironmentT]
]

#: Ten seconds until a cluster that is back is probed again are too long to watch.
_CIRCUIT = circuit_breaker.Rules(lasting=2.0, pause=1.0)


async def play(
    opens: OpenEnvironment[EnvironmentT],
    steps: Callable[[EnvironmentT], Awaitable[bool]],
    closing_lines: Callable[[EnvironmentT], Sequence[str]] | None,
) -> int:
    """Tell a story; 0 when it ended as it has to.

    With `goodbye` the stage stays up until Ctrl-C, after those lines are printed.
    """
    messages = console.results()
    with tempfile.TemporaryDirectory(prefix="volary-demo-") as base:
        async with opens(messages, Path(base)) as environment:
            try:
                right = await steps(environment)
            except asyncio.CancelledError:
                ignore_interrupts(messages)
                return exit_codes.Exit.INTERRUPTED
            if closing_lines is not None:
                messages.print("\nthe clusters stay up until Ctrl-C:")
                for line in closing_lines(environment):
                    messages.print(f"  {line}", markup=False, soft_wrap=True)
                await wait_for_interrupt(messages)
    return exit_codes.Exit.DONE if right else exit_codes.Exit.FAILED


@contextlib.asynccontextmanager
async def open_clients(sandbox: fleet.Fleet) -> AsyncIterator[client_pool.ClientPool]:
    """Open a client for every cluster, by the sandbox's fleet file as anybody else's."""
    members = projects.load_fleet(str(sandbox.path))
    limits = transports.Limits(
        concurrency=client_pool.concurrency(len(members.clusters)), circuit=_CIRCUIT
    )
    async with client_pool.open_pool(members, clock=inputs.SystemClock(), limits=limits) as opened:
        yield opened


def add_image_faults(sandbox: fleet.Fleet, images: Mapping[str, Mapping[str, str]]) -> None:
    """Have images misbehave: pattern to behaviour, per cluster."""
    for cluster, patterns in images.items():
        for pattern, behaviour in patterns.items():
            sandbox.clusters[cluster].faults.images.add(pattern, behaviour)


def manual_commands(sandbox: fleet.Fleet, repository: Path) -> list[str]:
    """Return what a person may type to look around."""
    width = max(map(len, sandbox.clusters))
    return [
        *(
            f"{name:{width}} kubectl --kubeconfig {cluster.kubeconfig_path} get deploy,pods,svc"
            for name, cluster in sandbox.clusters.items()
        ),
        f"git log in {repository}, fleet file {sandbox.path}",
    ]


#: What a demo puts around the executor of its tasks.
ExecutorWrapper = Callable[[executor.StageExecutor], executor.StageExecutor]


def _unwrapped(performer: executor.StageExecutor) -> executor.StageExecutor:
    return performer


async def release(
    console: rich_console.Console,
    clusters: client_pool.ClientPool,
    repository: Path,
    application: str,
    *,
    wrap: ExecutorWrapper = _unwrapped,
    before: state.Run | None = None,
) -> state.Run:
    """Release the head of the demo's repository and return how the run ended.

    `before` is a run that did not reach all clusters; what they run is known from it.
    """
    project = await projects.open_project(str(repository), app=application)
    request = preparation.RunOptions(str(repository))
    if before is not None:
        kept = dict.fromkeys(coverage.clusters_with_release(before), before.commit)
        request = replace(request, remembered=before.running_commit, kept=kept)
    prepared = await preparation.prepare(request, clusters, project)
    plan_text.show(console, prepared)
    console.print()
    view = local_run.choose_view(console, as_json=False)
    options = stage_executor.Options(image_grace=timedelta(seconds=4))
    ended = await local_run.carry_out_in_memory(
        prepared, clusters, view, console, options=options, wrap=wrap
    )
    summary.show(console, ended, view.shown)
    return ended
