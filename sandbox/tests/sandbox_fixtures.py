"""Running sandbox clusters for tests, and stock kubectl to talk to them."""

import asyncio
import contextlib
import os
import shutil
import sysconfig
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

import process_time
from kube_sandbox import fleet

#: Pods are ready within tens of milliseconds.
SPEED = 40.0


class FleetFactory(Protocol):
    """Starts a fleet that lives as long as the test."""

    def __call__(
        self, names: Sequence[str], *, ports: Sequence[int] | None = None, **options: Any
    ) -> Awaitable[fleet.Fleet]:
        """Start one cluster per name; `options` are those of `fleet.Settings`."""
        ...


@pytest.fixture
async def fleet_of(tmp_path: Path) -> AsyncIterator[FleetFactory]:
    """Start fleets: ``running = await fleet_of(["us", "eu"], speed=100)``."""
    async with contextlib.AsyncExitStack() as stack:
        count = 0

        async def start(
            names: Sequence[str], *, ports: Sequence[int] | None = None, **options: Any
        ) -> fleet.Fleet:
            nonlocal count
            count += 1
            settings = fleet.Settings(**{"speed": SPEED, "seed": 1, **options})
            directory = tmp_path / f"fleet-{count}"
            return await stack.enter_async_context(
                fleet.start(names, ports=ports, directory=directory, settings=settings)
            )

        yield start


@dataclass(frozen=True, slots=True)
class Answer:
    """What kubectl said."""

    code: int
    out: str
    err: str


class Kubectl(Protocol):
    """Runs stock kubectl against a cluster."""

    def __call__(
        self,
        cluster: fleet.Cluster,
        *words: str,
        text: str = "",
        check: bool = True,
        editor: str = "false",
    ) -> Awaitable[Answer]:
        """Run it with `text` as its input; with `check`, anything but exit code 0 fails."""
        ...


@pytest.fixture
def kubectl(tmp_path: Path) -> Kubectl:
    """Stock kubectl, with nothing but the cluster's kubeconfig to know."""
    program, environment = _find(), _environment(tmp_path)

    async def run(
        cluster: fleet.Cluster,
        *words: str,
        text: str = "",
        check: bool = True,
        editor: str = "false",
    ) -> Answer:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--kubeconfig={cluster.kubeconfig_path}",
            *words,
            env={**environment, "EDITOR": editor, "TMPDIR": str(tmp_path)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(process_time.HANG):
                out, err = await process.communicate(text.encode())
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        answer = Answer(process.returncode or 0, out.decode(), err.decode())
        assert not check or answer.code == 0, f"kubectl {' '.join(words)}: {answer}"
        return answer

    return run


class Follow(Protocol):
    """Starts a kubectl that goes on telling, and gives what it prints line by line."""

    def __call__(
        self, cluster: fleet.Cluster, *words: str
    ) -> contextlib.AbstractAsyncContextManager[AsyncIterator[str]]:
        """Run it for as long as the block lasts."""
        ...


@pytest.fixture
def follow(tmp_path: Path) -> Follow:
    """Stock kubectl as in ``kubectl get pods --watch``."""
    program, environment = _find(), _environment(tmp_path)

    @contextlib.asynccontextmanager
    async def started(cluster: fleet.Cluster, *words: str) -> AsyncIterator[AsyncIterator[str]]:
        process = await asyncio.create_subprocess_exec(
            program,
            f"--kubeconfig={cluster.kubeconfig_path}",
            *words,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
        )

        async def lines() -> AsyncIterator[str]:
            assert process.stdout is not None
            while line := await process.stdout.readline():
                yield line.decode()

        try:
            async with asyncio.timeout(process_time.HANG):
                yield lines()
        finally:
            process.kill()
            await process.wait()

    return started


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.defpath}


def _find() -> str:
    own = sysconfig.get_path("scripts")
    program = shutil.which("kubectl", path=own) or shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    return program


def deployment(image: str = "nginx:1", replicas: int = 2, **spec: object) -> str:
    """Return the text of a Deployment as people would write it."""
    labels = {"app": "web"}
    container = {"name": "main", "image": image, "ports": [{"name": "http", "containerPort": 80}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    }
    return yaml.safe_dump(body)
