"""What bundles share of a cluster, and that each writes by its own rule alone."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, answer, serve
from volary.agents.tasks import bundled_clients, bundles
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import actors, client_pool, clients, write_rules
from volary.clusters.kubeconfig import connections
from volary.model import applications, projects
from volary.model.fleet import fleets
from volary.tenancy import membership

MAPS = discovery.Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}
BUNDLE = bundles.Bundle("run-1", applications.Application("shop"), fleets.Cluster("us"), ())
ANA = actors.Identity(connections.Impersonation("ana"))


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    async def reply(_: Asked) -> web.StreamResponse:
        return answer(BODY)

    async with serve() as server:
        server.handler = reply
        yield server


@pytest.fixture
async def pool(tmp_path: Path, scripted: ScriptedServer) -> AsyncIterator[client_pool.ClientPool]:
    body = {
        "clusters": [{"name": "c", "cluster": {"server": scripted.url}}],
        "users": [{"name": "u", "user": {"token": "token"}}],
        "contexts": [{"name": "us", "context": {"cluster": "c", "user": "u"}}],
    }
    file = tmp_path / "fleet"
    file.write_text(json.dumps(body))
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(file),), context="us"),))
    async with client_pool.open_pool(
        members, clock=FixedClock(), rule=write_rules.refuse_own_writes
    ) as opened:
        yield opened


async def opened(
    pool: client_pool.ClientPool, bundle: bundles.Bundle, refusal: str = ""
) -> clients.Client:
    known = bundled_clients.BundledClients(bundle, pool, lambda _: refusal)
    client = await known.client("us")
    assert isinstance(client, clients.Client)
    assert await known.client("us") is client
    return client


async def test_each_writes_by_its_own_rule(
    pool: client_pool.ClientPool, scripted: ScriptedServer
) -> None:
    free = await opened(pool, BUNDLE)
    by_owner = await opened(pool, BUNDLE, "the owner does not permit it")
    standing = membership.Standing(reason="there is no such project")
    unknown = await opened(pool, replace(BUNDLE, standing=standing))
    nowhere = membership.Standing(projects.Project("team-a"))
    elsewhere = await opened(pool, replace(BUNDLE, standing=nowhere))

    for client, why in (
        (by_owner, "the owner does not permit it"),
        (unknown, "there is no such project"),
        (elsewhere, "team-a"),
    ):
        with pytest.raises(api_errors.Refused, match=why):
            await client.apply(MAPS, BODY)
    assert not scripted.seen
    await free.apply(MAPS, BODY)
    assert [asked.method for asked in scripted.seen] == ["PATCH"]


async def test_what_watches_tell_is_shared_by_those_that_are_known_as_the_same(
    pool: client_pool.ClientPool,
) -> None:
    first, second = await opened(pool, BUNDLE), await opened(pool, replace(BUNDLE, run="run-2"))
    ana = await opened(pool, replace(BUNDLE, identity=ANA))
    team = membership.Standing(projects.Project("team-a"))
    of_team = await opened(pool, replace(BUNDLE, standing=team))

    assert first.informers is second.informers
    assert len({id(one.informers) for one in (first, ana, of_team)}) == len((first, ana, of_team))
    assert (first.acts_as, ana.acts_as) == ("", "ana")
