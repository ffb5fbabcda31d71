"""What is done about an application or a cluster for a request has its answer in it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model.runs import run_records
from volary.store import fencing, records, stores

ASKED = records.RequestRecord("q1", "pause", "ana", given.at(1), "shop")
DONE = run_records.RequestAnswer("q1", given.at(2))
SECOND = run_records.RequestAnswer("q1", given.at(3))
CORDONED = records.ClusterRecord("us", "ready", {"taints": ["cordoned"]}, given.at(1))
WORKSPACE = records.WorkspaceRecord("team-a", "team-a", {"clusters": {}}, given.at(1))
PAUSED = replace(given.SHOP, document={"pause": "ana"})

Answers = tuple[run_records.RequestAnswer, ...]


@dataclass(frozen=True)
class Deed:
    """Something that is done for a request, and whether it is done."""

    do: Callable[[stores.Store, Answers, run_records.Fence | None], Awaitable[object]]
    is_done: Callable[[stores.Store], Awaitable[bool]]


async def is_paused(store: stores.Store) -> bool:
    known = await store.applications.get("shop")
    return known is not None and known.document == PAUSED.document


async def is_forgotten(store: stores.Store) -> bool:
    return await store.applications.get("shop") is None


async def is_cordoned(store: stores.Store) -> bool:
    return await store.clusters.list() == (CORDONED,)


async def is_kept(store: stores.Store) -> bool:
    return await store.workspaces.list() == (WORKSPACE,)


DEEDS = {
    "change": Deed(
        lambda store, answers, fence: store.applications.keep(PAUSED, fence=fence, answers=answers),
        is_paused,
    ),
    "forget": Deed(
        lambda store, answers, fence: store.applications.forget(
            "shop", fence=fence, answers=answers
        ),
        is_forgotten,
    ),
    "cluster": Deed(
        lambda store, answers, fence: store.clusters.keep([CORDONED], fence=fence, answers=answers),
        is_cordoned,
    ),
    "workspace": Deed(
        lambda store, answers, fence: store.workspaces.keep(
            [WORKSPACE], gone=["gone"], fence=fence, answers=answers
        ),
        is_kept,
    ),
}


@pytest.fixture(params=DEEDS)
def deed(request: pytest.FixtureRequest) -> Deed:
    return DEEDS[request.param]


@pytest.fixture(autouse=True)
async def shop(store: stores.Store) -> None:
    """Given an application, with a request about it."""
    await store.applications.keep(given.SHOP, fence=None)
    await store.requests.ask(ASKED)


async def answer(store: stores.Store) -> records.RequestRecord:
    answered = await store.requests.get("q1")
    assert answered is not None
    return answered


async def test_what_is_done_and_its_answer_are_kept_together(
    store: stores.Store, deed: Deed
) -> None:
    await deed.do(store, (DONE,), None)

    assert await deed.is_done(store)
    assert await answer(store) == replace(ASKED, answered=given.at(2))
    assert await store.requests.unanswered() == ()


async def test_what_may_have_been_done_is_repeated_and_changes_nothing(
    store: stores.Store, deed: Deed
) -> None:
    first = await deed.do(store, (DONE,), None)
    # What came after it stays.
    await store.applications.keep(given.SHOP, fence=None)
    await store.clusters.forget(["us"], fence=None)
    await store.workspaces.keep((), gone=["team-a"], fence=None)

    again = await deed.do(store, (DONE,), None)

    assert (first, again) in ((2, 3), (None, None)), "the version is the newest one"
    assert not await deed.is_done(store)
    assert await answer(store) == replace(ASKED, answered=given.at(2))


@pytest.mark.parametrize("refusal", ["", "not now"])
async def test_what_has_an_answer_is_not_done(
    store: stores.Store, deed: Deed, refusal: str
) -> None:
    await store.requests.answer("q1", refusal=refusal, fence=None)
    told = await answer(store)

    with pytest.raises(fencing.RequestAnswered, match="q1"):
        await deed.do(store, (DONE,), None)

    assert not await deed.is_done(store)
    assert await answer(store) == told


async def test_a_second_taking_does_nothing(store: stores.Store, deed: Deed) -> None:
    await deed.do(store, (DONE,), None)
    await store.applications.keep(given.SHOP, fence=None)
    await store.clusters.forget(["us"], fence=None)
    await store.workspaces.keep((), gone=["team-a"], fence=None)

    with pytest.raises(fencing.RequestAnswered, match="q1"):
        await deed.do(store, (SECOND,), None)

    assert not await deed.is_done(store)
    assert await answer(store) == replace(ASKED, answered=given.at(2))


async def test_what_nobody_asked_for_is_not_done(store: stores.Store, deed: Deed) -> None:
    with pytest.raises(fencing.RequestAnswered, match="gone"):
        await deed.do(store, (replace(DONE, request="gone"),), None)

    assert not await deed.is_done(store)


async def test_who_was_overtaken_neither_does_nor_answers(store: stores.Store, deed: Deed) -> None:
    old = await store.leases.acquire("drive", "a", timedelta(minutes=1))
    assert old is not None
    await store.leases.release(old)
    await store.leases.acquire("drive", "b", timedelta(minutes=1))

    with pytest.raises(fencing.LeaseLost):
        await deed.do(store, (DONE,), old.fence)

    assert not await deed.is_done(store)
    assert (await answer(store)).answered is None


async def test_two_who_come_at_once_do_it_once(store: stores.Store) -> None:
    """Also where their writes share a transaction."""
    cart = replace(given.SHOP, name="cart")
    kept = await asyncio.gather(
        store.applications.keep(cart, fence=None, answers=(DONE,)),
        store.applications.keep(PAUSED, fence=None, answers=(SECOND,)),
        return_exceptions=True,
    )

    assert kept[0] == 1
    assert isinstance(kept[1], fencing.RequestAnswered)
    assert not await is_paused(store)


async def test_what_changes_nothing_is_answered_as_well(store: stores.Store) -> None:
    assert await store.applications.keep(given.SHOP, fence=None, answers=(DONE,)) == 1
    await store.requests.ask(replace(ASKED, id="q2"))
    await store.clusters.keep([], fence=None, answers=(replace(DONE, request="q2"),))

    assert await store.requests.unanswered() == ()


async def test_a_request_outlives_the_application_that_it_is_about(store: stores.Store) -> None:
    await store.applications.forget("shop", fence=None, answers=(DONE,))
    await store.applications.forget("shop", fence=None)

    assert await answer(store) == replace(ASKED, answered=given.at(2))
