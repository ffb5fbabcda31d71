"""Who may be an agent: tokens by their hashes, rotation, and the cluster it is bound to."""

from collections.abc import AsyncIterator

import pytest

import store_fixtures
from volary.agents import hellos
from volary.agents.orders import keys
from volary.controller import refusals
from volary.controller.agents import agent_registry
from volary.model import errors
from volary.store import factory, records

KEY = keys.public(keys.read_opening(keys.generate_opening()))
AGENT, WORKER = records.AgentKind.AGENT, records.AgentKind.WORKER
OTHER = keys.public(keys.read_opening(keys.generate_opening()))


@pytest.fixture
async def registry() -> AsyncIterator[agent_registry.AgentRegistry]:
    clock = store_fixtures.TurnedClock()
    async with factory.open_store("memory:", clock=clock) as store:
        yield agent_registry.AgentRegistry(store, clock)


async def known(registry: agent_registry.AgentRegistry, token: str) -> records.AgentRecord:
    agent = await registry.authenticate(token)
    assert agent is not None
    return agent


def hello(uid: str = "uid-us", cluster: str = "us", newest: int = 1) -> hellos.Hello:
    return hellos.Hello("0.1.0", (newest, newest), cluster, uid, ("reads nothing",))


async def test_a_token_is_known_and_kept_as_a_hash(
    registry: agent_registry.AgentRegistry,
) -> None:
    agent, token = await registry.join("us", KEY)

    assert token.startswith("volary_agent_")
    assert (await known(registry, token)).name == "us"
    assert token not in repr(await registry.list(AGENT))
    assert agent.clusters == ("us",)
    for wrong in ("", "volary_agent_", token[:-1], token + "x", agent.hash, "\udcff" * 30):
        assert await registry.authenticate(wrong) is None


async def test_a_cluster_has_one_agent(registry: agent_registry.AgentRegistry) -> None:
    _, token = await registry.join("us", KEY)
    with pytest.raises(refusals.Conflict, match="has an agent"):
        await registry.join("us", KEY)

    assert await registry.authenticate(token) is not None, "the first one stays"


async def test_the_token_before_is_good_until_the_new_one_was_seen(
    registry: agent_registry.AgentRegistry,
) -> None:
    _, first = await registry.join("us", KEY)
    _, unused = await registry.rotate(AGENT, "us", KEY)
    agent, second = await registry.rotate(AGENT, "us", OTHER)

    assert (agent.sealing_key, agent.previous_sealing_key) == (OTHER, KEY)
    assert await registry.authenticate(unused) is None, "it was replaced before anybody used it"
    assert await registry.authenticate(first) is not None
    assert await registry.authenticate(second) is not None
    assert await registry.authenticate(first) is None
    assert (await registry.get(AGENT, "us")).previous_sealing_key == ""


async def test_who_is_removed_is_nobody(registry: agent_registry.AgentRegistry) -> None:
    _, first = await registry.join("us", KEY)
    _, second = await registry.rotate(AGENT, "us", KEY)
    await registry.remove(AGENT, "us")

    assert [await registry.authenticate(token) for token in (first, second)] == [None, None]
    for gone in (registry.remove(AGENT, "us"), registry.rotate(AGENT, "us", KEY)):
        with pytest.raises(refusals.NotFound):
            await gone


async def test_a_key_that_is_none_registers_nobody(
    registry: agent_registry.AgentRegistry,
) -> None:
    with pytest.raises(errors.UserError, match="public key cannot be used"):
        await registry.join("us", "A" * 44)

    assert await registry.list(AGENT) == ()


async def test_the_first_cluster_is_the_one_it_is_bound_to(
    registry: agent_registry.AgentRegistry,
) -> None:
    _, token = await registry.join("us", KEY)
    agent = await known(registry, token)

    assert await registry.welcome(agent, hello(), version="0.1.0") == 1
    assert await registry.welcome(agent, hello(), version="0.1.0") == 1
    with pytest.raises(agent_registry.RefusedError, match="comes from another cluster"):
        await registry.welcome(agent, hello("uid-eu"), version="0.1.0")
    with pytest.raises(agent_registry.RefusedError, match="is not for cluster eu"):
        await registry.welcome(agent, hello("uid-us", "eu"), version="0.1.0")
    assert (await registry.get(AGENT, "us")).cluster_uid == "uid-us"


async def test_without_a_common_protocol_it_is_bound_to_nothing_and_the_reason_is_kept(
    registry: agent_registry.AgentRegistry,
) -> None:
    _, token = await registry.join("us", KEY)
    with pytest.raises(agent_registry.RefusedError, match="update the older one"):
        await registry.welcome(await known(registry, token), hello(newest=99), version="0.1.0")

    agent = await registry.get(AGENT, "us")
    assert agent.cluster_uid == ""
    assert "speaks protocol 99" in agent.reason
    assert (agent.version, agent.protocol) == ("0.1.0", 0)


async def test_workers_and_agents_are_told_apart(registry: agent_registry.AgentRegistry) -> None:
    _, token = await registry.join("us", KEY)
    _, first = await registry.join_worker("hands", ["eu", "asia", "eu"], KEY)
    hands, second = await registry.rotate(WORKER, "hands", OTHER)

    assert [(one.name, one.clusters) for one in await registry.list(WORKER)] == [
        ("hands", ("asia", "eu"))
    ]
    assert [one.name for one in await registry.list(AGENT)] == ["us"]
    assert [(await known(registry, shown)).name for shown in (first, second)] == ["hands"] * 2
    assert await registry.authenticate(first) is None
    with pytest.raises(agent_registry.RefusedError, match="hands is a worker"):
        await registry.welcome(hands, hello("uid-eu", "eu"), version="0.1.0")
    for kind, name in ((AGENT, "hands"), (WORKER, "us")):
        with pytest.raises(refusals.NotFound, match=f"there is no {kind.value} {name}"):
            await registry.rotate(kind, name, KEY)
        with pytest.raises(refusals.NotFound, match=f"there is no {kind.value} {name}"):
            await registry.remove(kind, name)
    assert await registry.authenticate(token) is not None, "it was nobody else's to remove"
    await registry.remove(WORKER, "hands")
    assert await registry.authenticate(second) is None
