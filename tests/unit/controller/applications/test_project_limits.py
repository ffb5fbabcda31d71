"""Runs of one project wait for each other; those of others, and ways back, do not."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

import process_time
import reconciler_fixtures as given
from volary.controller.runs import project_rules
from volary.engine.runs import run_builder
from volary.gitops import triggers
from volary.model import errors, projects
from volary.model.placement import rollouts
from volary.tenancy import membership, restrictions

#: Closed whenever the test runs.
ALWAYS = rollouts.Window("always", "* * * * *", timedelta(days=1))


class TeamA:
    """The project as it is now."""

    def __init__(self, runs: int, clusters: int = 0) -> None:
        self.runs = runs
        self.clusters = clusters
        self.windows = rollouts.Windows()

    def __call__(self) -> membership.Projects:
        limits = projects.ProjectLimits(runs=self.runs, clusters=self.clusters)
        destinations = (projects.Destination(namespaces=("*",)),)
        team = projects.Project(
            "team-a", destinations=destinations, limits=limits, windows=self.windows
        )
        return membership.Projects({"team-a": team})


@pytest.fixture
async def world() -> AsyncIterator[given.World]:
    async with given.leading() as made:
        yield made


async def until_begun(world: given.World, name: str) -> None:
    async with asyncio.timeout(process_time.HANG):
        while not world.registry.reconciler_of(name).status.under_way:
            await world.leader.change_signal.wait(0.05)


async def until_waiting(world: given.World, name: str) -> str:
    async with asyncio.timeout(process_time.HANG):
        while not (reason := world.registry.reconciler_of(name).status.waiting_reason):
            await world.leader.change_signal.wait(0.05)
    return reason


async def submit(world: given.World, name: str, **more: object) -> None:
    reconciler = world.registry.reconciler_of(name)
    await reconciler.change(project="team-a")
    await reconciler.submit(given.request(f"run-of-{name}", **more))  # type: ignore[arg-type]


async def test_a_run_more_than_may_be_waits_and_says_for_what(world: given.World) -> None:
    world.leader.dependencies.projects = TeamA(1)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")

    await submit(world, "two")

    assert await until_waiting(world, "two") == ("project team-a may have 1 run under way at once")
    world.script.stages.may_end.set()
    for name in ("one", "two"):
        await world.until(lambda found: found.status == "synced", name)
    assert world.script.prepared == ["run-of-one", "run-of-two"]


async def test_a_larger_limit_lets_it_go_while_it_waits(world: given.World) -> None:
    world.leader.dependencies.projects = now = TeamA(1)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")
    await submit(world, "two")
    await until_waiting(world, "two")

    now.runs = 2
    world.registry.reconciler_of("two").work()

    await until_begun(world, "two")
    assert world.registry.reconciler_of("one").status.under_way


async def test_what_is_withdrawn_while_it_waits_holds_up_nobody(world: given.World) -> None:
    world.leader.dependencies.projects = TeamA(1)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")
    await submit(world, "two")
    await until_waiting(world, "two")
    await submit(world, "three")
    assert "1 application came before" in await until_waiting(world, "three")

    two = world.registry.reconciler_of("two")
    await two.change({"run_request": None})
    two.work()
    world.script.stages.may_end.set()

    await world.until(lambda found: found.status == "synced", "three")
    assert "run-of-two" not in world.script.prepared


async def test_a_move_does_not_wait(world: given.World) -> None:
    world.leader.dependencies.projects = TeamA(1)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")
    mover = world.registry.reconciler_of("two")
    await mover.change(project="team-a")

    await mover.change({"move": given.request("m1", kind=given.Kind.MOVE)})
    mover.work()

    async with asyncio.timeout(process_time.HANG):
        while "m1" not in world.script.prepared:
            await world.leader.change_signal.wait(0.05)


async def test_tasks_of_a_run_ask_for_the_project_that_the_application_has_now(
    world: given.World,
) -> None:
    """Not for the one that it had when the run was planned."""
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")
    look_up = world.script.stages.standing
    assert look_up is not None
    assert look_up().project == now().by_name["team-a"]

    await world.registry.reconciler_of("one").change(project="team-b")

    assert look_up().reason == "there is no project team-b any more"


async def test_a_limit_of_clusters_that_becomes_smaller_holds_for_the_run_under_way(
    world: given.World,
) -> None:
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.stages.may_end.clear()
    await submit(world, "one")
    await until_begun(world, "one")

    now.clusters = 1
    await world.registry.review()
    reconciler = world.registry.reconciler_of("one")
    async with asyncio.timeout(process_time.HANG):
        while (run := reconciler.run_under_way) is None or run.most_at_once != 1:
            await world.leader.change_signal.wait(0.05)

    stored = await world.store.runs.load("run-of-one")
    assert stored is not None
    assert given.codec.read_run(stored).most_at_once == 1
    world.script.stages.may_end.set()
    await world.until(lambda found: found.status == "synced", "one")


async def test_windows_that_close_meanwhile_hold_up_what_has_not_begun(world: given.World) -> None:
    """Also where nobody looked between the planning of the run and its beginning."""
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.may_plan.clear()
    await submit(world, "one")
    await world.script.planning.wait()
    now.windows = rollouts.Windows(deny=(rollouts.ClusterWindow(ALWAYS),))
    world.script.may_plan.set()

    reconciler = world.registry.reconciler_of("one")
    async with asyncio.timeout(process_time.HANG):
        while (run := reconciler.run_under_way) is None or "denied by always" not in run.reason:
            await world.leader.change_signal.wait(0.05)
    assert "denied by always of project team-a" in run.reason
    assert not world.script.stages.begun.is_set()

    now.windows = rollouts.Windows()
    await world.registry.review()
    await world.until(lambda found: found.status == "synced", "one")


async def test_a_run_that_is_taken_up_goes_on_by_what_the_project_says_then(
    world: given.World,
) -> None:
    spec = run_builder.RunSpec("one", "c1", run_builder.one_group(("us", "eu")), (given.SYNC,))
    run = run_builder.new_run("r1", spec, given.AT)
    now = TeamA(0, clusters=1)

    windows = rollouts.Windows(deny=(rollouts.ClusterWindow(ALWAYS),))
    standing = membership.Standing(replace(now().by_name["team-a"], windows=windows))
    clusters = given.MEMBERS.clusters
    release = project_rules.applied(run, given.Kind.RELEASE, standing, clusters, given.AT)
    back = project_rules.applied(run, given.Kind.ROLLBACK_TO_COMMIT, standing, clusters, given.AT)

    assert [rule.targets for rule in release.windows] == [("us", "eu")]
    assert (back.windows, back.most_at_once) == ((), 1)
    gone = membership.Standing(reason="there is no project team-a any more")
    assert project_rules.applied(release, given.Kind.RELEASE, gone, clusters, given.AT) is release


REFUSED = restrictions.NotPermittedError(errors.Problem("project team-a may not deploy Ingress"))


async def until_refused(world: given.World, name: str) -> None:
    async with asyncio.timeout(process_time.HANG):
        while world.registry.reconciler_of(name).record.status != "failed":
            await world.leader.change_signal.wait(0.05)


async def test_a_commit_that_was_not_permitted_is_decided_anew_once_the_project_permits_more(
    world: given.World,
) -> None:
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.troubles += [REFUSED]
    await submit(world, "one")
    await until_refused(world, "one")

    await world.registry.review()
    await world.registry._queues.wait("one")
    assert world.script.prepared == ["run-of-one"], "the same project refuses the same"

    now.clusters = 3
    await world.registry.review()

    await world.until(lambda found: found.status == "synced", "one")
    again = world.script.prepared[1:]
    assert len(again) == 1
    run = await world.store.runs.load(again[0])
    assert run is not None
    assert run.origin["reason"] == "project team-a is another than when it refused this"
    assert world.registry.reconciler_of("one").status.not_permitted is None


async def test_the_next_leader_knows_under_which_project_a_commit_was_refused(
    world: given.World,
) -> None:
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.troubles += [REFUSED]
    await submit(world, "one")
    await until_refused(world, "one")

    now.clusters = 3
    later = given.registry.ApplicationRegistry(world.leader, {})
    await later.load()

    await world.until(lambda found: found.status == "synced", "one")


async def test_what_a_person_asked_for_and_what_came_after_it_is_not_begun_later(
    world: given.World,
) -> None:
    world.leader.dependencies.projects = now = TeamA(0)
    world.script.troubles += [REFUSED]
    await submit(world, "one", trigger=triggers.Kind.COMMAND)
    await until_refused(world, "one")
    assert world.registry.reconciler_of("one").status.not_permitted is None

    world.script.troubles += [REFUSED]
    await submit(world, "two")
    await until_refused(world, "two")
    person = given.request("by-hand", "c2", trigger=triggers.Kind.COMMAND)
    await world.registry.reconciler_of("two").submit(person)
    await world.until(lambda found: found.running_commit == "c2", "two")

    now.clusters = 3
    await world.registry.review()
    for name in ("one", "two"):
        await world.registry._queues.wait(name)
    assert world.script.prepared == ["run-of-one", "run-of-two", "by-hand"]
