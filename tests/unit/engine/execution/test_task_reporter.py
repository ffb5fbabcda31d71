"""What a task says goes to the observers at once, and to its run in time."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from volary.engine import executor
from volary.engine.execution import task_reporter
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import commands, events

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
START = commands.StartTask("1-K8S_SYNC", "us", 2, NOON + timedelta(hours=1))
HALF = state.Progress("1 of 2 pods", 1, 2, {"canary": 10}, {"canary": 5})


class Clock:
    def now(self) -> datetime:
        return NOON


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[feed.RunEvent] = []
        self.posted: list[events.Event] = []
        self.reporter = task_reporter.TaskReporter(
            "run-1", "K8S_SYNC", START, Clock(), self.told.append, self.posted.append
        )


WHERE = {
    "at": NOON,
    "run": "run-1",
    "stage": "1-K8S_SYNC",
    "stage_name": "K8S_SYNC",
    "target": "us",
    "attempt": 2,
}


async def test_observers_are_told_everything_about_progress() -> None:
    heard = Listener()
    heard.reporter.progress(HALF)
    heard.reporter.progress(HALF)

    assert heard.told == [
        feed.TaskProgressed(
            **WHERE,
            sentence="1 of 2 pods",
            ready=1,
            total=2,
            wanted_weights={"canary": 10},
            observed_weights={"canary": 5},
        )
    ]
    heard.reporter.close()


async def test_each_line_of_a_log_is_an_event_and_a_long_one_is_cut() -> None:
    heard = Listener()
    most = task_reporter.LONGEST_LINE
    heard.reporter.log("one\ntwo", level=executor.LogLevel.WARNING)
    heard.reporter.log("x" * most)
    heard.reporter.log("x" * (most + 1))

    assert heard.told[:2] == [
        feed.TaskLogged(**WHERE, level=executor.LogLevel.WARNING, line=line)
        for line in ("one", "two")
    ]
    lines = [msgspec.structs.asdict(event)["line"] for event in heard.told[2:]]
    assert lines == ["x" * most, "x" * most + " …"]
    assert heard.told[2] == feed.TaskLogged(**WHERE, level=executor.LogLevel.INFO, line=lines[0])


async def test_a_finding_is_told_as_it_is() -> None:
    heard = Listener()
    heard.reporter.found("verdict", "latency", {"result": "good"})

    document = {"result": "good"}
    assert heard.told == [
        feed.TaskFinding(**WHERE, kind="verdict", metric="latency", document=document)
    ]


async def test_what_was_taken_over_is_told_until_the_task_has_ended() -> None:
    heard = Listener()
    heard.reporter.took_over("Service default/shop", "PipeCD")
    heard.reporter.close()
    heard.reporter.took_over("Service default/late", "PipeCD")

    assert heard.told == [
        feed.TaskTookOver(**WHERE, object="Service default/shop", claimant="PipeCD")
    ]


async def test_the_run_hears_of_it_at_the_next_tick_and_of_the_newest() -> None:
    heard = Listener()
    heard.reporter.progress(HALF)
    whole = state.Progress("2 of 2 pods", 2, 2)
    heard.reporter.progress(whole)
    assert heard.posted == []

    await asyncio.sleep(0.5)
    # How traffic is divided stays.
    known = {"wanted_weights": {"canary": 10}, "observed_weights": {"canary": 5}}
    shown = replace(whole, **known)  # type: ignore[arg-type] # both are weights
    assert heard.posted == [events.TaskProgressed(NOON, START.stage, "us", 2, shown)]
    last = state.Progress("done")
    heard.reporter.progress(last)
    taken = heard.reporter.newest(events.TaskProgressed(NOON, START.stage, "us", 2, whole))
    assert taken.progress == replace(last, **known)  # type: ignore[arg-type] # both are weights

    await asyncio.sleep(0.5)
    assert len(heard.posted) == 1, "what was taken before is not posted again"
    heard.reporter.progress(HALF)
    await asyncio.sleep(0.5)
    assert [event.progress for event in heard.posted[1:]] == [HALF]  # type: ignore[attr-defined]


async def test_what_was_said_last_goes_to_the_run_before_the_end_and_then_nothing() -> None:
    heard = Listener()
    heard.reporter.progress(HALF)
    heard.reporter.close()

    assert [type(event) for event in heard.posted] == [events.TaskProgressed]
    told = list(heard.told)
    heard.reporter.progress(state.Progress("more"))
    heard.reporter.log("more")
    heard.reporter.found("verdict", "", {})
    await asyncio.sleep(0.5)
    assert (heard.told, len(heard.posted)) == (told, 1)


async def test_nothing_is_left_to_say_for_a_task_that_said_nothing() -> None:
    heard = Listener()
    heard.reporter.close()

    assert (heard.told, heard.posted) == ([], [])


async def test_what_a_task_was_said_to_do_stays_until_it_says_something_itself() -> None:
    event = events.TaskProgressed(NOON, START.stage, "us", 2, HALF)

    assert Listener().reporter.newest(event) == event


async def test_how_traffic_is_divided_stays_whatever_is_said_besides() -> None:
    heard = Listener()
    heard.reporter.progress(HALF)
    heard.reporter.progress(state.Progress("2 of 2 pods", 2, 2))
    heard.reporter.close()

    [last] = [each.progress for each in heard.posted if isinstance(each, events.TaskProgressed)]
    assert last == state.Progress("2 of 2 pods", 2, 2, {"canary": 10}, {"canary": 5})
    # Observers are told what was said.
    assert [
        each.wanted_weights for each in heard.told if isinstance(each, feed.TaskProgressed)
    ] == [
        {"canary": 10},
        {},
    ]
