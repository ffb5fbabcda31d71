"""Clusters in step: nobody waits in a circle, whoever comes late or leaves early."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest

import stage_contexts
from volary.clusters.client import clients
from volary.concurrency import single_flight
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import stage_kind, waiting_stages
from volary.stages.runtime import barriers, execution, rendezvouses


class Silence:
    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None: ...

    def progress(self, progress: state.Progress) -> None: ...

    def found(self, kind: str, name: str, document: object) -> None: ...

    def took_over(self, title: str, claimant: str) -> None: ...


async def nothing() -> list[manifest.Manifest]:
    return []


class Room:
    """One stage, as several clusters carry it out."""

    def __init__(self) -> None:
        self.rendezvous = rendezvouses.Rendezvous()
        self.once = single_flight.SingleFlight()
        self.asked: list[str] = []

    def member(
        self, target: str, scope: stage_kind.Scope = stage_kind.Scope.FLEET
    ) -> barriers.Barrier:
        self.rendezvous.join(target)
        context = stage_contexts.context(
            application=applications.Application(name="shop"),
            stage=pipelines.Stage(
                waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(1))
            ),
            target=target,
            client=cast("clients.Client", None),
            commit="abc",
            target_source=nothing,
            report=cast("executor.Reporter", Silence()),
            clock=stage_contexts.LoopClock(),
            once=self.once,
            rendezvous=self.rendezvous,
        )
        until = asyncio.get_running_loop().time() + 1000
        made = barriers.Barrier(execution.Work(context, until), scope)
        made.begin()
        return made

    async def advance(self, target: str, rounds: int, *, late: float = 0) -> list[dict[str, int]]:
        await asyncio.sleep(late)
        member, heard = self.member(target), []
        for number in range(rounds):
            heard.append(dict(await member.share(number)))
            await member.ask("gate", member.round, lambda: self.gate(target))
            await asyncio.sleep(10)
        self.rendezvous.leave(target)
        return heard

    async def gate(self, target: str) -> str:
        self.asked.append(target)
        await asyncio.sleep(1)
        return ""


@pytest.mark.looptime
async def test_all_hear_all_in_every_round_and_one_asks() -> None:
    room = Room()
    async with asyncio.TaskGroup() as group:
        found = [group.create_task(room.advance(each, 3)) for each in ("us", "eu", "ap")]
    for each in found:
        assert each.result() == [{"us": n, "eu": n, "ap": n} for n in range(3)]
    assert len(room.asked) == 3


@pytest.mark.looptime
async def test_one_that_comes_late_goes_on_with_the_others(looptime: float) -> None:
    room = Room()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(room.advance("us", 6))
        second = group.create_task(room.advance("eu", 6))
        third = group.create_task(room.advance("ap", 3, late=25))
    assert [len(each.result()) for each in (first, second, third)] == [6, 6, 3]
    assert set(third.result()[0]) == {"us", "eu", "ap"}
    assert looptime < 200


@pytest.mark.looptime
async def test_one_that_leaves_is_not_waited_for() -> None:
    room = Room()
    async with asyncio.TaskGroup() as group:
        staying = group.create_task(room.advance("us", 5))
        group.create_task(room.advance("eu", 2))
    assert [sorted(each) for each in staying.result()] == [["eu", "us"]] * 2 + [["us"]] * 3


@pytest.mark.looptime
async def test_others_that_stay_silent_are_waited_for_until_the_stage_ends() -> None:
    room = Room()
    member = room.member("us")
    room.member("eu")
    member.work.until = asyncio.get_running_loop().time() + 30
    with pytest.raises(execution.StageFailedError, match="did not come so far"):
        await member.share(1)


@pytest.mark.looptime
async def test_alone_nobody_is_waited_for() -> None:
    room = Room()
    member = room.member("us", stage_kind.Scope.CLUSTER)
    room.member("eu", stage_kind.Scope.CLUSTER)
    assert await member.share(1) == {"us": 1}


@pytest.mark.looptime
async def test_who_asks_and_is_broken_off_is_followed_by_another() -> None:
    room = Room()
    us, eu = room.member("us"), room.member("eu")
    async with asyncio.TaskGroup() as group:
        first = group.create_task(us.ask("gate", 1, lambda: room.gate("us")))
        second = group.create_task(eu.ask("gate", 1, lambda: room.gate("eu")))
        await asyncio.sleep(0.5)
        first.cancel()
    assert second.result() == ""
    assert room.asked == ["us", "eu"]
