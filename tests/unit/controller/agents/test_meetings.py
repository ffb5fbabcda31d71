"""Tasks of one stage in several processes: they meet at the leader, whichever it is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

import process_time
from volary.agents.orders import keys
from volary.agents.tasks import meetings, services
from volary.analysis.metering import meters
from volary.controller.agents import run_orders, task_services
from volary.controller.persistence import redaction
from volary.engine import executor
from volary.engine.execution import task_contexts
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.engine.state_machine import commands
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages
from volary.stages import executor as stage_executor
from volary.stages.runtime import rendezvouses
from volary.store import factory

START = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = pipelines.Stage(
    traffic_stages.PROGRESSIVE_TRAFFIC.name, traffic_stages.PROGRESSIVE_TRAFFIC.options()
)
RUN = run_builder.new_run(
    "run-1",
    run_builder.RunSpec(
        "shop", "new", run_builder.one_group(("us", "eu", "asia")), (STAGE,), "old"
    ),
    START,
)


class Clock:
    """Stands still."""

    def now(self) -> datetime:
        return START


@dataclass
class Leaders:
    """Who leads, and how an agent of us reaches them."""

    answers: task_services.TaskServices
    asked: int = 0
    #: Of a process only what it has open is known, so it is held here.
    kept: Any = None

    async def meet(
        self, asked: Sequence[services.Meeting], *, wait: float = 0.0
    ) -> Sequence[services.Met]:
        self.asked += 1
        return await self.answers.meet(["us", "asia"], asked, wait=wait)

    def meetings(self) -> meetings.Meetings:
        """Return those of another process."""
        return meetings.Meetings(cast("services.Services", self))

    def lead(self) -> rendezvouses.Rendezvous:
        """Have a new process lead, in which eu is carried out."""
        performer = stage_executor.ClusterExecutor(*[cast("Any", None)] * 4)
        self.answers.apart.open_runs["run-1"] = performer
        self.kept = performer
        place = performer.rendezvous(RUN.stages[0].id)
        place.join("eu")
        return place


@pytest.fixture
async def leaders() -> AsyncIterator[Leaders]:
    async with factory.open_store("memory:", clock=Clock()) as store:
        first = transitions.first_transition(RUN, {"targets": list(RUN.targets)}, START)
        await store.keep_transition(first, fence=None)
        apart = run_orders.ApartTasks(lambda: keys.read(keys.generate()))
        secrets = redaction.SecretValues()
        yield Leaders(task_services.TaskServices(store, Clock(), meters.NoMeter(), secrets, apart))


def task() -> executor.TaskContext:
    command = commands.StartTask(RUN.stages[0].id, "us", 1, START + timedelta(hours=1))
    return task_contexts.of_command(RUN, command)


def beside() -> rendezvouses.Rendezvous:
    """Return where us is carried out, in the agent."""
    here = rendezvouses.Rendezvous()
    here.join("us")
    return here


async def test_what_is_said_in_one_process_is_heard_in_the_other(leaders: Leaders) -> None:
    there, here = leaders.lead(), beside()

    async with asyncio.timeout(process_time.HANG):
        async with leaders.meetings().shared(here, task()):
            seen = set(here.members), set(there.members)
            here.post("us", "report 1", 7)
            heard_there = await there.gather("eu", "report 1")
            there.post("eu", "report 1", True)
            heard_here = await here.gather("us", "report 1")

    assert seen == ({"us", "eu"}, {"us", "eu"})
    assert heard_there == {"us": 7}
    assert heard_here == {"us": 7, "eu": True}
    assert there.members == ("eu",)


async def test_a_new_leader_hears_again_what_was_said(leaders: Leaders) -> None:
    leaders.lead()
    here = beside()

    async with asyncio.timeout(process_time.HANG):
        async with leaders.meetings().shared(here, task()):
            here.post("us", "report 1", 7)
            after = leaders.lead()
            here.post("us", "round", 2)
            await process_time.until(lambda: "us" in after.members)
            heard = [await after.gather("eu", topic) for topic in ("report 1", "round")]

    assert heard == [{"us": 7}, {"us": 2}]


async def test_stages_that_have_nothing_to_say_ask_nobody(leaders: Leaders) -> None:
    kind = rollout_stages.CANARY_ROLLOUT
    silent = replace(task(), stage=pipelines.Stage(kind.name, kind.options()))

    async with leaders.meetings().shared(beside(), silent):
        pass

    assert leaders.asked == 0


async def test_who_was_missed_comes_again_and_says_all_again(leaders: Leaders) -> None:
    there, here = leaders.lead(), beside()

    async with asyncio.timeout(process_time.HANG):
        async with leaders.meetings().shared(here, task()):
            here.post("us", "report 1", 7)
            await there.gather("eu", "report 1")
            # As after a minute in which nothing was heard of it.
            leaders.answers._miss(there, "us")
            there.post("eu", "report 1", 1)
            await process_time.until(lambda: "us" in there.members)
            heard = await there.gather("eu", "report 1")

    assert heard == {"us": 7, "eu": 1}


async def test_who_comes_again_is_waited_for_again(leaders: Leaders) -> None:
    there, here = leaders.lead(), beside()

    async with asyncio.timeout(process_time.HANG):
        async with leaders.meetings().shared(here, task()):
            there.post("eu", "report 1", 1)
            before = await here.gather("us", "report 1")
            # Both before anybody hears of it.
            there.leave("eu")
            there.join("eu")
            await process_time.until(lambda: "report 1" not in here.said_by("eu"))
            there.post("eu", "report 1", 1)
            after = await here.gather("us", "report 1")

    assert (before, after) == ({"eu": 1}, {"eu": 1})


async def test_tasks_of_one_process_hear_each_other(leaders: Leaders) -> None:
    there, ours = leaders.lead(), leaders.meetings()
    here, second = beside(), rendezvouses.Rendezvous()
    second.join("asia")
    of_asia = replace(task(), target="asia")

    async with asyncio.timeout(process_time.HANG):
        async with ours.shared(here, task()):
            async with ours.shared(second, of_asia):
                for place, name in ((here, "us"), (second, "asia"), (there, "eu")):
                    await process_time.until(lambda place=place: len(place.members) == 3)  # type: ignore[misc]
                    place.post(name, "report 1", name)
                heard = [
                    await place.gather(name, "report 1")
                    for place, name in ((here, "us"), (second, "asia"), (there, "eu"))
                ]
            await process_time.until(lambda: "asia" not in here.members)

    assert heard == [{"us": "us", "asia": "asia", "eu": "eu"}] * 3
    assert there.members == ("eu",)


async def test_who_is_refused_fails(leaders: Leaders) -> None:
    leaders.lead()
    stranger = replace(task(), target="africa")

    with pytest.raises(errors.PermanentError, match="there is no run"):
        async with leaders.meetings().shared(beside(), stranger):
            await asyncio.sleep(process_time.HANG)
