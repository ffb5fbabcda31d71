"""Orders of a run: what they are given for, and what an agent makes of them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from volary.agents.orders import keys, orders
from volary.agents.policy import decisions
from volary.agents.tasks import bundled_runs, permissions, services
from volary.analysis.metering import meters
from volary.clusters.client import client_pool, fleet_clients, write_rules
from volary.controller.agents import run_orders, task_services
from volary.controller.persistence import redaction
from volary.engine import executor
from volary.engine.execution import task_contexts
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.engine.state_machine import commands, events, machine
from volary.engine.temporal import documents, hosted_runs
from volary.model import applications, errors, json, projects
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages import executor as stage_executor
from volary.store import factory, records, stores
from volary.tenancy import membership

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = keys.read(keys.generate())
AGENT, ROTATED, STRANGER = (keys.read_opening(keys.generate_opening()) for _ in range(3))
STAGES = (
    pipelines.Stage(rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PRIMARY_ROLLOUT.options()),
)
RUN = run_builder.new_run(
    "run-1",
    run_builder.RunSpec("shop", "new", run_builder.one_group(("us", "eu")), STAGES, "old"),
    START,
)
#: As it is when its first task is carried out.
STARTED = machine.advance(RUN, events.Start(START)).run
FLEET = fleets.Fleet((fleets.Cluster("us", agent=True), fleets.Cluster("eu")))
SECRET = manifest.Manifest(
    {"kind": "Secret", "metadata": {"name": "db"}, "data": {"a": "aHVudGVy"}}
)


@dataclass
class Clock:
    """Shows what it is set to."""

    time: datetime = START

    def now(self) -> datetime:
        return self.time


class NoClients:
    """Clients of a fleet of which none answers."""

    fleet = FLEET
    clock = Clock()

    def member(self, name: str) -> fleets.Cluster | None:
        return next((one for one in FLEET.clusters if one.name == name), None)

    def acting_for(self, _: object) -> "NoClients":
        return self

    async def client(self, name: str) -> fleet_clients.Unavailable:
        return fleet_clients.Unavailable(name, "it is away")


@dataclass
class Direct:
    """Asks what a server answers, without the way there."""

    answers: task_services.TaskServices
    clusters: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self.answers, name)
        return lambda *asked, **more: answer(self.clusters, *asked, **more)


@dataclass
class World:
    """A leader that gives orders, and an agent that takes them."""

    store: stores.Store
    clock: Clock
    orders: run_orders.RunOrders
    answers: task_services.TaskServices
    rendered: list[tuple[str, str]] = field(default_factory=list)

    async def joined(self, *opening: keys.OpeningKey) -> None:
        """Given: the agent of us has these keys, the newest first."""
        publics = [*map(keys.public, opening), ""]
        await self.store.agents.remove("us")
        await self.store.agents.add(
            records.AgentRecord(
                "us",
                "hash",
                START,
                START,
                sealing_key=publics[0],
                previous_sealing_key=publics[1],
                document={"clusters": ["us"]},
            )
        )

    def agent(
        self,
        *opening: keys.OpeningKey,
        permitted: permissions.Permissions | None = None,
        clusters: Sequence[str] = ("us",),
        key: keys.SigningKey = KEY,
    ) -> bundled_runs.BundledRuns:
        return bundled_runs.BundledRuns(
            bundled_runs.Identity(tuple(clusters), [key.public_key()], lambda: opening or (AGENT,)),
            cast("services.Services", Direct(self.answers, tuple(clusters))),
            cast("client_pool.ClientPool", NoClients()),
            permitted or permissions.PermitAll(),
            self.clock,
        )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = Clock()
    async with factory.open_store("memory:", clock=clock) as store:
        first = transitions.first_transition(STARTED, {"targets": list(RUN.targets)}, START)
        await store.keep_transition(first, fence=None)
        apart = run_orders.ApartTasks(lambda: KEY)
        made: list[tuple[str, str]] = []

        async def render(commit: str, target: str) -> list[manifest.Manifest]:
            made.append((commit, target))
            if commit == "old":
                raise errors.user_error("Secret shop/db would not be as planned")
            return [SECRET]

        performer = stage_executor.ClusterExecutor(
            applications.Application("shop"),
            cast("client_pool.ClientPool", NoClients()),
            render,
            clock,
        )
        answers = task_services.TaskServices(
            store, clock, meters.NoMeter(), redaction.SecretValues(), apart
        )
        given = run_orders.RunOrders(RUN, performer, store, None, clock, apart)
        yield World(store, clock, given, answers, made)


def task(**changed: Any) -> executor.TaskContext:
    command = commands.StartTask(RUN.stages[0].id, "us", 1, START + timedelta(hours=1))
    return replace(task_contexts.of_command(RUN, command), **changed)


async def test_orders_are_for_clusters_with_agents_and_empty_until_one_has_joined(
    world: World,
) -> None:
    assert await world.orders.changed() == {"us": {}}
    assert await world.orders.changed() == {}

    await world.joined(AGENT)
    later = await world.orders.changed()

    assert later.keys() == {"us"}
    assert await world.orders.changed() == {}


async def test_the_agent_has_what_the_leader_rendered(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]

    host = await world.agent().of_task(task(), order)

    performer = cast("Any", host.performer).stages
    assert await performer.render("new", "us") == [SECRET]
    with pytest.raises(errors.UserError, match="would not be as planned"):
        await performer.render_before("old", "us")
    assert host.clean({"reason": "password hunter"}) == {"reason": "password *****"}


async def test_nothing_of_the_manifests_is_in_an_order(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]

    assert "hunter" not in str(order)
    assert order.keys() == {"order", "signature"}


async def test_orders_are_given_anew_before_they_expire_with_the_same_artifact(
    world: World,
) -> None:
    await world.joined(AGENT)
    first = (await world.orders.changed())["us"]
    world.clock.time = START + timedelta(days=3)

    second = (await world.orders.changed())["us"]

    one, two = (msgspec.json.decode(each["order"], type=orders.Order) for each in (first, second))
    assert two.artifact == one.artifact
    assert two.expires == one.expires + timedelta(days=3)
    assert world.rendered == [("new", "us"), ("old", "us")]


async def test_with_other_keys_the_bundle_is_sealed_anew_for_both(world: World) -> None:
    await world.joined(AGENT)
    old = (await world.orders.changed())["us"]
    await world.joined(ROTATED, AGENT)
    new = (await world.orders.changed())["us"]

    assert await world.agent(AGENT).of_task(task(), new)
    assert await world.agent(ROTATED).of_task(task(), new)
    with pytest.raises(hosted_runs.OtherRecipientsError, match="sealed for another key"):
        await world.agent(ROTATED).of_task(task(), old)


async def test_what_the_project_permits_now_is_in_a_new_order(world: World) -> None:
    await world.joined(AGENT)
    known = [projects.Project("team-a", stages=("K8S_PRIMARY_ROLLOUT",))]
    world.orders.performer.standing = lambda: membership.Standing(known[0])
    await world.orders.changed()
    assert await world.orders.changed() == {}
    known[0] = replace(known[0], stages=("K8S_SYNC",))

    order = (await world.orders.changed())["us"]

    host = await world.agent().of_task(task(), order)
    assert cast("Any", host.performer).stages.standing().project.stages == ("K8S_SYNC",)


async def test_another_leader_uses_the_artifact_that_is_there(world: World) -> None:
    await world.joined(AGENT)
    first = (await world.orders.changed())["us"]
    mine = world.orders
    other = run_orders.RunOrders(RUN, mine.performer, mine.store, None, mine.clock, mine.apart)

    assert (await other.changed())["us"] == first


async def refusal(world: World, agent: bundled_runs.BundledRuns, **changed: Any) -> str:
    """Return why a task is refused."""
    given = (await world.orders.changed()).get("us", {})
    order: json.JsonObject = changed.pop("order", given)
    with pytest.raises(hosted_runs.RefusedError) as caught:
        await agent.of_task(task(**changed), order)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"order": {}}, "there is no order"),
        ({"order": {"order": 3}}, "there is no order"),
        ({"run_id": "run-2"}, "and not for run-2 on us"),
        ({"target": "eu"}, "and not for run-1 on eu"),
        ({"application": "bank"}, "is for application shop"),
        ({"stage": replace(STAGES[0], timeout=timedelta(days=9))}, "has signed"),
        ({"begun": (replace(STAGES[0], description="another"),)}, "has signed"),
    ],
)
async def test_a_task_that_is_not_of_the_order_is_refused(
    world: World, changed: dict[str, Any], why: str
) -> None:
    await world.joined(AGENT)

    assert why in await refusal(world, world.agent(), **changed)


async def test_who_it_is_not_for_refuses(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]

    stranger = world.agent(key=keys.read(keys.generate()))
    assert "not signed by the controller" in await refusal(world, stranger, order=order)
    with pytest.raises(hosted_runs.OtherRecipientsError, match="sealed for another key"):
        await world.agent(STRANGER).of_task(task(), order)
    assert "for cluster us" in await refusal(world, world.agent(clusters=["eu"]), order=order)
    world.clock.time = START + timedelta(days=8)
    assert "expired" in await refusal(world, world.agent(), order=order)


class Denies:
    """Permits nothing but what is left out."""

    def refusal_of_task(self, work: decisions.Work, targets: Sequence[decisions.Target]) -> str:
        return f"{work.stage} of {work.application} is not for here"

    def refusal_of_write(self, work: decisions.Work, write: write_rules.Write) -> str:
        return "never"

    def refusal_of_identity(self, identity: object) -> str:
        return ""


async def test_what_the_owner_does_not_permit_is_refused(world: World) -> None:
    await world.joined(AGENT)

    why = await refusal(world, world.agent(permitted=Denies()))

    assert why == "K8S_PRIMARY_ROLLOUT of shop is not for here"


async def test_an_artifact_that_was_exchanged_is_refused(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]
    named = msgspec.json.decode(order["order"], type=orders.Order).artifact
    other = records.ArtifactRecord(named, "run-1", "us", "", START)
    await world.store.artifacts.keep(other, b"something else", fence=None)

    assert "not the one that the order names" in await refusal(world, world.agent(), order=order)


async def test_what_the_run_has_not_under_way_is_not_done_again(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]
    again = await refusal(world, world.agent(), order=order, attempt=2)
    with pytest.raises(hosted_runs.RefusedError, match="follows its end on us is not under way"):
        await world.agent().of_conclusion(documents.ConclusionInput("run-1", "us", order, 9.0))

    assert "K8S_PRIMARY_ROLLOUT on us is not under way in run run-1" in again


async def test_artifacts_go_once_what_follows_their_runs_end_is_over(world: World) -> None:
    await world.joined(AGENT)
    order = (await world.orders.changed())["us"]
    named = msgspec.json.decode(order["order"], type=orders.Order).artifact
    rule = records.Retention(START - timedelta(days=1), 10)
    await world.store.prune(rule, fence=None)
    assert await world.store.artifacts.body(named, "us")

    ended = replace(transitions.first_transition(RUN, {}, START), expected_version=1)
    ended = replace(ended, head=replace(ended.head, finished=START))
    await world.store.keep_transition(ended, fence=None)
    await world.store.prune(rule, fence=None)
    at_once = await world.store.artifacts.body(named, "us")
    world.clock.time = START + timedelta(hours=2)
    await world.store.prune(rule, fence=None)

    assert at_once, "clusters let go of what they keep for a way back only after the end"
    assert await world.store.artifacts.body(named, "us") is None
