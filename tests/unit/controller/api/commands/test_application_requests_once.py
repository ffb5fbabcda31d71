"""What somebody asks for about an application or a cluster is done once, and answered with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import breaking_store
import command_world
import crash_points
import git_feed
import process_time
import reconciler_fixtures as given
from volary.controller.api.commands import command_handler
from volary.controller.applications import registry
from volary.controller.fleet import cluster_registry, taint_commands
from volary.controller.leadership import context
from volary.controller.persistence import change_signal
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import run_builder, state
from volary.gitops import repository_state
from volary.model import errors, statuses
from volary.model.fleet import cluster_health
from volary.placement.failover import situations
from volary.store import fencing, records, stores

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  placement:
    spread: [{by: cluster, maxGroups: 1}]
"""
PAUSE = state.Pause("bo", given.AT, "lunch")
MOVED = situations.PlacementState(("us",), {"eu": "eu was flooded"})


@dataclass
class Shop:
    """An application of which something is asked, in a world that other lives share."""

    world: given.World
    commit: str
    #: The request about it, as each life finds it.
    asked: records.RequestRecord = field(
        default_factory=lambda: records.RequestRecord("q", "sync", "ana", given.AT, "shop")
    )

    async def begin(self, name: str, case: "Case") -> None:
        """Given the application as it stands, and that something is asked of it."""
        store = self.world.store
        await store.clusters.forget(given.MEMBERS.names, fence=None)
        await self.put_back(case)
        document = {"to": self.commit} if case.document == {"to": ""} else case.document
        about = "" if case.kind == taint_commands.KIND else "shop"
        self.asked = records.RequestRecord(
            name, case.kind, "ana", given.AT, about, document=document
        )
        await store.requests.ask(self.asked)

    async def put_back(self, case: "Case") -> None:
        """Make the application what it was before anything was asked."""
        releases = cluster_releases.ClusterReleases(
            self.commit, {"us": cluster_releases.ClusterRelease(self.commit)}, self.commit
        ).with_placement(MOVED)
        status = application_statuses.ApplicationStatus(
            head=self.commit,
            releases=releases,
            pause=case.pause,
            run=case.run,
            under_way=bool(case.run),
        )
        document = application_statuses.to_document(status)
        record = records.ApplicationRecord(
            "shop",
            "shop",
            "volary.yaml",
            status="synced",
            document=document,
            removed=given.AT if case.kind == "forget" else None,
        )
        await self.world.store.applications.keep(record, fence=None)

    async def status(self) -> application_statuses.ApplicationStatus | None:
        """Return how the application is stored; None: it is not."""
        known = await self.world.store.applications.get("shop")
        return application_statuses.from_document(known.document) if known else None

    async def answer(self) -> records.RequestRecord:
        """Return the request as it is stored."""
        kept = await self.world.store.requests.get(self.asked.id)
        assert kept is not None
        return kept

    async def all_that_is_kept(self) -> tuple[object, ...]:
        """Return what a request could change."""
        store = self.world.store
        return (
            await store.applications.get("shop"),
            await store.commits.list("shop"),
            await store.clusters.list(),
            await store.runs.list(records.RunFilter()),
            await store.notifications.waiting(),
        )


@dataclass(frozen=True)
class Case:
    """Something that is asked, and how it is seen that it is done."""

    kind: str
    is_done: Callable[[Shop], Awaitable[bool]]
    document: dict[str, object] = field(default_factory=dict)
    #: How the application stands before.
    pause: state.Pause | None = None
    run: str = ""


async def is_requested(shop: Shop) -> bool:
    status = await shop.status()
    request = status.run_request if status else None
    return request is not None and request.id == shop.asked.id


async def is_moving(shop: Shop) -> bool:
    status = await shop.status()
    return status is not None and status.move is not None and status.move.id == shop.asked.id


async def is_paused(shop: Shop) -> bool:
    status = await shop.status()
    return status is not None and status.pause is not None and status.pause.by == "ana"


async def is_resumed(shop: Shop) -> bool:
    status = await shop.status()
    return status is not None and status.pause is None


async def is_adopted(shop: Shop) -> bool:
    known = await shop.world.store.applications.get("shop")
    return known is not None and known.repository == "other"


async def is_forgotten(shop: Shop) -> bool:
    return await shop.status() is None


async def is_cordoned(shop: Shop) -> bool:
    known = await shop.world.store.clusters.list()
    return any("cordoned" in str(cluster.document["taints"]) for cluster in known)


CASES = {
    "sync": Case("sync", is_requested),
    "rollback": Case("rollback", is_requested),
    "rollback to a commit": Case("rollback", is_requested, {"to": ""}),
    "rebalance": Case("rebalance", is_moving),
    "pause": Case("pause", is_paused),
    "resume": Case("resume", is_resumed, pause=PAUSE),
    "adopt": Case("adopt", is_adopted, {"repository": "other"}),
    "forget": Case("forget", is_forgotten, {"reason": "it is over"}),
    "cordon": Case(taint_commands.KIND, is_cordoned, {"action": "cordon", "cluster": "us"}),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    """Given an application whose last release succeeded; nothing new is planned."""
    (tmp_path / "volary.yaml").write_text(FILE)
    commit = command_world.commit(tmp_path, "Add the shop")
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        world.script.may_plan.clear()
        for kind in (given.Kind.ROLLBACK, given.Kind.ROLLBACK_TO_COMMIT):
            world.leader.kinds[kind] = given.Release(world.script)  # type: ignore[index]
        await given.keep_run(world.store, ended_run(), given.Kind.RELEASE)
        yield Shop(world, commit)


def ended_run() -> state.Run:
    """Return a release that a person may roll back."""
    spec = run_builder.RunSpec(
        "shop", "new", run_builder.one_group(("us",)), (given.SYNC,), running_commit="old"
    )
    made = run_builder.new_run("r0", spec, given.AT)
    clusters = tuple(replace(cluster, touched=True) for cluster in made.clusters)
    return replace(made, clusters=clusters, status=statuses.RunStatus.SUCCEEDED, finished=given.AT)


@dataclass
class Life:
    """A process from taking the lease to its end: it knows what is stored, and nothing else."""

    leader: context.LeaderContext
    registry: registry.ApplicationRegistry
    handlers: tuple[command_handler.CommandHandler, ...]


@contextlib.asynccontextmanager
async def life(
    shop: Shop,
    wrap: Callable[[stores.Store], stores.Store] = lambda store: store,
) -> AsyncIterator[Life]:
    """Live until the end of the block, then stop whatever is under way."""
    base = shop.world.leader
    try:
        async with asyncio.TaskGroup() as group:
            store, signal = wrap(base.store), base.change_signal
            register = cluster_registry.ClusterRegistry(
                store,
                base.dependencies.clusters,
                base.dependencies.clock,
                cluster_health.HealthRules(),
                signal,
                given.MEMBERS,
            )
            await register.load()
            await register.take(healthy(), fence=None)
            leader = replace(base, store=store, register=register, group=group)
            known = registry.ApplicationRegistry(leader, {})
            await known.load()
            await process_time.until(lambda: is_taken_up(known))
            if shop.asked.kind == "adopt":
                await known.notice(in_another_repository())
            asked = change_signal.ChangeSignal()
            # Two who look at the same list: whoever is second comes with what was read before.
            handlers = tuple(command_handler.CommandHandler(leader, known, asked) for _ in range(2))
            yield Life(leader, known, handlers)
            raise _OverError
    except* _OverError:
        pass


def is_taken_up(known: registry.ApplicationRegistry) -> bool:
    """Say whether a run that was left behind goes on, or cannot."""
    shop = known.reconciler("shop")
    if shop is None or not shop.unfinished_run:
        return True
    return shop.run_under_way is not None or bool(shop.stuck_run)


class _OverError(Exception):
    """The life is over."""


def healthy() -> tuple[cluster_health.ClusterHealth, ...]:
    ready, now = cluster_health.ClusterState.READY, given.Clock().now()
    return tuple(
        cluster_health.ClusterHealth(name, ready, observed=now, steady=given.AT)
        for name in given.MEMBERS.names
    )


def in_another_repository() -> repository_state.RepositoryState:
    typo = errors.Problem("volary.yaml:3: a typo")
    there = repository_state.DiscoveredApplication(
        "shop", "other", "volary.yaml", "c1", None, (typo,)
    )
    return repository_state.RepositoryState("other", "main", None, (there,))


async def answer_all(shop: Shop, lived: Life) -> None:
    """Answer until nothing is left to be answered."""
    async with asyncio.TaskGroup() as group:
        working = [group.create_task(one.keep_handling()) for one in lived.handlers]
        while await shop.world.store.requests.unanswered():
            await lived.leader.change_signal.wait(0.01)
        for work in working:
            work.cancel()


async def live(shop: Shop, crash: crash_points.Crash) -> bool:
    """Live until everything is answered, or the crash; say whether there was none."""
    loop = asyncio.get_running_loop()
    async with life(shop) as lived, asyncio.TaskGroup() as group:
        loop.set_task_factory(crash.factory)
        answering = group.create_task(answer_all(shop, lived))
        loop.set_task_factory(None)
        end = group.create_task(crash.has_come.wait())
        loop.set_task_factory(crash.factory)
        done, _ = await asyncio.wait({answering, end}, return_when=asyncio.FIRST_COMPLETED)
        loop.set_task_factory(None)
        answering.cancel()
        end.cancel()
    return answering in done


def lose_repository(shop: Shop, case: Case) -> None:
    """Have the settings name another repository, where that is what it is about."""
    if case.kind == "adopt":
        addresses = {"other": "https://git.example/other"}
        shop.world.leader.dependencies.addresses = addresses


async def test_what_is_asked_is_done_and_answered_at_once_wherever_a_process_stops(
    shop: Shop, case: Case
) -> None:
    """A crash at every await: it is done exactly when it is answered, and never lost."""
    lose_repository(shop, case)
    is_over, at = False, 0
    while not is_over:
        at += 1
        await shop.begin(f"q{at}", case)
        is_over = await live(shop, crash_points.Crash(at))
        told, is_done = await shop.answer(), await case.is_done(shop)
        async with life(shop) as lived:
            await answer_all(shop, lived)
            after, is_done_after = await shop.answer(), await case.is_done(shop)

        where = f"a crash at await {at}"
        assert (told.answered is not None) == is_done, where
        assert told.refusal == "", where
        assert is_done_after, where
        assert after.refusal == "", where
        assert told in (after, shop.asked), where

    assert at > 3, "some of these lives are cut short"


@pytest.mark.parametrize("refusal", ["", "not now"])
async def test_what_has_an_answer_is_never_done(shop: Shop, case: Case, refusal: str) -> None:
    """By whoever comes with a list that is older than the answer, be it yes or no."""
    lose_repository(shop, case)
    await shop.begin("q1", case)
    async with life(shop) as lived:
        if refusal:
            await shop.world.store.requests.answer("q1", refusal=refusal, fence=None)
        else:
            await answer_all(shop, lived)
    await shop.world.store.clusters.forget(given.MEMBERS.names, fence=None)
    await shop.put_back(case)
    async with life(shop) as lived:
        before, told = await shop.all_that_is_kept(), await shop.answer()

        with pytest.raises(fencing.RequestAnswered, match="q1"):
            await lived.handlers[0].carry_out(shop.asked)

        assert not await case.is_done(shop)
        assert await shop.all_that_is_kept() == before
        assert await shop.answer() == told


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
async def test_an_unknown_error_of_the_store_leaves_what_is_done_and_what_is_told_one(
    shop: Shop, case: Case, done: bool
) -> None:
    """Each call in turn goes wrong, before or after it was carried out."""
    lose_repository(shop, case)
    number, has_broken = 0, True
    while has_broken:
        number += 1
        nth = breaking_store.NthCall(number, done=done)
        await shop.begin(f"q{number}", case)
        async with life(shop, breaking_store.breaking(nth)) as lived:
            work = lived.leader.group.create_task(lived.handlers[0].keep_handling())
            async with asyncio.timeout(process_time.HANG):
                while (await shop.answer()).answered is None:
                    await lived.leader.change_signal.wait(0.05)
            work.cancel()
            has_broken = nth.has_broken
            where = f"call {number}, {nth.seen[number - 1 : number]}"
            assert (not (await shop.answer()).refusal) == await case.is_done(shop), where
            kept = await shop.world.store.applications.get("shop")
            reconciler = lived.registry.reconciler("shop")
            known = reconciler.record if reconciler else None
            assert asked_for(kept) == asked_for(known), f"{where}: the process knows what is kept"


def asked_for(record: records.ApplicationRecord | None) -> object:
    """Return what a record says that somebody may have asked for; None: there is none."""
    if record is None:
        return None
    status = application_statuses.from_document(record.document)
    return record.repository, status.run_request, status.move, status.pause


async def test_a_pause_and_its_end_reach_the_run_under_way_wherever_a_process_stops(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, script = shop.world.store, shop.world.script
    monkeypatch.setattr(given.ready_runs, "take_up", script.take_up)
    script.stages.may_end.clear()
    spec = run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), (given.SYNC,))
    run = run_builder.new_run("r1", spec, given.AT)
    await given.keep_run(store, run, given.Kind.RELEASE)

    async def is_run_paused() -> bool:
        stored = await store.runs.load("r1")
        assert stored is not None
        return given.codec.read_run(stored).pause is not None

    is_over, at = False, 0
    while not is_over:
        is_over, at = True, at + 1
        await shop.begin(f"pause-{at}", replace(CASES["pause"], run="r1"))
        for kind, wanted in (("pause", True), ("resume", False)):
            if kind == "resume":
                shop.asked = replace(shop.asked, id=f"resume-{at}", kind=kind)
                await store.requests.ask(shop.asked)
            is_over &= await live(shop, crash_points.Crash(at))
            told, is_done = await shop.answer(), await is_paused(shop) == wanted
            assert (told.answered is not None) == is_done, (kind, at)
            assert not is_done or await is_run_paused() == wanted, (kind, at)
            async with life(shop) as lived:
                await answer_all(shop, lived)
            assert (await shop.answer()).refusal == "", (kind, at)
            assert (await is_paused(shop), await is_run_paused()) == (wanted, wanted), (kind, at)
    assert at > 10, "some of these lives are cut short"


async def test_a_rollback_ends_the_run_that_cannot_go_on_wherever_a_process_stops(
    shop: Shop,
) -> None:
    store, case = shop.world.store, CASES["rollback to a commit"]
    spec = run_builder.RunSpec("shop", "gone", run_builder.one_group(("us",)), (given.SYNC,))
    is_over, at = False, 0
    while not is_over:
        at += 1
        await shop.begin(f"q{at}", case)
        stuck = run_builder.new_run(f"r{at}", spec, given.AT)
        await given.keep_run(store, stuck, given.Kind.RELEASE)
        is_over = await live(shop, crash_points.Crash(at))
        told, is_requested_now = await shop.answer(), await is_requested(shop)
        assert (told.answered is not None) == is_requested_now, at
        assert not is_requested_now or await store.runs.unfinished() == (), at
        async with life(shop) as lived:
            await answer_all(shop, lived)
        assert (await shop.answer()).refusal == "", at
        assert await is_requested(shop), at
        assert await store.runs.unfinished() == (), at
    assert at > 10, "some of these lives are cut short"
