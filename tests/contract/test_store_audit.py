"""The audit's chain: in every store, with several who write, and after retention."""

import asyncio
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

import store_fixtures as given
from volary.controller.api import conversions
from volary.model import audit_chain
from volary.store import factory, records, stores

DOCUMENT: dict[str, Any] = {
    "reason": "half a pair: \ud800, and nothing: \x00",
    "b": [1, 2.5, -0.0, 1e300, None, True],
    "a": {"z": "ä", "y": {}},
}


def entry(number: int, *, by: str = "token:ana") -> records.AuditRecord:
    return records.AuditRecord(
        given.at(number),
        by,
        "run.approve",
        "ok",
        source="192.0.2.7",
        application="shop",
        run_id=f"run-{number}",
        document={"number": number},
        before={"status": "waiting"},
        after={"status": "running"},
    )


async def everything(store: stores.Store) -> list[records.AuditRecord]:
    found: list[records.AuditRecord] = []
    cursor = ""
    while True:
        page = await store.audit.list(records.AuditFilter(), oldest_first=True, cursor=cursor)
        found += page.items
        cursor = page.cursor
        if not cursor:
            return found


def problems(
    found: list[records.AuditRecord], head: records.AuditHead | None = None
) -> tuple[str, ...]:
    """Verify entries as the API shows them."""
    verification = audit_chain.Verification({head.position: head.hash} if head else {})
    for each in found:
        verification.read(msgspec.json.decode(msgspec.json.encode(conversions.of_audit(each))))
    return verification.end()


async def test_every_entry_has_the_hash_of_the_one_before(store: stores.Store) -> None:
    before = await store.audit.head()
    odd = timezone(timedelta(hours=5, minutes=30))
    moment = given.at(7).replace(microsecond=120_000).astimezone(odd)
    for each in (entry(1), replace(entry(2), at=moment, document=DOCUMENT), entry(3)):
        await store.audit.write(each)
    found, head = await everything(store), await store.audit.head()

    assert before == records.AuditHead()
    assert [each.position for each in found] == [1, 2, 3]
    assert [each.previous for each in found] == ["", *(each.hash for each in found[:2])]
    assert head == records.AuditHead(3, found[2].hash)
    assert problems(found, head) == ()
    assert len({each.hash for each in found}) == 3


async def test_an_entry_is_of_the_project_that_its_application_was_of_then(
    store: stores.Store,
) -> None:
    for project in ("shop", "pay"):
        await store.applications.keep(
            records.ApplicationRecord("shop", "r", "p", project=project), fence=None
        )
        await store.audit.write(entry(1))
    for other in (
        replace(entry(1), project="mine"),  # as it was before the application went away
        replace(entry(1), application="nobody"),
        replace(entry(1), application=""),
    ):
        await store.audit.write(other)

    written = await everything(store)
    page = await store.audit.list(records.AuditFilter(projects=frozenset({"pay", "mine"})))
    nothing = await store.audit.list(records.AuditFilter(projects=frozenset()))
    moved = conversions.of_audit(replace(written[0], project="pay"))

    assert [each.project for each in written] == ["shop", "pay", "mine", "", ""]
    assert [each.project for each in page.items] == ["mine", "pay"]
    assert nothing.items == ()
    assert audit_chain.digest("", msgspec.to_builtins(moved)) != written[0].hash


async def test_what_is_removed_or_changed_shows(store: stores.Store) -> None:
    for number in range(1, 7):
        await store.audit.write(entry(number))
    found, head = await everything(store), await store.audit.head()
    changed = {
        name: [*found[:2], replace(found[2], **{name: value}), *found[3:]]
        for name, value in {
            "by": "token:bo",
            "at": given.at(9),
            "action": "run.reject",
            "result": "denied",
            "source": "",
            "application": "cart",
            "run_id": "",
            "document": {},
            "before": {},
            "after": {"status": "failed"},
        }.items()
    }

    said = "entry 3 was changed: it does not have the hash of its content"
    assert {name: problems(each, head) for name, each in changed.items()} == dict.fromkeys(
        changed, (said,)
    )
    assert problems([*found[:2], *found[3:]], head) == ("entry 3 is missing",)
    assert problems([found[0], *found[4:]], head) == ("entries 2 to 4 are missing",)
    assert problems(found[:4], head) == ("entries 5 to 6 are missing at the end",)
    assert problems([], head) == ("entries 1 to 6 are missing at the end",)
    assert problems(found[2:], head) == (
        "entries 1 to 2 are missing, and retention does not say that it removed them",
    )
    assert problems([found[0], found[2], found[1]], None)[0] == "entry 2 is missing"


async def test_an_entry_that_was_written_anew_with_its_hash_shows(store: stores.Store) -> None:
    for number in range(1, 5):
        await store.audit.write(entry(number))
    found, head = await everything(store), await store.audit.head()

    def forged(each: records.AuditRecord) -> records.AuditRecord:
        made = replace(each, by="token:nobody")
        shown = msgspec.to_builtins(conversions.of_audit(made))
        shown["at"] = made.at
        return replace(made, hash=audit_chain.digest(made.previous, shown))

    middle = [*found[:2], forged(found[2]), found[3]]
    last = [*found[:3], forged(found[3])]

    assert problems(middle, head) == ("entry 4 does not follow entry 3: one of them was replaced",)
    assert problems(last, head) == (
        "entry 4 was replaced: it does not have the hash that is expected",
    )


async def test_what_retention_leaves_is_still_known_to_be_whole(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    for number in range(1, 7):
        await store.audit.write(entry(number))
    last_gone = (await everything(store))[2]
    turned_clock.turn(minutes=10)
    rule = records.Retention(given.at(0), audit_before=given.at(4))
    first = await store.prune(rule, fence=None)
    again = await store.prune(rule, fence=None)
    found, head = await everything(store), await store.audit.head()
    noted = found[-1]
    turned_clock.turn(minutes=10)
    later = await store.prune(replace(rule, audit_before=given.at(6)), fence=None)
    rest = await everything(store)

    assert (first.audit, again.audit, later.audit) == (3, 0, 2)
    assert [each.position for each in found] == [4, 5, 6, 7]
    assert (noted.by, noted.action) == ("volary", "audit.pruned")
    assert noted.document == {"removed": 3, "through": 3, "hash": last_gone.hash}
    assert problems(found, head) == ()
    assert [each.position for each in rest] == [6, 7, 8]
    assert problems(rest, await store.audit.head()) == ()
    assert problems(found[1:], head) == (
        "entries 1 to 4 are missing, and retention does not say that it removed them",
    )


async def test_retention_that_removes_everything_ends(store: stores.Store) -> None:
    """Also where the clock says that what retention itself has just written is old."""
    for number in range(1, 4):
        await store.audit.write(entry(number))
    pruned = await store.prune(
        records.Retention(given.at(0), audit_before=given.at(99)), fence=None
    )
    found = await everything(store)

    assert pruned.audit == 3
    assert [each.action for each in found] == ["audit.pruned"]
    assert problems(found, await store.audit.head()) == ()


async def test_an_entry_that_is_younger_than_its_clock_says_keeps_its_place(
    store: stores.Store,
) -> None:
    """Only the beginning goes: a clock that was behind for a while tears no hole."""
    for number in (1, 8, 2, 9):
        await store.audit.write(entry(number))
    pruned = await store.prune(records.Retention(given.at(0), audit_before=given.at(5)), fence=None)
    found = await everything(store)

    assert pruned.audit == 1
    assert [each.position for each in found] == [2, 3, 4, 5]
    assert problems(found, await store.audit.head()) == ()


async def test_many_who_write_at_once_make_one_chain(
    database_address: str, turned_clock: given.TurnedClock
) -> None:
    """Four processes' stores on one database."""
    address = database_address
    limits = replace(given.LIMITS, busy=timedelta(seconds=60))

    async def write(name: str) -> None:
        async with factory.open_store(address, clock=turned_clock, limits=limits) as own:
            for number in range(15):
                await own.audit.write(entry(number, by=name))

    async with asyncio.TaskGroup() as group:
        for name in ("token:a", "token:b", "token:c", "token:d"):
            group.create_task(write(name))
    async with factory.open_store(address, clock=turned_clock, limits=limits) as store:
        found, head = await everything(store), await store.audit.head()

    assert len(found) == 60
    assert {each.by for each in found} == {"token:a", "token:b", "token:c", "token:d"}
    assert problems(found, head) == ()


async def test_an_entry_that_is_taken_out_of_the_file_shows(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path}/volary.db"
    async with factory.open_store(address, clock=given.TurnedClock()) as store:
        for number in range(1, 6):
            await store.audit.write(entry(number))
    engine = sa.create_engine(f"sqlite:///{tmp_path}/volary.db")
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM audit WHERE position IN (2, 5)"))
        connection.execute(sa.text("UPDATE audit SET \"by\" = 'token:bo' WHERE position = 4"))
    engine.dispose()
    async with factory.open_store(address, clock=given.TurnedClock()) as store:
        found, head = await everything(store), await store.audit.head()
        await store.audit.write(entry(9))
        then = await everything(store)

    assert problems(found, head) == (
        "entry 2 is missing",
        "entry 4 was changed: it does not have the hash of its content",
        "entry 5 is missing at the end",
    )
    assert problems(then, None)[-1] == "entry 5 is missing", "it is not filled by what comes after"
