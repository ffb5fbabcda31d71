"""A cluster with its controllers, scheduler and nodes, without sockets.

The tests' time is the event loop's: mark them with ``pytest.mark.looptime``.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from kube_sandbox import initial_objects, json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.controllers.framework import pods
from kube_sandbox.controllers.kubelet import containers, lifecycle
from kube_sandbox.controllers.manager import loop
from kube_sandbox.faults import faults

START = datetime(2026, 1, 1, tzinfo=UTC)


class LoopClock:
    """Dates follow the event loop's time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())


class Living:
    """A cluster without sockets."""

    def __init__(
        self, held: registry.Registry, board: faults.Switchboard, alive: loop.Loop
    ) -> None:
        self.held = held
        self.faults = board
        self.view = alive.seen
        self.alive = alive

    def create(self, body: json.JsonObject) -> json.JsonObject:
        kind = self.held.kind_of(body)
        return self.held.create(kind, objects.namespace(body), body).body

    def get(self, kind: str, name: str, namespace: str = "shop") -> json.JsonObject:
        found = self.view.get(kind, namespace, name)
        assert found is not None, f"no {kind} {name}"
        return found

    def patch(self, kind: str, name: str, patch: json.JsonObject, namespace: str = "shop") -> None:
        body = self.get(kind, name, namespace)
        self.held.patch(
            self.held.kind_of(body), objects.namespace(body), name, patch, verbs.PatchType.MERGE
        )

    def delete(self, kind: str, name: str, propagation: str = "", namespace: str = "shop") -> None:
        body = self.get(kind, name, namespace)
        deletion = verbs.Deletion(propagation=propagation)
        self.held.delete(self.held.kind_of(body), objects.namespace(body), name, deletion)

    def images(self) -> list[str]:
        return sorted(
            pod["spec"]["containers"][0]["image"]
            for pod in self.view.list("Pod", "shop")
            if not objects.is_deleting(pod)
        )

    def ready(self) -> int:
        return sum(
            pods.is_ready(each) and not objects.is_deleting(each)
            for each in self.view.list("Pod", "shop")
        )


@pytest.fixture
async def living() -> AsyncIterator[Living]:
    clock = LoopClock()
    held = registry.Registry(clock, verbs.Settings(seed=1))
    board = faults.Switchboard()
    alive = loop.Loop(
        held, clock, loop.Settings(lifecycle.Setting(board.images, containers.Timing()))
    )
    found = Living(held, board, alive)
    for name in ("default", "shop"):
        found.create(initial_objects.namespace(name))
    for number in (1, 2, 3):
        found.create(initial_objects.node(number, region="eu", stamp="2026-01-01T00:00:00Z"))
    task = asyncio.get_running_loop().create_task(alive.run())
    yield found
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
