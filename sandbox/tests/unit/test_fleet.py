"""Fleets on real sockets."""

import asyncio
import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

import process_time
from kube_sandbox import errors, fleet, traffic
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import pods
from kube_sandbox.crds import definitions
from kube_sandbox.faults import faults_client
from sandbox_fixtures import FleetFactory

PODS = "/api/v1/namespaces/default/pods"


def _address(cluster: fleet.Cluster) -> faults_client.Address:
    return faults_client.Address(cluster.url, cluster.token, cluster.certificate_authority)


async def _get(cluster: fleet.Cluster, path: str = PODS) -> tuple[int, Any]:
    """Ask a cluster without TLS."""
    headers = {"Authorization": f"Bearer {cluster.token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(cluster.url + path) as response,
    ):
        return response.status, await response.json()


def _deployment(image: str = "shop:1") -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


async def test_the_files_lead_to_the_clusters(fleet_of: FleetFactory) -> None:
    running = await fleet_of(["us", "eu"], labels={"us": {"region": "us-east"}})

    content = yaml.safe_load(running.path.read_text())

    assert content == {
        "apiVersion": "volary.dev/v1",
        "kind": "Fleet",
        "clusters": [
            {"name": "us", "labels": {"region": "us-east"}, "kubeconfig": "us.kubeconfig"},
            {"name": "eu", "labels": {"region": "eu"}, "kubeconfig": "eu.kubeconfig"},
        ],
    }
    path = running.directory / "eu.kubeconfig"
    assert path == running.clusters["eu"].kubeconfig_path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert yaml.safe_load(path.read_text())["current-context"] == "eu"


async def test_clusters_share_nothing(fleet_of: FleetFactory) -> None:
    running = await fleet_of(["us", "eu"])
    us, eu = running.clusters.values()
    body = _deployment()
    us.registry.create(us.registry.kind_of(body), "default", body)

    await us.until(lambda view: sum(map(pods.is_ready, view.list("Pod", "default"))) == 2)

    assert not eu.view.list("Pod", "default")
    assert us.token != eu.token


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    async with fleet.start(["us"], directory=tmp_path) as running:
        url = running.clusters["us"].url
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            pass

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_a_stopped_cluster_leaves_the_others(fleet_of: FleetFactory) -> None:
    running = await fleet_of(["us", "eu"], tls=False)

    await running.clusters["us"].stop()

    assert (await _get(running.clusters["eu"]))[0] == 200
    with pytest.raises(aiohttp.ClientConnectionError):
        await _get(running.clusters["us"])


@pytest.mark.parametrize(
    ("names", "ports"), [([], None), (["us", "us"], None), (["us", "eu"], [1])]
)
async def test_what_makes_no_fleet_is_the_users_error(
    names: list[str], ports: list[int] | None, tmp_path: Path
) -> None:
    with pytest.raises(errors.UserError):
        async with fleet.start(names, ports=ports, directory=tmp_path):
            pass


async def test_a_taken_port_is_the_users_error(fleet_of: FleetFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.UserError, match=f'"eu" cannot listen on 127.0.0.1:{port}'):
            await fleet_of(["us", "eu"], ports=[0, port])


async def test_a_definition_that_is_refused_is_the_users_error(fleet_of: FleetFactory) -> None:
    (first, _) = definitions.istio()
    broken = {**first, "spec": {**first["spec"], "scope": "Everywhere"}}

    with pytest.raises(errors.UserError, match='cluster "us" cannot start'):
        await fleet_of(["us"], crds=[broken])


async def test_faults_are_switched_from_outside(fleet_of: FleetFactory) -> None:
    running = await fleet_of(["us"])
    cluster = running.clusters["us"]
    address = faults_client.locate(running.directory, "us")
    assert address == _address(cluster)

    told = await faults_client.change(address, {"latency": "20ms", "images": {"shop:2": "bad"}})

    assert told == {"latency": 0.02, "images": {"shop:2": "bad"}}
    assert cluster.faults.current.latency == 0.02
    assert await faults_client.read(address) == told
    assert await faults_client.clear(address) == {"images": {}}


async def test_only_the_administrator_switches_faults(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"])).clusters["us"]
    stranger = faults_client.Address(cluster.url, "other", cluster.certificate_authority)

    with pytest.raises(errors.UserError, match="Unauthorized"):
        await faults_client.change(stranger, {"latency": "1s"})


async def test_a_wrong_fault_is_told(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"])).clusters["us"]

    with pytest.raises(errors.UserError, match='fault "latncy" is not known'):
        await faults_client.change(_address(cluster), {"latncy": "1s"})


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        ({"errorRate": 1}, 500, "InternalError"),
        ({"throttleRate": 1, "retryAfter": "3s"}, 429, "TooManyRequests"),
        ({"denied": ["list pods"]}, 403, "Forbidden"),
        ({"expiredTokens": True}, 401, "Unauthorized"),
    ],
)
async def test_refusals_look_like_kubernetes(
    fleet_of: FleetFactory, changes: dict[str, Any], code: int, reason: str
) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]
    cluster.faults.change(changes)

    status, body = await _get(cluster)

    assert (status, body["code"], body["reason"]) == (code, code, reason)
    assert body["kind"] == "Status"
    cluster.faults.clear()
    assert (await _get(cluster))[0] == 200


async def test_a_lost_cluster_comes_back(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]

    cluster.faults.change({"lost": "refuse"})
    with pytest.raises(aiohttp.ClientConnectionError):
        await _get(cluster)
    # Faults can still be switched.
    await faults_client.clear(_address(cluster))

    assert (await _get(cluster))[0] == 200


async def test_a_hanging_cluster_answers_nothing(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]
    cluster.faults.change({"lost": "hang"})

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await _get(cluster)


async def test_a_fleet_ends_although_requests_hang(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(10),
        asyncio.TaskGroup() as group,
        fleet.start(["us"], directory=tmp_path, settings=fleet.Settings(tls=False)) as it,
    ):
        cluster = it.clusters["us"]
        cluster.faults.change({"lost": "hang"})

        async def ask() -> None:
            with pytest.raises(aiohttp.ClientError):
                await _get(cluster)

        group.create_task(ask())
        await asyncio.sleep(0.1)


async def _watch(cluster: fleet.Cluster, version: str) -> list[dict[str, Any]]:
    """Read a watch until it ends, however it does."""
    headers = {"Authorization": f"Bearer {cluster.token}"}
    seen = []
    try:
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{cluster.url}{PODS}?watch=1&resourceVersion={version}") as response,
        ):
            async for line in response.content:
                seen.append(json.loads(line))
    except aiohttp.ClientError:
        pass
    return seen


async def test_watches_are_cut_also_those_that_run(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]
    version = (await _get(cluster))[1]["metadata"]["resourceVersion"]

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        watching = group.create_task(_watch(cluster, version))
        await asyncio.sleep(0.1)
        assert not watching.done()
        cluster.faults.change({"cutWatches": 0})


async def test_watches_expire(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]
    cluster.faults.change({"expireWatches": True})

    (event,) = await _watch(cluster, "100")

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


async def test_latency_is_added(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], tls=False)).clusters["us"]
    cluster.faults.change({"latency": "150ms", "slowLists": "100ms"})

    before = asyncio.get_running_loop().time()
    await _get(cluster)

    assert asyncio.get_running_loop().time() - before >= 0.25


async def test_traffic_follows_istios_weights(fleet_of: FleetFactory) -> None:
    cluster = (await fleet_of(["us"], crds=definitions.istio())).clusters["us"]

    def create(body: dict[str, Any]) -> None:
        namespace = body["metadata"]["namespace"]
        cluster.registry.create(cluster.registry.kind_of(body), namespace, body)

    place = {"name": "web", "namespace": "default"}
    create(_deployment())
    create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": place,
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }
    )
    await cluster.until(
        lambda view: len(traffic.resolve(view, "default", "web").flows) == 2  # both are ready
    )
    assert traffic.resolve(cluster.view, "default", "web").lost == 0

    routes = [
        {"destination": {"host": "web"}, "weight": 75},
        {"destination": {"host": "absent"}, "weight": 25},
    ]
    create(
        {
            "apiVersion": "networking.istio.io/v1beta1",
            "kind": "VirtualService",
            "metadata": place,
            "spec": {"hosts": ["web"], "http": [{"route": routes}]},
        }
    )

    found = traffic.resolve(cluster.view, "default", "web")

    assert found.lost == 0.25
    assert found.by_image() == {"shop:1": 0.75}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_up_ends_cleanly_on_a_signal(sent: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import asyncio, pathlib, sys\n"
        "from kube_sandbox.cli import clusters\n"
        "ready = lambda running: print(len(running.fleet.clusters), 'ready', flush=True)\n"
        "asyncio.run(clusters.serve(['us', 'eu'], pathlib.Path(sys.argv[1]), ready=ready))\n"
        "print('ended')\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        str(tmp_path),
        env=dict(os.environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"2 ready\n"

    process.send_signal(sent)
    async with asyncio.timeout(process_time.HANG):
        out, err = await process.communicate()

    assert (process.returncode, out, err) == (0, b"ended\n", b"")


async def test_pods_have_addresses_of_their_own(fleet_of: FleetFactory) -> None:
    running = await fleet_of(["us", "eu"])
    found = []
    for cluster in running.clusters.values():
        body = _deployment()
        cluster.registry.create(cluster.registry.kind_of(body), "default", body)
        await cluster.until(lambda view: sum(map(pods.is_ready, view.list("Pod", "default"))) == 2)
        found.extend(objects.status(each)["podIP"] for each in cluster.view.list("Pod", "default"))

    assert len(set(found)) == 4
