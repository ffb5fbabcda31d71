"""The answer to a request is kept with what came of it, and nothing comes of it twice."""

import asyncio
from dataclasses import replace

import pytest

import store_fixtures as given
from volary.model.runs import run_records
from volary.store import fencing, records, stores

ASKED = records.RequestRecord("q1", "approve", "ana", given.at(1), "shop", "run-1")
DONE = run_records.RequestAnswer("q1", given.at(2))


def step(version: int, *answers: run_records.RequestAnswer) -> run_records.Transition:
    return run_records.Transition(given.head(), version, given.at(2), answers=answers)


async def test_a_step_and_its_answer_are_kept_together(store: stores.Store) -> None:
    await store.requests.ask(ASKED)
    await store.keep_transition(step(0), fence=None)
    await store.keep_transition(step(1, DONE), fence=None)

    answered = await store.requests.get("q1")
    assert answered is not None
    assert (answered.answered, answered.refusal) == (given.at(2), "")
    assert await store.requests.unanswered() == ()


async def test_a_step_whose_answer_may_not_be_known_is_repeated(store: stores.Store) -> None:
    await store.requests.ask(ASKED)
    await store.keep_transition(step(0), fence=None)
    first = await store.keep_transition(step(1, DONE), fence=None)

    assert await store.keep_transition(step(1, DONE), fence=None) == first


@pytest.mark.parametrize("refusal", ["", "nothing waits for approval"])
async def test_what_has_an_answer_is_not_carried_out(store: stores.Store, refusal: str) -> None:
    await store.requests.ask(ASKED)
    await store.keep_transition(step(0), fence=None)
    await store.requests.answer("q1", refusal=refusal, fence=None)

    with pytest.raises(fencing.RequestAnswered, match="q1"):
        await store.keep_transition(step(1, DONE), fence=None)

    stored, answered = await store.runs.load("run-1"), await store.requests.get("q1")
    assert stored is not None
    assert answered is not None
    assert (stored.version, answered.refusal) == (1, refusal)


async def test_what_nobody_asked_for_is_not_carried_out(store: stores.Store) -> None:
    await store.keep_transition(step(0), fence=None)
    with pytest.raises(fencing.RequestAnswered):
        await store.keep_transition(step(1, replace(DONE, request="gone")), fence=None)


async def test_a_step_that_is_refused_answers_nothing(store: stores.Store) -> None:
    await store.requests.ask(ASKED)
    with pytest.raises(fencing.VersionConflict):
        await store.keep_transition(step(4, DONE), fence=None)

    assert [request.id for request in await store.requests.unanswered()] == ["q1"]


async def test_two_steps_at_once_do_it_once(store: stores.Store) -> None:
    """Also where they share a transaction."""
    await store.requests.ask(ASKED)
    first = run_records.Transition(given.head("run-1"), 0, given.at(2), answers=(DONE,))
    other = run_records.Transition(given.head("run-2"), 0, given.at(2), answers=(DONE,))
    kept = await asyncio.gather(
        store.keep_transition(first, fence=None),
        store.keep_transition(other, fence=None),
        return_exceptions=True,
    )

    assert [type(one) for one in kept] == [run_records.KeptTransition, fencing.RequestAnswered]
    assert await store.runs.load("run-2") is None
