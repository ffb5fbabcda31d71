"""What all demos have around their story: a place to play, an end, and Ctrl-C at any moment."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich import console as rich_console

from kube_sandbox import fleet
from volary.cli import closing, console, exits, snapshots
from volary.clusters import breaker, pool, transport
from volary.controller import projects, system_clock


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a story without real requests plays."""

    console: rich_console.Console
    sandbox: fleet.Fleet
    clusters: pool.Pool
    #: Of the story's files.
    repository: Path
    users: snapshots.Users


Stage = TypeVar("Stage")
#: Opens where the story plays, in an empty directory.
Opens = Callable[[rich_console.Console, Path], contextlib.AbstractAsyncContextManager[Stage]]

#: Nobody wants to watch ten seconds pass until a cluster that is back is asked again.
_CIRCUIT = breaker.Rules(lasting=2.0, pause=1.0)


async def give(
    opens: Opens[Stage],
    tell: Callable[[Stage], Awaitable[bool]],
    goodbye: Callable[[Stage], Sequence[str]] | None,
) -> int:
    """Tell a story; 0 when it ended as it has to.

    With `goodbye` the stage stays up until Ctrl-C, after those lines are printed.
    """
    talk = console.data()
    with tempfile.TemporaryDirectory(prefix="volary-demo-") as base:
        async with opens(talk, Path(base)) as stage:
            try:
                right = await tell(stage)
            except asyncio.CancelledError:
                closing.undisturbed(talk)
                return exits.Exit.INTERRUPTED
            if goodbye is not None:
                talk.print("\nthe clusters stay up until Ctrl-C:")
                for line in goodbye(stage):
                    talk.print(f"  {line}", markup=False, soft_wrap=True)
                await closing.until_told(talk)
    return exits.Exit.DONE if right else exits.Exit.FAILED


@contextlib.asynccontextmanager
async def clients(sandbox: fleet.Fleet) -> AsyncIterator[pool.Pool]:
    """Open a client for every cluster, by the sandbox's fleet file as anybody else's."""
    members = projects.load_fleet(str(sandbox.path))
    limits = transport.Limits(concurrency=pool.concurrency(len(members.clusters)), circuit=_CIRCUIT)
    async with pool.open_pool(members, clock=system_clock.SystemClock(), limits=limits) as opened:
        yield opened


def spoil(sandbox: fleet.Fleet, images: Mapping[str, Mapping[str, str]]) -> None:
    """Have images misbehave: pattern to behaviour, per cluster."""
    for cluster, patterns in images.items():
        for pattern, behaviour in patterns.items():
            sandbox.clusters[cluster].faults.images.add(pattern, behaviour)


def by_hand(sandbox: fleet.Fleet, repository: Path) -> list[str]:
    """Return what a person may type to look around."""
    width = max(map(len, sandbox.clusters))
    return [
        *(
            f"{name:{width}} kubectl --kubeconfig {cluster.kubeconfig_path} get deploy,pods,svc"
            for name, cluster in sandbox.clusters.items()
        ),
        f"git log in {repository}, fleet file {sandbox.path}",
    ]
