"""Clients on somebody's behalf: who asks is in every request, and nobody sees what others read."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, answer, serve, status
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import actors, client_pool, clients, watches, write_rules
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import retries, transports
from volary.model import errors
from volary.model.fleet import fleets

LIMITS = transports.Limits(retry=retries.Policy(tries=1))
MAPS = discovery.Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}
ANA = connections.Impersonation("ana", groups=("sre", "Platform team"))


@dataclass(eq=False)
class Team:
    """Somebody whose identity a test changes."""

    title: str = "project team-a"
    now: actors.Identity | errors.VolaryError = field(default_factory=actors.Identity)
    refused: str = ""

    def identity(self) -> actors.Identity:
        if isinstance(self.now, errors.VolaryError):
            raise self.now
        return self.now

    def refusal(self, cluster: fleets.Cluster, write: write_rules.Write) -> str:
        return self.refused and f"{cluster.name}: {self.refused}"


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    async def reply(asked: Asked) -> web.StreamResponse:
        if asked.path in ("/api", "/apis"):
            return answer({"kind": "APIGroupDiscoveryList", "items": []})
        if "watch" in asked.query:
            return web.Response(text=json.dumps({"type": "ADDED", "object": BODY}) + "\n")
        if asked.method == "GET" and asked.path.endswith("configmaps"):
            metadata = {"resourceVersion": "7"}
            return answer(
                {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": []}
            )
        return answer(BODY)

    async with serve() as server:
        server.handler = reply
        yield server


def kubeconfig_of(path: Path, url: str, token: str, *contexts: str) -> str:
    def named(what: str, value: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"name": name, what: value} for name in contexts]

    body = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": named("context", {"cluster": "c", "user": "u"}),
    }
    path.write_text(json.dumps(body))
    return str(path)


@asynccontextmanager
async def pool_of(tmp_path: Path, url: str) -> AsyncIterator[client_pool.ClientPool]:
    file = kubeconfig_of(tmp_path / "fleet", url, "fleet", "us", "eu")
    members = fleets.Fleet(
        tuple(fleets.Cluster(name, kubeconfig=(file,), context=name) for name in ("us", "eu"))
    )
    async with client_pool.open_pool(
        members, clock=FixedClock(), limits=LIMITS, environment={"KUBECONFIG": file}
    ) as pool:
        yield pool


async def opened(clusters: client_pool.FleetClients, name: str = "us") -> clients.Client:
    found = await clusters.client(name)
    assert isinstance(found, clients.Client), found
    return found


async def ask_everything(client: clients.Client) -> None:
    """Send a request of every sort."""
    await client.version()
    await client.check("/readyz", timeout=5.0)
    await client.identity()
    await client.get(MAPS, "a", namespace="shop")
    await client.list(MAPS)
    async for event in client.watch(MAPS):
        if event.kind is watches.WatchKind.ADDED:
            break
    for write in (client.apply, client.create, client.replace, client.merge_patch):
        await write(MAPS, BODY)
        await write(MAPS, BODY, dry_run=True)
    await client.delete(MAPS, "a", namespace="shop")
    await client.review("SelfSubjectRulesReview", {"namespace": "shop"})


async def test_every_request_says_on_whose_behalf_it_is(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    """Reads, watches and reviews too; and none of the fleet's own does."""
    async with pool_of(tmp_path, scripted.url) as pool:
        acting = await opened(pool.acting_for(Team(now=actors.Identity(ANA))))
        assert acting.acts_as == "ana"
        await ask_everything(acting)
        theirs, scripted.seen = scripted.seen, []
        await ask_everything(await opened(pool))

    assert len(theirs) >= 15
    for asked in theirs:
        assert asked.headers.getall("Impersonate-User") == ["ana"], asked
        assert asked.headers.getall("Impersonate-Group") == ["sre", "Platform team"], asked
        assert asked.headers["Authorization"] == "Bearer fleet"
    assert not any(name.startswith("Impersonate") for one in scripted.seen for name in one.headers)


async def test_connections_and_discovery_are_shared_and_nothing_that_was_read(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    async with pool_of(tmp_path, scripted.url) as pool:
        own, acting = (
            await opened(pool),
            await opened(pool.acting_for(Team(now=actors.Identity(ANA)))),
        )
        await own.discover()
        before = len(scripted.seen)
        assert await acting.discover() is await own.discover()
        assert len(scripted.seen) == before, "what is served is the same whoever asks"

        await own.apply(MAPS, BODY)
        assert own.recent.written(MAPS, "a", "shop") is not None
        assert acting.recent.written(MAPS, "a", "shop") is None
        await acting.get(MAPS, "a", namespace="shop")
        assert acting.answered == own.answered

    assert len({asked.port for asked in scripted.seen}) == 1


async def test_the_rule_of_the_actor_is_asked_and_not_that_of_the_fleet(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    team = Team(refused="not there")
    async with pool_of(tmp_path, scripted.url) as pool:
        acting = await opened(pool.acting_for(team))
        with pytest.raises(api_errors.Refused, match="us: not there"):
            await acting.apply(MAPS, BODY)
        assert scripted.seen == []
        team.refused = ""
        await acting.apply(MAPS, BODY)
        await (await opened(pool)).apply(MAPS, BODY)

    assert len(scripted.seen) == 2


async def test_who_is_known_in_another_way_gets_a_new_client(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    team = Team(now=actors.Identity(ANA))
    async with pool_of(tmp_path, scripted.url) as pool:
        theirs = pool.acting_for(team)
        assert pool.acting_for(team) is theirs
        before = await opened(theirs)
        assert await opened(theirs) is before

        team.now = actors.Identity(connections.Impersonation("bo"))
        after = await opened(theirs)
        assert (after is before, after.acts_as) == (False, "bo")

        team.now = errors.user_error("there is no such project")
        gone = await theirs.client("us")
        assert isinstance(gone, client_pool.Unavailable)
        assert gone.reason == "there is no such project"

        team.now = actors.Identity(ANA)
        again = await opened(theirs)
        assert again.acts_as == "ana"


async def test_credentials_of_its_own(tmp_path: Path, scripted: ScriptedServer) -> None:
    """A cluster that they do not name is not reached, though the fleet could reach it."""
    own = kubeconfig_of(tmp_path / "own", scripted.url, "own", "us")
    team = Team(now=actors.Identity(kubeconfig=(own,)))
    async with pool_of(tmp_path, scripted.url) as pool:
        theirs = pool.acting_for(team)
        us = await opened(theirs)
        await us.version()
        assert await opened(theirs) is us
        eu = await theirs.client("eu")
        assert isinstance(eu, client_pool.Unavailable)
        assert eu.reason.startswith("project team-a: cluster eu: context eu does not exist in")
        assert "its contexts are: us" in eu.problems[0].hint

        kubeconfig_of(tmp_path / "own", scripted.url, "rotated", "us")
        rotated = await opened(theirs)
        assert rotated is not us
        await rotated.version()

        (tmp_path / "own").unlink()
        missing = await theirs.client("us")
        assert isinstance(missing, client_pool.Unavailable)
        assert "does not exist" in missing.reason
        await pool.sweep()

    assert [asked.headers["Authorization"] for asked in scripted.seen] == [
        "Bearer own",
        "Bearer rotated",
    ]


async def test_clients_are_let_go_of_with_those_of_the_fleet(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    async with pool_of(tmp_path, scripted.url) as pool:
        theirs = pool.acting_for(Team(now=actors.Identity(ANA)))
        before = await opened(theirs)
        kubeconfig_of(tmp_path / "fleet", scripted.url, "rotated", "us", "eu")
        assert pool.refresh("us")
        after = await opened(theirs)
        await after.version()

        assert after is not before
        assert scripted.seen[-1].headers["Authorization"] == "Bearer rotated"
        pool.change(fleets.Fleet(()))
        pool.release(["us"])
        gone = await theirs.client("us")
        assert gone == client_pool.Unavailable("us", "cluster us is not in the fleet")


async def test_only_so_many_are_kept(tmp_path: Path, scripted: ScriptedServer) -> None:
    async with pool_of(tmp_path, scripted.url) as pool:
        first = Team()
        theirs = pool.acting_for(first)
        for number in range(client_pool.MOST_ACTORS):
            pool.acting_for(Team(f"project {number}"))

        assert pool.acting_for(first) is not theirs


@pytest.mark.parametrize(
    ("refused", "said", "hint"),
    [
        (
            'users "ana" is forbidden: User "volary" cannot impersonate resource "users" in API'
            ' group "" at the cluster scope',
            "cluster us: volary's user volary may not impersonate ana",
            'write a ClusterRole with the rule {apiGroups: [""], resources: [users],'
            " resourceNames: [ana], verbs: [impersonate]}, and a ClusterRoleBinding to volary",
        ),
        (
            'groups "sre" is forbidden: User "volary" cannot impersonate resource "groups" in API'
            ' group "" at the cluster scope',
            "cluster us: volary's user volary may not impersonate group sre",
            "resources: [groups], resourceNames: [sre]",
        ),
    ],
)
async def test_a_server_that_may_not_impersonate_is_told_what_to_write(
    refused: str, said: str, hint: str, tmp_path: Path, scripted: ScriptedServer
) -> None:
    scripted.say(status(403, "Forbidden", refused))
    async with pool_of(tmp_path, scripted.url) as pool:
        acting = await opened(pool.acting_for(Team(now=actors.Identity(ANA))))
        with pytest.raises(api_errors.MayNotImpersonate) as caught:
            await acting.list(MAPS)

    assert caught.value.problems[0].message == said
    assert hint in caught.value.problems[0].hint


async def test_what_the_impersonated_may_not_do_is_a_403_as_any_other(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    """As a real API server words it (`authorization.json` of the recordings)."""
    said = (
        'secrets "x" is forbidden: User "system:serviceaccount:a:deployer" cannot patch resource'
        ' "secrets" in API group "" in the namespace "a"'
    )
    scripted.say(status(403, "Forbidden", said))
    async with pool_of(tmp_path, scripted.url) as pool:
        acting = await opened(pool.acting_for(Team(now=actors.Identity(ANA))))
        with pytest.raises(api_errors.Forbidden, match="cannot patch resource"):
            await acting.apply(MAPS, BODY)


async def test_who_is_not_known_now_is_waited_for_and_mends_nothing(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    async with pool_of(tmp_path, scripted.url) as pool:
        team = Team(now=errors.TemporaryError("not read yet"))
        theirs = pool.acting_for(team)
        assert await theirs.client("us") == client_pool.Unavailable("us", "not read yet")

        team.now = actors.Identity(ANA)
        await (await opened(theirs)).version()
