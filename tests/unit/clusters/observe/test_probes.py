"""What one look at a cluster means: silence, a no, and answers that tell nothing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, answer, serve, status
from volary.clusters.client import client_pool
from volary.clusters.observe import probes
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.model.fleet import cluster_health, fleets

State = cluster_health.ClusterState
PATIENCE = timedelta(seconds=0.5)
LIMITS = transports.Limits(
    retry=retries.Policy(tries=1), circuit=circuit_breaker.Rules(failures=1, lasting=0, pause=60)
)


@contextlib.asynccontextmanager
async def probed(tmp_path: Path, url: str) -> AsyncIterator[client_pool.ClientPool]:
    body = {
        "clusters": [{"name": "us", "cluster": {"server": url}}],
        "users": [{"name": "us", "user": {"token": "t"}}],
        "contexts": [{"name": "us", "context": {"cluster": "us", "user": "us"}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(body))
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(file),), context="us"),))
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=LIMITS, environment={}
    ) as clusters:
        yield clusters


async def _hang(_: Asked) -> web.StreamResponse:
    await asyncio.sleep(5)
    return answer({})


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (web.Response(text="ok"), State.READY),
        (status(403, "Forbidden", "no"), State.READY),
        (web.Response(status=500, text="[-]etcd failed"), State.NOT_READY),
        (status(401, "Unauthorized", "no"), State.NOT_READY),
        (web.Response(status=503, text="no healthy upstream"), State.UNREACHABLE),
        (_hang, State.UNREACHABLE),
    ],
)
async def test_what_an_answer_means(tmp_path: Path, said: web.Response, state: State) -> None:
    async with serve() as server, probed(tmp_path, server.url) as clusters:
        server.say(said)
        found = await probes.probe(clusters, "us", PATIENCE)

        assert found.state is state, found
        assert bool(found.reason) is (state is not State.READY)
        assert [each.path for each in server.seen] == ["/readyz"]


async def test_an_old_server_is_asked_for_its_health(tmp_path: Path) -> None:
    async with serve() as server, probed(tmp_path, server.url) as clusters:
        server.say(status(404, "NotFound", "no"), web.Response(text="ok"))

        assert (await probes.probe(clusters, "us", PATIENCE)).state is State.READY
        assert [each.path for each in server.seen] == ["/readyz", "/healthz"]


async def test_a_cluster_that_is_left_alone_is_asked_all_the_same(tmp_path: Path) -> None:
    """Else nobody would find out that it is back."""
    async with serve() as server, probed(tmp_path, server.url) as clusters:
        server.say(_hang)
        lost = await probes.probe(clusters, "us", PATIENCE)
        back = await probes.probe(clusters, "us", PATIENCE)
        client = await clusters.client("us")

        assert (lost.state, back.state) == (State.UNREACHABLE, State.READY)
        assert not isinstance(client, client_pool.Unavailable)
        assert await client.version() == "v1.36.0"


async def test_nobody_there_is_unreachable_and_a_broken_file_is_not(tmp_path: Path) -> None:
    async with probed(tmp_path, "http://127.0.0.1:1") as clusters:
        nobody = await probes.probe(clusters, "us", PATIENCE)
    async with probed(tmp_path, "ftp://x") as clusters:
        broken = await probes.probe(clusters, "us", PATIENCE)

    assert nobody.state is State.UNREACHABLE
    assert broken.state is State.NOT_READY
    assert broken.reason.startswith("it cannot be asked: ")


async def test_a_cluster_is_known_by_the_namespace_that_is_made_first(tmp_path: Path) -> None:
    async with serve() as server, probed(tmp_path, server.url) as clusters:
        server.say(answer({"metadata": {"uid": "one"}}), status(403, "Forbidden", "no"))
        first = await probes.identity(clusters, "us", PATIENCE)
        refused = await probes.identity(clusters, "us", PATIENCE)

        assert (first, refused) == ("one", "")
        assert server.seen[0].path == "/api/v1/namespaces/kube-system"
