"""What somebody asks for is done once, wherever the process that does it stops."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import msgspec

import crash_points
import process_time
import reconciler_fixtures as given
from store_fixtures import (  # noqa: F401 (fixtures are found by name)
    database_address,
    migrated_database,
    migrated_file,
    postgres,
)
from volary.controller.api.commands import command_handler
from volary.controller.persistence import change_signal, journal
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.persistence import codec
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, sightings
from volary.manifests import redaction
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.store import factory, records, stores

FIRST, SECOND = "1-WAIT_APPROVAL", "2-WAIT_APPROVAL"


def gate() -> pipelines.Stage:
    options = waiting_stages.ApprovalOptions(("ana", "bo"))
    return pipelines.Stage(waiting_stages.WAIT_APPROVAL.name, options, timedelta(days=1))


def planned(run_id: str) -> state.Run:
    spec = run_builder.RunSpec(
        "shop", "new", run_builder.one_group(("us",)), (gate(), gate()), "", policies.Policy()
    )
    return run_builder.new_run(run_id, spec, process_time.now())


class Gates:
    """Ends at once where a gate is open."""

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "it is open")

    async def conclude(self, ended: state.Run) -> None:
        pass


@dataclass
class OneRun:
    """The only application, with its run under way: what a handler asks of the registry."""

    runner: runners.Runner

    def reconciler(self, _: str) -> "OneRun":
        return self

    @property
    def run_under_way(self) -> state.Run:
        return self.runner.run

    async def request(self, _: str, event: events.Event) -> str:
        return await self.runner.request(event)


async def live(world: given.World, run_id: str, crash: crash_points.Crash | None) -> bool:
    """Carry the run out until every request is answered; say whether the life came to its end."""
    loop = asyncio.get_running_loop()
    if crash is None:
        await _drive(world, run_id)
        return True
    loop.set_task_factory(crash.factory)
    async with asyncio.TaskGroup() as group:
        life = group.create_task(_drive(world, run_id))
        loop.set_task_factory(None)
        end = group.create_task(crash.has_come.wait())
        loop.set_task_factory(crash.factory)
        done, _ = await asyncio.wait({life, end}, return_when=asyncio.FIRST_COMPLETED)
        loop.set_task_factory(None)
        life.cancel()
        end.cancel()
    return life in done


class _OverError(Exception):
    """Everything was answered."""


async def _drive(world: given.World, run_id: str) -> None:
    store = world.store
    try:
        async with asyncio.TaskGroup() as group:
            runner = await resumed(store, run_id)
            leader = replace(world.leader, group=group)
            asked = change_signal.ChangeSignal()
            group.create_task(runner.carry_out())
            # Two who look at the same list: whoever is second comes with what was read before.
            for _ in range(2):
                run: Any = OneRun(runner)
                handler = command_handler.CommandHandler(leader, run, asked)
                group.create_task(handler.keep_handling())
            while await store.requests.unanswered():
                await leader.change_signal.wait(0.01)
            raise _OverError
    except* _OverError:
        pass


async def resumed(store: stores.Store, run_id: str) -> runners.Runner:
    """Return what goes on with a run as it is stored."""
    stored = await store.runs.load(run_id)
    assert stored is not None
    run = codec.read_run(stored)
    keeper = journal.StoreJournal(store, run, stored.version, None, redaction.Masker())
    return runners.Runner(run, Gates(), clock=given.Clock(), keeper=keeper)


async def begun(store: stores.Store, run_id: str) -> state.Sighting:
    """Given: a run that waits at the first of two gates in a row; return what there is to see."""
    await given.keep_run(store, planned(run_id), given.Kind.RELEASE)
    runner = await resumed(store, run_id)
    async with asyncio.TaskGroup() as group:
        working = group.create_task(runner.carry_out())
        await process_time.until(lambda: runner.run.status is statuses.RunStatus.WAITING)
        working.cancel()
    return sightings.of_run(runner.run)


async def ask(store: stores.Store, name: str, run_id: str, seen: state.Sighting) -> None:
    document = {"seen": msgspec.to_builtins(seen)}
    asked = records.RequestRecord(
        name, "approve", "ana", process_time.now(), "shop", run_id, document=document
    )
    await store.requests.ask(asked)


#: A life is put aside about a hundred times; after that it only looks again.
CRASHES = (*range(1, 40), *range(40, 120, 4), *range(120, 240, 30), 2000)


async def test_a_request_is_done_once_wherever_a_process_stops(
    database_address: str,  # noqa: F811 (a fixture)
) -> None:
    """Approved twice by one person, at two gates in a row, and a crash at every await."""
    ended = []
    async with given.leading(database_address) as world:
        for at in CRASHES:
            run_id, names = f"run-{at}", (f"{at}-q1", f"{at}-q2")
            seen = await begun(world.store, run_id)
            for name in names:
                await ask(world.store, name, run_id, seen)
            ended.append(await live(world, run_id, crash_points.Crash(at)))
            told = [await world.store.requests.get(name) for name in names]
            await live(world, run_id, None)
            stored = await world.store.runs.load(run_id)
            approvals = await world.store.runs.approvals(run_id)
            answers = [await world.store.requests.get(name) for name in names]

            where = f"a crash at await {at}"
            assert stored is not None
            assert [(one.stage, one.by) for one in approvals] == [(FIRST, "ana")], where
            assert sightings.of_run(codec.read_run(stored)).stage in (FIRST, SECOND), where
            done, refused = sorted(one.refusal for one in answers if one)
            assert done == "", where
            assert refused.startswith(f"stage {FIRST} was approved by ana"), (where, refused)
            kept = [(one, then) for one, then in zip(told, answers, strict=True) if one]
            assert [one for one, then in kept if one.answered and one != then] == [], where

    assert not any(ended[:20]), "the first of these lives are cut short"
    assert ended[-1], "the last ones are not"


async def test_what_was_refused_is_not_carried_out_later() -> None:
    """Somebody was told no while the run did not answer; then it does."""
    async with factory.open_store("memory:", clock=given.Clock()) as store:
        seen = await begun(store, "run-1")
        await ask(store, "q1", "run-1", seen)
        await store.requests.answer("q1", refusal="the run does not answer", fence=None)
        runner = await resumed(store, "run-1")
        event = events.Approve(process_time.now(), "ana", seen=seen, id="q1")
        async with asyncio.TaskGroup() as group:
            working = group.create_task(runner.carry_out())
            refused = await runner.request(event)
            working.cancel()
        stored = await store.runs.load("run-1")

        assert "answered before" in refused
        assert stored is not None
        assert codec.read_run(stored) == runner.run
        assert sightings.of_run(runner.run) == seen


class SlowHandler(command_handler.CommandHandler):
    """Answers only when the requests have been looked at again."""

    def watch(self, store: stores.Store, asked: change_signal.ChangeSignal) -> None:
        self.done: list[str] = []
        self.looks = 0
        self._looked, self._asked_again = asyncio.Event(), asked
        self._look, store.requests.unanswered = store.requests.unanswered, self._looked_at  # type: ignore[method-assign]

    async def carry_out(self, request: records.RequestRecord) -> str:
        self.done.append(request.id)
        self._asked_again.notify_all()
        await self._looked.wait()
        return ""

    async def _looked_at(self, *, after: int) -> tuple[records.RequestRecord, ...]:
        waiting = await self._look(after=after)
        if after:
            return waiting  # the rest of the same list
        self.looks += 1
        if self.looks == 2:
            self._looked.set()
            # The list is on its way until the answer is kept.
            await self._leader.change_signal.wait(process_time.HANG)
            asyncio.get_running_loop().call_soon(self._asked_again.notify_all)
        return waiting


async def test_a_list_that_was_read_before_the_answer_has_it_done_no_second_time() -> None:
    async with given.leading() as world:
        asked, registry = change_signal.ChangeSignal(), cast("Any", None)
        handler = SlowHandler(world.leader, registry, asked)
        handler.watch(world.store, asked)
        await world.store.requests.ask(
            records.RequestRecord("q1", "pause", "ana", process_time.now(), "shop")
        )
        async with asyncio.TaskGroup() as group:
            handling = group.create_task(handler.keep_handling())
            await process_time.until(lambda: handler.looks >= 3)
            handling.cancel()

    assert handler.done == ["q1"]
