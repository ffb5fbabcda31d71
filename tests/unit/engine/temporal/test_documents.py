"""What goes through Temporal comes out as it went in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import temporal_world
from volary.agents import hellos
from volary.engine.execution import task_contexts
from volary.engine.persistence import codec, pieces
from volary.engine.runs import policies, state
from volary.engine.state_machine import commands, events, machine
from volary.engine.temporal import documents, payloads

AT = datetime(2026, 1, 1, tzinfo=UTC)
SEEN = state.Sighting("1-SYNC", "all", 3)
Make = Callable[..., state.Run]


@pytest.mark.parametrize(
    "event",
    [
        events.Start(AT),
        events.TakenOver(AT, "us"),
        events.ClockJumped(AT, timedelta(minutes=-5)),
        events.TaskProgressed(AT, "1", "us", 2, state.Progress("so far", 1, 2, {"canary": 10})),
        events.ProjectChanged(AT, (), 3),
        events.Approve(AT, "ann", "fine", seen=SEEN, id="request-1"),
        events.Retry(AT, "ann", ("us", "eu")),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_an_event_is_the_same_at_the_other_end(event: events.Event) -> None:
    [payload] = await payloads.CONVERTER.encode([documents.write_event(event)])
    [there] = await payloads.CONVERTER.decode([payload], [documents.EventDocument])

    assert documents.read_event(there) == event


def test_every_event_of_the_machine_has_a_document() -> None:
    known = {kind for taken in machine.TABLE.values() for kind in taken}

    assert {documents.read_kind(kind.__name__) for kind in known} == known


def test_a_task_knows_at_the_other_end_what_it_has_to_know(planned_run: Make) -> None:
    step = machine.advance(planned_run(on_failure=policies.OnFailure.STOP), events.Start(AT))
    [first, *_] = [each for each in step.commands if isinstance(each, commands.StartTask)]
    context = task_contexts.of_command(step.run, first)

    plain = msgspec.json.decode(msgspec.json.encode(documents.write_context(context)))

    assert documents.read_context(plain) == context


async def test_a_long_run_is_packed_and_comes_out_whole() -> None:
    stored = pieces.of_run(temporal_world.planned(), 1, AT)

    [payload] = await payloads.CONVERTER.encode([stored])
    [there] = await payloads.CONVERTER.decode([payload], [type(stored)])

    assert payload.metadata["encoding"] == b"binary/zlib"
    assert len(payload.data) < len(msgspec.json.encode(stored)) / 2
    assert codec.read_run(there) == codec.read_run(stored)


async def test_what_unpacks_to_more_than_anybody_sends_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [payload] = await payloads.CONVERTER.encode(["x" * 100_000])
    monkeypatch.setattr(payloads, "_MOST_BYTES", 1000)

    with pytest.raises(ValueError, match="longer than 1000 bytes"):
        await payloads.CONVERTER.decode([payload], [str])


def test_agents_and_people_are_told_the_queues_that_tasks_go_to() -> None:
    queues = documents.Queues()

    assert hellos.queue(hellos.QUEUE_PREFIX, "us") == queues.cluster("us")
    assert queues.central == hellos.CENTRAL_QUEUE
