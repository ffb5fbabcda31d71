"""A fleet's clients: one that cannot be used is a value and harms no other."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, answer, serve
from volary.clusters.api import api_errors
from volary.clusters.client import client_pool, clients
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.model.fleet import fleets

LIMITS = transports.Limits(retry=retries.Policy(tries=1))


@pytest.fixture
async def reachable() -> AsyncIterator[ScriptedServer]:
    async with serve() as server:
        yield server


def kubeconfig_of(path: Path, servers: dict[str, str]) -> str:
    def named(what: str, value: Any) -> list[dict[str, Any]]:
        return [{"name": name, what: value(name)} for name in servers]

    body = {
        "clusters": named("cluster", lambda name: {"server": servers[name]}),
        "users": named("user", lambda name: {"token": f"of-{name}"}),
        "contexts": named("context", lambda name: {"cluster": name, "user": name}),
    }
    path.write_text(json.dumps(body))
    return str(path)


async def test_clients_of_a_fleet(tmp_path: Path, reachable: ScriptedServer) -> None:
    """Healthy, unreachable, misconfigured and unknown: each only concerns itself."""
    file = kubeconfig_of(
        tmp_path / "config", {"us": reachable.url, "dead": "http://127.0.0.1:1", "bad": "ftp://x"}
    )
    members = fleets.Fleet(
        tuple(
            fleets.Cluster(name, kubeconfig=(file,), context=name) for name in ("us", "dead", "bad")
        )
    )
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=LIMITS, environment={}
    ) as subject:
        bad, unknown = await subject.client("bad"), await subject.client("mars")
        dead, us = await subject.client("dead"), await subject.client("us")

        assert isinstance(bad, client_pool.Unavailable)
        assert bad.reason == "cluster bad: server is not an http or https URL"
        assert bad.problems[0].where.file == file
        assert unknown == client_pool.Unavailable("mars", "cluster mars is not in the fleet")
        assert isinstance(dead, clients.Client)
        with pytest.raises(api_errors.Unreachable, match="cluster dead at"):
            await dead.version()
        assert isinstance(us, clients.Client)
        assert await us.version() == "v1.36.0"
        assert await subject.client("us") is us

    assert reachable.seen[0].headers["Authorization"] == "Bearer of-us"


async def test_a_cluster_that_was_mended_is_usable(
    tmp_path: Path, reachable: ScriptedServer
) -> None:
    file = tmp_path / "config"
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(file),), context="us"),))

    async with client_pool.open_pool(members, clock=FixedClock(), environment={}) as subject:
        missing = await subject.client("us")
        kubeconfig_of(file, {"us": reachable.url})
        mended = await subject.client("us")

    assert isinstance(missing, client_pool.Unavailable)
    assert "does not exist" in missing.reason
    assert isinstance(mended, clients.Client)


def test_clusters_share_what_one_process_can_do() -> None:
    """Few clusters get the most each, many get less, none gets too little to be quick."""
    shares = {clusters: client_pool.concurrency(clusters) for clusters in (1, 10, 24, 48, 64, 1000)}

    assert shares == {1: 16, 10: 16, 24: 16, 48: 8, 64: 6, 1000: 6}


async def test_the_fleet_changes_while_clients_are_in_use(
    tmp_path: Path, reachable: ScriptedServer
) -> None:
    """Who left is reached until it is let go of; who is reached otherwise gets a new client."""
    one = kubeconfig_of(tmp_path / "one", {"us": reachable.url, "eu": reachable.url})
    two = kubeconfig_of(tmp_path / "two", {"us": reachable.url, "ap": reachable.url})
    us, eu = (fleets.Cluster(name, kubeconfig=(one,), context=name) for name in ("us", "eu"))
    moved, ap = (fleets.Cluster(name, kubeconfig=(two,), context=name) for name in ("us", "ap"))
    async with client_pool.open_pool(
        fleets.Fleet((us, eu)), clock=FixedClock(), limits=LIMITS, environment={}
    ) as subject:
        old_us, old_eu = await subject.client("us"), await subject.client("eu")

        subject.change(fleets.Fleet((replace(us, labels={"ring": "1"}), eu)))
        assert await subject.client("us") is old_us

        subject.change(fleets.Fleet((moved, ap)))
        new_us = await subject.client("us")
        assert new_us is not old_us
        assert isinstance(await subject.client("ap"), clients.Client)
        assert (subject.former, await subject.client("eu")) == (("eu",), old_eu)

        assert not subject.refresh("us")
        kubeconfig_of(tmp_path / "two", {"us": "http://127.0.0.1:1", "ap": reachable.url})
        assert (subject.refresh("ap"), subject.refresh("us")) == (False, True)
        new_us = await subject.client("us")

        subject.release(["eu", "us"])
        gone = await subject.client("eu")
        assert gone == client_pool.Unavailable("eu", "cluster eu is not in the fleet")
        assert (subject.former, await subject.client("us")) == ((), new_us)
        await subject.sweep()
        assert isinstance(old_eu, clients.Client)


@pytest.mark.parametrize(
    ("limits", "most"), [(None, 6), (replace(LIMITS, concurrency=3), 3)], ids=["shared", "given"]
)
async def test_requests_at_once_are_shared_by_the_fleet(
    tmp_path: Path, reachable: ScriptedServer, limits: transports.Limits | None, most: int
) -> None:
    file = kubeconfig_of(tmp_path / "config", {"us": reachable.url})
    us = fleets.Cluster("us", kubeconfig=(file,), context="us")
    others = tuple(fleets.Cluster(f"c{number}") for number in range(500))
    under_way, seen = 0, 0

    async def count(_: Asked) -> web.StreamResponse:
        nonlocal under_way, seen
        under_way += 1
        seen = max(seen, under_way)
        await asyncio.sleep(0.05)
        under_way -= 1
        return answer({"gitVersion": "v1.36.0"})

    reachable.handler = count
    async with client_pool.open_pool(
        fleets.Fleet((us, *others)), clock=FixedClock(), limits=limits, environment={}
    ) as subject:
        client = await subject.client("us")
        assert isinstance(client, clients.Client)
        await asyncio.gather(*(client.version() for _ in range(20)))

    assert seen == most


async def test_outages_of_every_cluster_are_reported_by_name(
    tmp_path: Path, reachable: ScriptedServer
) -> None:
    file = kubeconfig_of(tmp_path / "config", {"us": reachable.url, "dead": "http://127.0.0.1:1"})
    members = fleets.Fleet(
        tuple(fleets.Cluster(name, kubeconfig=(file,), context=name) for name in ("us", "dead"))
    )
    limits = replace(LIMITS, circuit=circuit_breaker.Rules(failures=1, lasting=0.0))
    told: list[tuple[str, str]] = []
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=limits, environment={}
    ) as subject:
        subject.on_outcome = lambda name, trouble: told.append((name, trouble))
        for name in ("us", "dead"):
            client = await subject.client(name)
            assert isinstance(client, clients.Client)
            with contextlib.suppress(api_errors.Unreachable):
                await client.version()

    assert told == [("dead", "connection refused")]


async def test_a_kubeconfig_that_cannot_be_read_any_more_changes_nothing(
    tmp_path: Path, reachable: ScriptedServer
) -> None:
    file = kubeconfig_of(tmp_path / "config", {"us": reachable.url})
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(file,), context="us"),))
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=LIMITS, environment={}
    ) as subject:
        assert not subject.refresh("us")
        client = await subject.client("us")
        (tmp_path / "config").unlink()

        assert not subject.refresh("us")
        assert not subject.refresh("mars")
        assert await subject.client("us") is client
        assert subject.member("us") == members.clusters[0]
        assert subject.member("mars") is None


async def test_who_is_in_the_fleet_is_not_let_go_of(
    tmp_path: Path, reachable: ScriptedServer
) -> None:
    file = kubeconfig_of(tmp_path / "config", {"us": reachable.url})
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(file,), context="us"),))
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=LIMITS, environment={}
    ) as subject:
        client = await subject.client("us")
        subject.release(["us", "mars"])

        assert await subject.client("us") is client
        assert subject.former == ()


@pytest.mark.parametrize(
    "change",
    [{"context": "eu"}, {"kubeconfig": ("other",)}, {"in_cluster": True}],
    ids=["context", "file", "pod"],
)
async def test_a_cluster_that_is_reached_in_another_way_gets_a_new_client(
    tmp_path: Path, reachable: ScriptedServer, change: dict[str, Any]
) -> None:
    file = kubeconfig_of(tmp_path / "config", {"us": reachable.url, "eu": reachable.url})
    us = fleets.Cluster("us", kubeconfig=(file,), context="us")
    async with client_pool.open_pool(
        fleets.Fleet((us,)), clock=FixedClock(), limits=LIMITS, environment={}
    ) as subject:
        before = await subject.client("us")
        subject.change(fleets.Fleet((replace(us, **change),)))

        assert await subject.client("us") is not before
