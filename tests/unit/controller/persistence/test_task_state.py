"""What tasks remember and analyses find, on its way into the store; and secrets learnt late."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

import store_fixtures as given
from volary.controller.persistence import batch_writers, redaction, task_state
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.manifests import redaction as manifest_redaction
from volary.model import errors
from volary.model.runs import run_records
from volary.stages.runtime import task_states
from volary.store import factory, fencing, records, stores

PLACE = task_states.TaskAttempt("run-1", "1-K8S_SYNC", "us", 1)
SUBJECT = task_states.StateKey("shop", "us", "analysis")


def found(number: int, *, kind: str = "measurement", attempt: int = 1) -> feed.TaskFinding:
    return feed.TaskFinding(
        at=given.at(number),
        run="run-1",
        stage="1-K8S_SYNC",
        stage_name="K8S_SYNC",
        target="us",
        attempt=attempt,
        kind=kind,
        metric="errors",
        document={"values": [number]},
    )


@pytest.fixture
async def kept() -> AsyncIterator[stores.Store]:
    async with factory.open_store("memory:", clock=given.TurnedClock()) as store:
        await store.keep_transition(given.first(), fence=None)
        yield store


async def test_what_was_measured_before_is_found_again_page_by_page(kept: stores.Store) -> None:
    book = batch_writers.AnalysisWriter(kept, fence=None)
    for number in range(1_200):
        book.notify(found(number))
    book.notify(found(5, kind="verdict"))
    book.notify(found(6, attempt=2))
    await book.flush()
    keeper = task_state.TaskStateStore(kept, None, "shop")

    again = await keeper.found(PLACE)

    assert [each["values"] for each in again] == [[number] for number in range(1_200)]


async def test_a_sample_is_counted_once_however_often_it_is_written(kept: stores.Store) -> None:
    """Nobody knows whether a batch was kept when its answer is lost, so it is sent again."""

    def sample(value: float, **more: object) -> feed.TaskFinding:
        document = {"time": "12:00", "role": "judged", "variant": "canary", "target": "us"}
        return structs.replace(found(0), document={**document, **more, "values": [value]})

    for _ in range(2):
        book = batch_writers.AnalysisWriter(kept, fence=None)
        book.notify(sample(1))
        book.notify(sample(2, role="reference", variant="baseline"))
        await book.flush()
    # A later process that looks at the same moment again, after its clock was set back.
    book = batch_writers.AnalysisWriter(kept, fence=None)
    book.notify(sample(3))
    book.notify(sample(4, time="12:01"))
    book.notify(structs.replace(sample(5), attempt=2))
    await book.flush()
    keeper = task_state.TaskStateStore(kept, None, "shop")

    again = await keeper.found(PLACE)

    assert [each["values"] for each in again] == [[1], [2], [4]]
    newest = await keeper.found(replace(PLACE, attempt=2))
    assert [each["values"] for each in newest] == [[5]]


async def test_memories_are_kept_with_the_proof_of_who_drives(kept: stores.Store) -> None:
    mine = await kept.leases.acquire("drive", "me", timedelta(minutes=1))
    assert mine is not None
    keeper = task_state.TaskStateStore(kept, mine.fence, "shop")
    await keeper.save(PLACE, {"started": 1})
    await keeper.keep(SUBJECT, {"started": 2})
    stale = task_state.TaskStateStore(kept, run_records.Fence("drive", mine.number - 1), "shop")

    assert await keeper.load(PLACE) == {"started": 1}
    assert await keeper.recall(SUBJECT) == {"started": 2}
    with pytest.raises(fencing.LeaseLost):
        await stale.save(PLACE, {})
    with pytest.raises(fencing.LeaseLost):
        await stale.keep(SUBJECT, {})


class _Away:
    """Findings of a store that comes and goes."""

    def __init__(self) -> None:
        self.gone = True
        self.kept: list[records.Finding] = []

    @property
    def findings(self) -> "_Away":
        return self

    async def append(
        self, batch: list[records.Finding], *, fence: run_records.Fence | None
    ) -> None:
        if self.gone:
            raise errors.TemporaryError("the database is gone")
        await asyncio.sleep(0)
        self.kept += batch


async def test_findings_wait_for_a_store_that_is_away_and_the_oldest_go_first() -> None:
    store = _Away()
    book = batch_writers.AnalysisWriter(store, fence=None)  # type: ignore[arg-type]
    for number in range(10_003):
        book.notify(found(number))
    await book.flush()
    store.gone = False
    await book.flush()

    assert [each.document["values"][0] for each in store.kept] == list(range(3, 10_003))


def test_a_query_does_not_leave_with_a_secret_in_it() -> None:
    seen: list[feed.RunEvent] = []

    class Watch:
        def notify(self, event: feed.RunEvent) -> None:
            seen.append(event)

    document = {
        "query": "up{token='s3cr3t-token'}",
        "message": "s3cr3t-token was refused",
        "metric": "s3cr3t-token",
        "own": {"sentence": "s3cr3t-token"},
        "values": [1.0],
    }
    event = feed.TaskFinding(
        at=given.at(0),
        run="r",
        stage="s",
        stage_name="s",
        target="us",
        attempt=1,
        kind="measurement",
        metric="errors",
        document=document,
    )
    event_redaction.RedactingObserver(
        manifest_redaction.Masker(["s3cr3t-token"]), (Watch(),)
    ).notify(event)

    assert isinstance(seen[0], feed.TaskFinding)
    assert seen[0].document == {
        "query": "up{token='*****'}",
        "message": "***** was refused",
        "metric": "s3cr3t-token",
        "own": {"sentence": "*****"},
        "values": [1.0],
    }


def test_a_secret_that_is_learnt_late_is_masked_by_those_who_mask_already() -> None:
    secrets = redaction.SecretValues(["early-one"])
    masker = secrets.masker()
    secrets.learn("late-one")

    assert masker.clean("early-one late-one") == "***** *****"
    assert secrets.masker().clean("late-one") == "*****"
    assert set(secrets.values) == {"early-one", "late-one"}
