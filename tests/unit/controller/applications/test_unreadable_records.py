"""What is stored and cannot be read stops nobody else, and waits for a person's word."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

import damaged_rows
import reconciler_fixtures as given
from volary.controller.api import conversions
from volary.controller.api.commands import command_handler
from volary.controller.persistence import change_signal
from volary.controller.status import application_statuses
from volary.engine.runs import run_builder
from volary.gitops import repository_state
from volary.model import errors
from volary.store import records

_BROKEN = errors.Problem("volary.yaml:3: a typo")
_HALF = damaged_rows.DOCUMENTS["half a text"]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[given.World]:
    async with given.leading(f"sqlite:{tmp_path}/volary.db") as made:
        yield made


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/volary.db"


def handler_of(world: given.World) -> command_handler.CommandHandler:
    return command_handler.CommandHandler(
        world.leader, world.registry, change_signal.ChangeSignal()
    )


def seen(*names: str) -> repository_state.RepositoryState:
    found = tuple(
        repository_state.DiscoveredApplication(
            name, "shop", f"{name}/volary.yaml", "c1", None, (_BROKEN,)
        )
        for name in names
    )
    return repository_state.RepositoryState("shop", "main", None, found)


async def keep(world: given.World, *names: str) -> None:
    document = application_statuses.to_document(application_statuses.ApplicationStatus())
    for name in names:
        record = records.ApplicationRecord(
            name, "shop", f"{name}/volary.yaml", status="synced", document=document
        )
        await world.store.applications.keep(record, fence=None)


async def answer(world: given.World, request: records.RequestRecord) -> str:
    """Return the refusal of a request that was asked for before."""
    answered = await world.store.requests.answer_of(request.id)
    while answered is None:
        await world.leader.change_signal.wait(0.05)
        answered = await world.store.requests.answer_of(request.id)
    return answered.refusal


@pytest.mark.parametrize("document", [_HALF, '{"run_request": 5}'])
async def test_an_application_is_left_alone_until_it_is_forgotten(
    world: given.World, address: str, document: str
) -> None:
    await keep(world, "cart", "shop")
    await damaged_rows.damage(address, "applications", "document", document, name="cart")

    await world.registry.load()
    await world.registry.notice(seen("cart", "shop"))
    await world.until(lambda shop: shop.status == "broken")

    known = await world.store.applications.get("cart")
    assert known is not None
    shown = conversions.of_application(known)
    assert shown.status == "unreadable"
    assert "what is stored of it" in shown.reason
    row = await damaged_rows.stored(address, "applications", "document", name="cart")
    assert row == document
    ask = records.RequestRecord("q1", "sync", "ana", given.AT, "cart")
    refusal = await handler_of(world).carry_out(ask)
    assert refusal.startswith("application cart is left as it is: what is stored of it")
    assert "`volary application forget cart`" in refusal

    forget = replace(ask, id="q2", kind="forget")
    await world.store.requests.ask(forget)
    assert await handler_of(world).carry_out(forget) == ""
    await world.until(lambda cart: cart.status == "broken", "cart")


async def test_a_request_is_refused_and_those_after_it_are_carried_out(
    world: given.World, address: str
) -> None:
    await keep(world, "shop")
    await world.registry.load()
    asked = [records.RequestRecord(f"q{n}", "pause", "ana", given.AT, "shop") for n in (1, 2, 3)]
    for request in asked:
        await world.store.requests.ask(request)
    await damaged_rows.damage(
        address, "requests", "document", damaged_rows.DOCUMENTS["a number without end"], id="q1"
    )
    await damaged_rows.damage(address, "requests", "kind", "explode", id="q2")
    handling = world.leader.group.create_task(handler_of(world).keep_handling())
    try:
        refusals = [await answer(world, request) for request in asked]
    finally:
        handling.cancel()

    assert refusals == [
        "what is stored of this request cannot be read: its document is not a JSON object that"
        " can be read",
        "nobody knows a request of kind explode",
        "",
    ]
    assert (await world.status()).pause is not None


async def test_a_run_stops_its_application_only_and_can_be_abandoned(
    world: given.World, address: str
) -> None:
    plan = run_builder.RunSpec("cart", "c1", run_builder.one_group(("us",)), (given.SYNC,))
    run = run_builder.new_run("r1", plan, given.AT)
    await given.keep_run(world.store, run, given.Kind.RELEASE, fence=world.leader.fence)
    await keep(world, "cart", "shop")
    await damaged_rows.damage(address, "runs", "document", _HALF, id="r1")

    await world.registry.load()
    await world.shop.submit(given.request("r2"))
    await world.until(lambda shop: shop.status == "synced" and shop.running_commit == "c1")
    await world.until(
        lambda cart: "run r1 cannot go on: what is stored of run r1 cannot be read" in cart.reason,
        "cart",
    )
    ask = records.RequestRecord("q1", "abandon", "ana", given.AT, "cart", "r1")
    await world.store.requests.ask(ask)
    assert await handler_of(world).carry_out(ask) == ""

    found = await world.store.runs.summary("r1")
    assert found is not None
    assert found.head.status.value == "cancelled"
    assert "what is stored of run r1 is damaged" in found.head.reason
    assert await damaged_rows.stored(address, "runs", "document", id="r1") == _HALF
