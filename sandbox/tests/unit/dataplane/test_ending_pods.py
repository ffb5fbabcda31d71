"""Pods that are told to end while somebody still waits for their answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

import process_time
import sandbox_world as world
from kube_sandbox import fleet
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.controllers.framework import view
from kube_sandbox.controllers.kubelet import behaviours, containers, lifecycle

SPEED = 20


@dataclass
class Running:
    """A cluster with one pod, and somebody who asks it."""

    cluster: fleet.Cluster
    session: aiohttp.ClientSession

    def pod(self) -> dict[str, Any]:
        return self.cluster.registry.get(self._kind, "default", "shop")

    def delete(self) -> None:
        self.cluster.registry.delete(self._kind, "default", "shop")

    @property
    def _kind(self) -> kinds.Kind:
        return self.cluster.registry.kind("v1", "Pod")

    async def begin(self, grace: int, **container: Any) -> str:
        """Let the pod run; return where it answers."""
        pod = world.shop("shop:v1")["spec"]["template"]
        pod["spec"]["containers"][0].update(container)
        pod["spec"]["terminationGracePeriodSeconds"] = grace
        pod |= {"apiVersion": "v1", "kind": "Pod"}
        pod["metadata"]["name"] = "shop"
        self.cluster.registry.create(self.cluster.registry.kind_of(pod), "default", pod)
        await self.cluster.until(_is_ready)
        return f"http://{self.pod()['status']['podIP']}:8080"

    async def gone(self) -> None:
        await self.cluster.until(lambda seen: not seen.list("Pod", "default"))


def _is_ready(seen: view.View) -> bool:
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for pod in seen.list("Pod", "default")
        for each in (pod.get("status") or {}).get("conditions") or ()
    )


async def _status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.get(url) as answer:
        return answer.status


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    settings = fleet.Settings(speed=SPEED, tls=False, seed=1, traffic=True, drain=0.2)
    async with (
        fleet.start(["us"], settings=settings) as made,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(process_time.HANG)) as session,
    ):
        yield Running(made.clusters["us"], session)


async def test_what_is_under_way_is_finished_within_the_grace_period(running: Running) -> None:
    address = await running.begin(grace=int(SPEED * process_time.HANG))
    async with (
        running.session.get(f"{address}/stream?for=3s") as stream,
        asyncio.TaskGroup() as group,
    ):
        late = group.create_task(_status(running.session, f"{address}/?latency=3s"))
        first = await stream.content.readline()
        running.delete()
        lines = (await stream.read()).splitlines()

    assert late.result() == 200
    assert lines
    assert {*lines} == {first.strip()}
    await running.gone()


async def test_what_takes_longer_than_the_grace_period_is_broken(running: Running) -> None:
    address = await running.begin(grace=10)
    async with running.session.get(f"{address}/stream?for=1h") as stream:
        await stream.content.readline()
        running.delete()

        with pytest.raises(aiohttp.ClientPayloadError):
            await stream.read()

    await running.gone()


async def test_a_websocket_is_told_that_its_server_goes(running: Running) -> None:
    address = await running.begin(grace=int(SPEED * process_time.HANG))
    async with running.session.ws_connect(address) as socket:
        greeting = await socket.receive_json()
        # Each length is written in its own way.
        for size in (0, 5, 300, 70_000):
            await socket.send_str("x" * size)
            assert await socket.receive_str() == "x" * size
        await socket.send_bytes(b"\x00\xff")
        assert await socket.receive_bytes() == b"\x00\xff"
        running.delete()
        last = await socket.receive()

    assert greeting["version"] == "v1"
    assert last.type is aiohttp.WSMsgType.CLOSE
    assert socket.close_code == aiohttp.WSCloseCode.GOING_AWAY
    await running.gone()


async def test_a_hook_before_the_stop_keeps_a_pod_as_it_was(running: Running) -> None:
    hook = {"preStop": {"sleep": {"seconds": int(SPEED * process_time.HANG) // 2}}}
    address = await running.begin(grace=int(SPEED * process_time.HANG), lifecycle=hook)
    async with running.session.ws_connect(address) as socket:
        await socket.receive_json()
        running.delete()
        await running.cluster.until(
            lambda seen: seen.list("Pod", "default")[0]["metadata"].get("deletionTimestamp")
        )
        async with running.session.get(address) as answer:
            kept = answer.headers.get("connection")
        await socket.send_str("still here")

        assert await socket.receive_str() == "still here"
        assert kept is None
        with contextlib.suppress(TimeoutError):
            await socket.close()


@pytest.mark.parametrize(
    ("hook", "seconds"),
    [
        (None, 0.0),
        ({"sleep": {"seconds": 5}}, 5.0),
        ({"exec": {"command": ["sleep", "5"]}}, 5.0),
        ({"exec": {"command": ["/bin/sh", "-c", "sleep 2.5"]}}, 2.5),
        ({"exec": {"command": ["/bin/sleep", "3s"]}}, 3.0),
        ({"exec": {"command": ["nginx", "-s", "quit"]}}, 0.0),
        ({"httpGet": {"path": "/sleep 5", "port": 80}}, 0.0),
    ],
)
def test_a_pod_stops_after_its_hooks_and_its_delay(
    hook: dict[str, Any] | None, seconds: float
) -> None:
    container = {"name": "shop", "image": "shop:v1", "lifecycle": {"preStop": hook or {}}}
    pod = {"metadata": {}, "spec": {"containers": [container]}}
    setting = lifecycle.Setting(behaviours.ImageRules(), containers.Timing(stop=1.0))

    assert lifecycle.before_stop(pod) == seconds
    assert lifecycle.stop_window(pod, setting) == (seconds + 1, seconds + 1)
    pod["metadata"] = {"deletionGracePeriodSeconds": 4}
    assert lifecycle.stop_window(pod, setting) == (min(seconds + 1, 4), 4)
