"""Retries and bounds, in virtual time."""

import asyncio
import logging
from datetime import timedelta

import pytest

import memory_outbox
from volary.model import errors
from volary.model.runs import run_records
from volary.notifying import delivery, outbox


class Sender:
    """Fails as told, and remembers when it was asked."""

    def __init__(self, *failures: errors.VolaryError) -> None:
        self.failures = list(failures)
        self.at: list[float] = []
        self.sent: list[str] = []

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        self.at.append(asyncio.get_running_loop().time())
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(message.id)
        return place or "here"


def message(name: str, topic: str = "") -> run_records.OutboxMessage:
    return run_records.OutboxMessage(name, "r", {}, topic=topic)


async def deliver(made: delivery.DeliveryQueue, seconds: float) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.keep_delivering())
        await asyncio.sleep(seconds)
        task.cancel()


@pytest.mark.looptime
async def test_pauses_double_and_the_receivers_own_delay_counts() -> None:
    busy = errors.TemporaryError("busy")
    told = errors.TemporaryError("later", delay=timedelta(seconds=30))
    sender = Sender(busy, busy, told, busy)
    made = delivery.DeliveryQueue({"r": sender}, memory_outbox.MemoryOutbox())
    made.post(message("a"))

    await deliver(made, 100)

    gaps = [round(after - before) for before, after in zip(sender.at, sender.at[1:], strict=False)]
    assert gaps == [1, 2, 30, 8]
    assert sender.sent == ["a"]


@pytest.mark.looptime
async def test_after_enough_tries_it_is_given_up_and_the_next_one_goes() -> None:
    sender = Sender(*[errors.TemporaryError("busy")] * 3)
    made = delivery.DeliveryQueue(
        {"r": sender}, memory_outbox.MemoryOutbox(), delivery.Limits(tries=3)
    )
    made.post(message("a"))
    made.post(message("b"))

    await deliver(made, 60)

    assert sender.sent == ["b"]
    assert made.waiting == 0


@pytest.mark.looptime
async def test_the_oldest_go_when_too_many_wait_and_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sender = Sender()
    made = delivery.DeliveryQueue(
        {"r": sender}, memory_outbox.MemoryOutbox(), delivery.Limits(waiting=3)
    )
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            made.post(message(str(number)))

    await deliver(made, 5)

    assert sender.sent == ["2", "3", "4"]
    assert made.dropped == 2
    assert "receiver r does not keep up: 1 notifications were dropped" in caplog.text


@pytest.mark.looptime
async def test_edits_keep_their_pace() -> None:
    sender = Sender()
    made = delivery.DeliveryQueue({"r": sender}, memory_outbox.MemoryOutbox())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.keep_delivering())
        for number in range(100):
            made.post(message(str(number), topic="run"))
            await asyncio.sleep(0.1)
        await asyncio.sleep(3)
        task.cancel()

    assert len(sender.sent) <= 12
    assert sender.sent[-1] == "99"


async def test_an_outbox_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(memory_outbox.MemoryOutbox):
        async def load(self) -> outbox.Contents:
            raise errors.TemporaryError("the database is gone")

        async def save(self, change: outbox.Change) -> None:
            raise errors.TemporaryError("the database is full")

    sender = Sender()
    made = delivery.DeliveryQueue(
        {"r": sender, "busy": Sender(errors.TemporaryError("busy"))}, Broken()
    )
    made.post(message("a"))
    made.post(run_records.OutboxMessage("b", "busy", {}))

    await deliver(made, 0.05)

    assert sender.sent == ["a"]
    assert "cannot be read: the database is gone" in caplog.text
    assert "cannot be saved: the database is full" in caplog.text


@pytest.mark.looptime
async def test_what_cannot_be_saved_is_saved_later_though_nothing_else_happens() -> None:
    class Box(memory_outbox.MemoryOutbox):
        failures = 3

        async def save(self, change: outbox.Change) -> None:
            if Box.failures:
                Box.failures -= 1
                raise errors.TemporaryError("the database is full")
            await memory_outbox.MemoryOutbox.save(self, change)

    box = Box(outbox.Contents((message("kept"),)))
    sender = Sender()
    made = delivery.DeliveryQueue({"r": sender}, box)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.keep_delivering())
        await asyncio.sleep(60)
        left = box.contents.messages
        task.cancel()

    assert sender.sent == ["kept"]
    assert left == ()
