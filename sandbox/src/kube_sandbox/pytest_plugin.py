"""Fixtures for pytest: a running cluster, and the kubeconfig that leads to it.

    def test_it_is_rolled_out(kubeconfig):
        subprocess.run(
            ["kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "app.yaml"], check=True
        )

The cluster lives in a thread of its own, so that tests need no event loop. Another
`cluster_settings` in a conftest.py makes other clusters: with custom resources, slower, with
real traffic.
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # every pytest loads this module; only tests that use a cluster pay for the rest
    from kube_sandbox import fleet

_TIMEOUT = 60.0


@pytest.fixture
def cluster_settings() -> "fleet.Settings":
    """How `cluster` is: twenty times as fast as the clock; override it for another."""
    from kube_sandbox import fleet

    return fleet.Settings(speed=20.0, seed=1)


@pytest.fixture
def cluster(cluster_settings: "fleet.Settings", tmp_path: Path) -> "Iterator[fleet.Cluster]":
    """Run an emulated cluster as long as the test.

    It belongs to another thread: talk to it over HTTP (`url`, `token`, `kubeconfig_path`).
    """
    with _running(cluster_settings, tmp_path / "cluster") as started:
        yield started


@pytest.fixture
def kubeconfig(cluster: "fleet.Cluster") -> Path:
    """Return the file that leads clients to `cluster`, as its administrator."""
    return cluster.kubeconfig_path


@contextlib.contextmanager
def _running(settings: "fleet.Settings", directory: Path) -> "Iterator[fleet.Cluster]":
    ready: futures.Future[tuple[fleet.Cluster, asyncio.AbstractEventLoop]] = futures.Future()
    ended = asyncio.Event()

    async def live() -> None:
        from kube_sandbox import fleet

        try:
            async with fleet.start(["test"], directory=directory, settings=settings) as started:
                ready.set_result((started.clusters["test"], asyncio.get_running_loop()))
                await ended.wait()
        except BaseException as problem:
            if ready.done():
                raise
            ready.set_exception(problem)

    thread = threading.Thread(target=asyncio.run, args=(live(),), name="kube-sandbox")
    thread.start()
    try:
        started, loop = ready.result(_TIMEOUT)
        try:
            yield started
        finally:
            loop.call_soon_threadsafe(ended.set)
    finally:
        thread.join(_TIMEOUT)
