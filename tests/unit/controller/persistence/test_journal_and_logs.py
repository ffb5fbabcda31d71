"""What is kept of a run: masked, fenced, waited for; logs in batches, bounded."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import process_time
from fixed_clock import FixedClock
from volary.controller.persistence import (
    batch_writers,
    journal,
    notification_outbox,
    retry,
)
from volary.engine.execution import runners
from volary.engine.executor import LogLevel
from volary.engine.observers import feed, observer_events
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import codec, transitions
from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events, machine
from volary.manifests import redaction as manifest_redaction
from volary.model import errors, server_settings, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records
from volary.notifying import delivery, notices, notifier
from volary.store import factory, fencing, records, stores

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECRET = "hunter2-hunter2"


def planned() -> state.Run:
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    wanted = run_builder.RunSpec("shop", "c1", run_builder.one_group(["us"]), (sync,))
    return run_builder.new_run("r1", wanted, AT)


async def kept(store: stores.Store, run: state.Run) -> int:
    made = transitions.first_transition(run, {}, AT)
    return (await store.keep_transition(made, fence=None)).version


def step(run: state.Run, event: events.Event) -> runners.StepRecord:
    after = machine.advance(run, event).run
    return runners.StepRecord((event,), after, observer_events.between(run, after, event.at))


async def test_a_secret_in_an_outcome_is_kept_nowhere() -> None:
    masker = manifest_redaction.Masker([SECRET])
    async with factory.open_store("memory:", clock=FixedClock()) as store:
        run = planned()
        woken: list[str] = []
        keeper = journal.StoreJournal(
            store,
            run,
            await kept(store, run),
            fence=None,
            masker=masker,
            kept=lambda: woken.append("kept"),
        )
        started = step(run, events.Start(AT))
        await keeper.keep(started)
        assert woken == ["kept"]
        said = statuses.Outcome(statuses.TaskStatus.FAILED, f"no {SECRET}", (f"with {SECRET}",))
        failed = events.TaskFinished(AT, "1-K8S_SYNC", "us", 1, said)
        await keeper.keep(step(started.run, failed))

        stored = await store.runs.load("r1")
        shown = await store.events.after("r1", 0)

        assert stored is not None
        assert codec.read_run(stored).is_final
        assert "no *****" in stored.tasks[0].reason
        assert SECRET not in f"{stored} {shown}"


class Receiver:
    """Takes every message, or breaks off in the moment after the first one."""

    def __init__(self, *, is_killed: bool = False) -> None:
        self.is_killed = is_killed
        self.seen: list[tuple[str, str]] = []

    async def send(self, message: run_records.OutboxMessage, place: str) -> str:
        self.seen.append((message.id, str(message.body["event"])))
        if self.is_killed:
            await asyncio.Event().wait()
        return ""


def notifying(
    store: stores.Store, receiver: Receiver
) -> tuple[delivery.DeliveryQueue, notifier.RunNotifier]:
    settings = server_settings.Notifications(
        (server_settings.Route("all", "hook", groups=("DEPLOYMENT",)),),
        (
            server_settings.Receiver(
                "hook", webhook=server_settings.OutgoingWebhook("http://127.0.0.1:9", "X-Sign", "")
            ),
        ),
    )
    queue = delivery.DeliveryQueue({"hook": receiver}, notification_outbox.StoreOutbox(store))
    subject = notices.Subject("shop", "r1", title=f"use {SECRET}")
    return queue, notifier.Notifier(settings, queue).of_run(subject)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(process_time.HANG):
        while not holds():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


async def life(address: str, *, is_killed: bool) -> list[tuple[str, str]]:
    """Deliver what waits, as a process does, and return what the receiver has seen."""
    receiver = Receiver(is_killed=is_killed)
    async with factory.open_store(address, clock=FixedClock()) as store:
        queue, _ = notifying(store, receiver)
        async with asyncio.TaskGroup() as group:
            delivering = group.create_task(queue.keep_delivering())
            await until(lambda: bool(receiver.seen) if is_killed else len(receiver.seen) == 2)
            await until(lambda: is_killed or not queue.waiting)
            delivering.cancel()
    return receiver.seen


async def test_what_people_are_notified_of_is_kept_with_the_step(tmp_path: Path) -> None:
    """Killed between a step and its delivery: the next process delivers, under the same id."""
    address = f"sqlite:{tmp_path}/volary.db"
    run = planned()
    async with factory.open_store(address, clock=FixedClock()) as store:
        _, told = notifying(store, Receiver())
        keeper = journal.StoreJournal(
            store,
            run,
            await kept(store, run),
            fence=None,
            masker=manifest_redaction.Masker([SECRET]),
            notifier=told,
        )
        started = step(run, events.Start(AT))
        await keeper.keep(started)
        said = statuses.Outcome(statuses.TaskStatus.FAILED, f"no {SECRET}")
        failed = events.TaskFinished(AT, "1-K8S_SYNC", "us", 1, said)
        await keeper.keep(step(started.run, failed))
        # Nothing was delivered, and nobody had a second to save anything.
        waiting = await store.notifications.waiting()
        assert SECRET not in str([message.body.get("reason") for message in waiting])

    killed = await life(address, is_killed=True)
    after = await life(address, is_killed=False)
    async with factory.open_store(address, clock=FixedClock()) as store:
        left = await store.notifications.waiting()

    assert [name for _, name in after] == ["DEPLOYMENT_STARTED", "DEPLOYMENT_FAILED"]
    assert killed == after[:1], "the same message has the same id each time"
    assert len({message_id for message_id, _ in after}) == 2
    assert left == ()


async def test_a_step_that_is_refused_notifies_nobody() -> None:
    async with factory.open_store("memory:", clock=FixedClock()) as store:
        run, (_, told) = planned(), notifying(store, Receiver())
        version = await kept(store, run)
        masker = manifest_redaction.Masker()
        late = journal.StoreJournal(store, run, version, fence=None, masker=masker, notifier=told)
        await store.keep_transition(
            transitions.step_transition(run, (events.Start(AT),), *_started(run), version),
            fence=None,
        )

        with pytest.raises(fencing.VersionConflict):
            await late.keep(step(run, events.Cancel(AT, "ana")))

        assert await store.notifications.waiting() == ()


def _started(run: state.Run) -> tuple[state.Run, tuple[feed.RunEvent, ...]]:
    made = step(run, events.Start(AT))
    return made.run, made.told


def test_a_secret_that_is_also_a_name_leaves_the_names_alone() -> None:
    """A Secret's value ``us-east`` must not blot out the cluster of that name."""
    masker = manifest_redaction.Masker(["us-east", "K8S_SYNC"])
    document = {"target": "us-east", "stage": {"name": "K8S_SYNC"}, "reason": "us-east is down"}

    cleaned = event_redaction.clean_document(masker, document)

    assert cleaned == {
        "target": "us-east",
        "stage": {"name": "K8S_SYNC"},
        "reason": "***** is down",
    }


async def test_a_step_of_a_process_that_was_overtaken_is_refused() -> None:
    clock = FixedClock()
    async with factory.open_store("memory:", clock=clock) as store:
        lease = await store.leases.acquire("controller", "one", timedelta(seconds=10))
        assert lease is not None
        run = planned()
        keeper = journal.StoreJournal(
            store,
            run,
            await kept(store, run),
            fence=lease.fence,
            masker=manifest_redaction.Masker(),
        )
        clock.forward(seconds=11)
        assert await store.leases.acquire("controller", "two", timedelta(seconds=10))

        with pytest.raises(fencing.LeaseLost):
            await keeper.keep(step(run, events.Start(AT)))

        stored = await store.runs.load("r1")
        assert stored is not None
        assert (stored.version, stored.head.status) == (1, "planned")


@pytest.mark.looptime
async def test_a_store_that_is_gone_for_a_while_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tries = 0

    async def write() -> str:
        nonlocal tries
        tries += 1
        if tries < 5:
            raise errors.TemporaryError("the database is locked")
        return "kept"

    loop = asyncio.get_running_loop()
    begun = loop.time()
    with caplog.at_level("WARNING"):
        assert await retry.until_available(write, "run r1") == "kept"

    assert tries == 5
    assert 0.4 <= loop.time() - begun <= 20, "it waits between its tries"
    said = [each.message for each in caplog.records]
    assert said == [
        "run r1 waits for the database: the database is locked",
        "run r1 goes on: the database is back",
    ]


class Sometimes:
    """Logs that can be gone."""

    def __init__(self) -> None:
        self.gone = False
        self.lines: list[records.LogLine] = []
        self.batches = 0

    @property
    def logs(self) -> "Sometimes":
        return self

    async def append(
        self, lines: list[records.LogLine], *, fence: run_records.Fence | None
    ) -> None:
        if self.gone:
            raise errors.TemporaryError("the database is gone")
        self.lines += lines
        self.batches += 1


def line(number: int) -> feed.TaskLogged:
    return feed.TaskLogged(
        at=AT + timedelta(seconds=number),
        run="r1",
        stage="1-K8S_SYNC",
        stage_name="K8S_SYNC",
        target="us",
        attempt=1,
        level=LogLevel.INFO,
        line=f"line {number}",
    )


@pytest.mark.looptime
async def test_lines_are_written_in_batches_and_in_order() -> None:
    store = Sometimes()
    book = batch_writers.LogWriter(store, fence=None)  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(book.keep_writing())
        for number in range(120):
            book.notify(line(number))
        await asyncio.sleep(1)
        writing.cancel()
    assert store.batches == 1
    assert [each.text for each in store.lines] == [f"line {number}" for number in range(120)]


@pytest.mark.looptime
async def test_only_many_lines_are_written_before_their_time() -> None:
    written = []
    for count in (499, 500):
        store = Sometimes()
        book = batch_writers.LogWriter(store, fence=None)  # type: ignore[arg-type]
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(book.keep_writing())
            await asyncio.sleep(0.55)
            for number in range(count):
                book.notify(line(number))
            await asyncio.sleep(0.1)
            written.append(len(store.lines))
            writing.cancel()

    assert written == [0, 500]


@pytest.mark.looptime
async def test_lines_are_written_when_the_store_is_back_also_when_nothing_more_is_said() -> None:
    store = Sometimes()
    store.gone = True
    book = batch_writers.LogWriter(store, fence=None)  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(book.keep_writing())
        book.notify(line(0))
        await asyncio.sleep(2)
        assert store.lines == []
        store.gone = False
        await asyncio.sleep(1)
        assert [each.text for each in store.lines] == ["line 0"]
        book.notify(line(1))
        await asyncio.sleep(1)
        writing.cancel()
    assert [each.text for each in store.lines] == ["line 0", "line 1"]


async def test_lines_wait_for_the_store_within_bounds_and_say_what_was_dropped() -> None:
    store = Sometimes()
    store.gone = True
    book = batch_writers.LogWriter(store, fence=None)  # type: ignore[arg-type]
    for number in range(10_300):
        book.notify(line(number))
    await book.flush()
    store.gone = False
    await book.flush()

    texts = [each.text for each in store.lines]
    assert store.lines[0].at == store.lines[1].at, "the gap stands before the first that is left"

    assert texts[0] == "300 lines were dropped here: they could not be written in time"
    assert texts[1:] == [f"line {number}" for number in range(300, 10_300)]
