"""What every scenario runs in: an environment, its clean end, Ctrl-C at any moment, and one
release at a time.
"""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar

from rich import console as rich_console

from kube_sandbox import fleet
from volary.cli import console, exit_codes
from volary.cli.run import local_run, plan_text, summary, views
from volary.clusters.client import client_pool
from volary.clusters.transport import circuit_breaker, transports
from volary.controller import local_runs, system_clock
from volary.controller.planning import opened_applications, preparation
from volary.controller.runs import ready_runs, release_plans
from volary.demo import definitions, git_repository, snapshots
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.stages.runtime import contexts
from volary.store import stores

#: Ten seconds until a cluster that is back is probed again are too long to watch.
_CIRCUIT = circuit_breaker.Rules(lasting=2.0, pause=1.0)
_IMAGE_GRACE = timedelta(seconds=4)


class Environment(Protocol):
    """Where a scenario plays."""

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        ...


EnvironmentT = TypeVar("EnvironmentT", bound=Environment)
#: Opens the environment of a scenario in an empty directory.
OpenEnvironment = Callable[
    [rich_console.Console, Path], contextlib.AbstractAsyncContextManager[EnvironmentT]
]
#: What goes on beside while a scenario stays up, in a directory of its own; says what to open.
GoesOn = Callable[[EnvironmentT, Path], contextlib.AbstractAsyncContextManager[list[str]]]


async def play(
    opens: OpenEnvironment[EnvironmentT],
    steps: Callable[[EnvironmentT], Awaitable[bool]],
    *,
    keep: bool,
    goes_on: GoesOn[EnvironmentT] | None = None,
) -> int:
    """Play a scenario; 0 when it ended as expected.

    With `keep` it stays up until Ctrl-C, and `goes_on` as long as it does.
    """
    messages = console.results()
    with tempfile.TemporaryDirectory(prefix="volary-demo-") as base:
        async with opens(messages, Path(base)) as environment:
            try:
                is_as_expected = await steps(environment)
            except asyncio.CancelledError:
                _ignore_interrupts(messages)
                return exit_codes.Exit.INTERRUPTED
            if keep:
                await _stay_up(messages, environment, Path(base), goes_on)
    return exit_codes.Exit.DONE if is_as_expected else exit_codes.Exit.FAILED


async def _stay_up(
    messages: rich_console.Console,
    environment: EnvironmentT,
    base: Path,
    goes_on: GoesOn[EnvironmentT] | None,
) -> None:
    """Say what may be looked at, until Ctrl-C."""
    async with contextlib.AsyncExitStack() as stack:
        pages: list[str] = []
        try:
            if goes_on is not None:
                pages = await stack.enter_async_context(goes_on(environment, base))
        except asyncio.CancelledError:
            _ignore_interrupts(messages)
            return
        messages.print("\nthe clusters stay up until Ctrl-C:")
        for line in (*pages, *environment.manual_commands()):
            messages.print(f"  {line}", markup=False, soft_wrap=True)
        await _wait_for_interrupt(messages)


async def _wait_for_interrupt(messages: rich_console.Console) -> None:
    """Wait for Ctrl-C; further ones are answered with words, until the event loop is closed."""
    interrupted = asyncio.Event()

    def interrupt() -> None:
        if interrupted.is_set():
            messages.print("closing …")
        interrupted.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    await interrupted.wait()


def _ignore_interrupts(messages: rich_console.Console) -> None:
    """From now on answer Ctrl-C with words, until the event loop is closed.

    What closes here takes moments; SIGTERM and SIGKILL still end the process.
    """
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, messages.print, "closing …")


def add_image_faults(sandbox: fleet.Fleet, images: Mapping[str, Mapping[str, str]]) -> None:
    """Have images misbehave: pattern to behaviour, per cluster."""
    for cluster, patterns in images.items():
        for pattern, behaviour in patterns.items():
            sandbox.clusters[cluster].faults.images.add(pattern, behaviour)


def manual_commands(sandbox: fleet.Fleet, *repositories: git_repository.Repository) -> list[str]:
    """Return what a person may type to look at clusters and commits."""
    width = max(map(len, sandbox.clusters))
    return [
        *(
            f"{name:{width}} kubectl --kubeconfig {cluster.kubeconfig_path} get deploy,pods,svc"
            for name, cluster in sandbox.clusters.items()
        ),
        *(f"git log in {repository.path}" for repository in repositories),
        f"fleet file {sandbox.path}",
    ]


@dataclass(frozen=True, slots=True)
class ReleaseEnvironment:
    """Where a scenario plays that releases as `volary run` does."""

    console: rich_console.Console
    sandbox: fleet.Fleet
    scenario: definitions.Scenario
    repository: git_repository.ExampleRepository
    probe: snapshots.TrafficProbe
    dependencies: ready_runs.Dependencies
    #: The clients of the clusters.
    clusters: client_pool.ClientPool
    store: stores.Store

    async def release(self, *observers: feed.Observer) -> state.Run:
        """Release the head of the repository and return how the run ended."""
        opened = await opened_applications.open_application(
            str(self.repository.path), app=self.scenario.service
        )
        key = local_runs.key_of(opened, self.clusters.fleet)
        view = views.choose(self.console)
        async with local_runs.hold(
            self.store, key.name, self.dependencies, self.clusters
        ) as application:
            request = release_plans.remembering(
                preparation.RunOptions(str(self.repository.path)), application.status
            )
            prepared = await preparation.prepare(request, self.clusters, opened)
            plan_text.show(self.console, prepared)
            self.console.print()
            session = await application.begin(prepared, (), "demo", (view, *observers))
            ended = await local_run.carry_out(application, session, view, self.console)
        summary.show(self.console, ended)
        return ended

    def show(self, title: str) -> None:
        """Print what runs in every cluster, and which pods users' requests go to."""
        snapshots.show(self.console, title, self.probe)

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look at clusters and commits."""
        return manual_commands(self.sandbox, self.repository)


@contextlib.asynccontextmanager
async def open_sandbox(
    scenario: definitions.Scenario,
    names: Sequence[str],
    settings: fleet.Settings,
    console: rich_console.Console,
    base: Path,
) -> AsyncIterator[ReleaseEnvironment]:
    """Start the clusters of a scenario, and open what its releases work with."""
    async with (
        fleet.start(names, directory=base / "fleet", settings=settings) as sandbox,
        open_releases(console, base, sandbox, scenario) as environment,
    ):
        add_image_faults(sandbox, scenario.broken_images)
        yield environment


@contextlib.asynccontextmanager
async def open_releases(
    console: rich_console.Console, base: Path, sandbox: fleet.Fleet, scenario: definitions.Scenario
) -> AsyncIterator[ReleaseEnvironment]:
    """Open clients by the sandbox's fleet file, as anybody's, and a store in memory."""
    members, clock = opened_applications.load_fleet(str(sandbox.path)), system_clock.SystemClock()
    limits = transports.Limits(
        concurrency=client_pool.concurrency(len(members.clusters)), circuit=_CIRCUIT
    )
    async with (
        client_pool.open_pool(members, clock=clock, limits=limits) as clusters,
        local_run.open_dependencies(
            clusters, contexts.Options(image_grace=_IMAGE_GRACE)
        ) as dependencies,
        local_runs.open_store(local_runs.IN_MEMORY, clock) as store,
    ):
        repository = git_repository.ExampleRepository(base / "git", scenario)
        probe = snapshots.TrafficProbe(scenario.address, sandbox.clusters)
        yield ReleaseEnvironment(
            console, sandbox, scenario, repository, probe, dependencies, clusters, store
        )
