"""Lists of every store: their order, their filters, page by page."""

from dataclasses import replace

import pytest

import store_fixtures as given
from volary.model import errors
from volary.model.statuses import RunStatus
from volary.store import records, stores


async def _many_runs(store: stores.Store) -> None:
    """Ten runs, the later the newer; even ones of shop, failed ones at 0, 3, 6, 9."""
    for number in range(10):
        failed = number % 3 == 0
        await store.keep_transition(
            replace(
                given.first(
                    f"run-{number}",
                    application="shop" if number % 2 == 0 else "cart",
                    status=RunStatus.FAILED if failed else RunStatus.RUNNING,
                    minutes=number // 2,  # two each have the same time
                    finished=number if failed else None,
                    commit=f"commit-{number // 5}",
                ),
                origin={
                    "by": "ana" if number % 3 == 0 else "bo",
                    "targets": ["us", "eu"] if number % 4 == 0 else ["us"],
                },
            ),
            fence=None,
        )


def _ids(page: records.Page[records.RunSummary]) -> list[int]:
    return [int(item.head.id.removeprefix("run-")) for item in page.items]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (records.RunFilter(), [9, 8, 7, 6, 5, 4, 3]),
        (records.RunFilter(frozenset({"shop"})), [8, 6, 4, 2, 0]),
        (records.RunFilter(frozenset({"cart", "nothing"})), [9, 7, 5, 3, 1]),
        (records.RunFilter(frozenset()), []),
        (records.RunFilter(statuses=frozenset({RunStatus.FAILED})), [9, 6, 3, 0]),
        (records.RunFilter(frozenset({"shop"}), frozenset({RunStatus.FAILED})), [6, 0]),
        (records.RunFilter(commit="commit-0"), [4, 3, 2, 1, 0]),
        (records.RunFilter(by="ana"), [9, 6, 3, 0]),
        (records.RunFilter(target="us"), [9, 8, 7, 6, 5, 4, 3]),
        (records.RunFilter(target="eu"), [8, 4, 0]),
        (records.RunFilter(frozenset({"cart"}), by="bo", target="eu"), []),
        (records.RunFilter(target="mars"), []),
    ],
)
async def test_runs_are_listed_newest_first(
    store: stores.Store, wanted: records.RunFilter, expected: list[int]
) -> None:
    await _many_runs(store)

    assert _ids(await store.runs.list(wanted)) == expected


async def test_runs_are_found_by_their_ids_in_one_question(store: stores.Store) -> None:
    await _many_runs(store)

    found = await store.runs.summaries({"run-1", "run-8", "nothing"})

    assert {run_id: item.head.application for run_id, item in found.items()} == {
        "run-1": "cart",
        "run-8": "shop",
    }
    assert await store.runs.summaries(()) == {}


async def test_when_each_application_was_released_last_is_found(store: stores.Store) -> None:
    ends = (("one", 1, "shop"), ("two", 9, "shop"), ("three", 4, "cart"))
    for run_id, minute, application in ends:
        ended = given.first(
            run_id, application=application, status=RunStatus.SUCCEEDED, finished=minute
        )
        await store.keep_transition(ended, fence=None)
    worse = given.first("four", application="cart", status=RunStatus.FAILED, finished=8)
    await store.keep_transition(worse, fence=None)

    found = await store.runs.last_good_ends({"shop", "cart", "nothing"})

    minutes = {name: (at - given.BEGINNING).total_seconds() / 60 for name, at in found.items()}
    assert minutes == {"shop": 9, "cart": 4}
    assert await store.runs.last_good_ends(()) == {}


async def test_a_list_is_read_page_by_page_while_it_grows(store: stores.Store) -> None:
    await _many_runs(store)
    seen = []
    cursor = ""
    for turn in range(10):
        page = await store.runs.list(records.RunFilter(), cursor=cursor, limit=3)
        seen += _ids(page)
        await store.keep_transition(given.first(f"run-{turn + 10}", minutes=100), fence=None)
        cursor = page.cursor
        if not cursor:
            break

    assert seen == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


async def test_the_runs_of_a_cluster_are_read_page_by_page(store: stores.Store) -> None:
    await _many_runs(store)
    cursor, found = "", []
    while True:
        page = await store.runs.list(records.RunFilter(target="us"), cursor=cursor, limit=3)
        found += _ids(page)
        cursor = page.cursor
        if not cursor:
            break

    assert found == list(range(9, -1, -1))


async def test_a_full_last_page_has_no_cursor(store: stores.Store) -> None:
    await _many_runs(store)
    wanted = records.RunFilter(frozenset({"shop"}))

    assert (await store.runs.list(wanted, limit=5)).cursor == ""
    assert (await store.runs.list(wanted, limit=4)).cursor != ""
    assert len((await store.runs.list(wanted, limit=0)).items) == 1


@pytest.mark.parametrize("cursor", ["x", "é", "W10", "eyJhIjoxfQ", "WyJhIiwiYiJd", "A" * 5000])
async def test_a_wrong_cursor_is_the_users_mistake(store: stores.Store, cursor: str) -> None:
    with pytest.raises(errors.UserError, match="cursor"):
        await store.runs.list(records.RunFilter(), cursor=cursor)
    with pytest.raises(errors.UserError, match="cursor"):
        await store.audit.list(records.AuditFilter(), cursor=cursor)


async def test_unfinished_runs_are_found_oldest_first(store: stores.Store) -> None:
    await _many_runs(store)

    assert await store.runs.unfinished() == tuple(f"run-{n}" for n in (1, 2, 4, 5, 7, 8))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (records.ApplicationFilter(), ["Zoo", "a-1", "a.1", "a1", "b"]),
        (records.ApplicationFilter(labels={"team": "web"}), ["a-1", "a1"]),
        (records.ApplicationFilter(labels={"team": "web", "env": "prod"}), ["a1"]),
        (records.ApplicationFilter(labels={"team": "none"}), []),
        (records.ApplicationFilter(status="broken"), ["b"]),
        (records.ApplicationFilter(repository="r2"), ["a.1"]),
        (records.ApplicationFilter(with_removed=True), ["Zoo", "a-1", "a.1", "a1", "b", "gone"]),
    ],
)
async def test_applications_are_listed_by_name(
    store: stores.Store, wanted: records.ApplicationFilter, expected: list[str]
) -> None:
    """By code points in every database, whatever its locale."""
    for application in (
        records.ApplicationRecord("gone", removed=given.at(0)),
        records.ApplicationRecord("b", status="broken"),
        records.ApplicationRecord("a1", labels={"team": "web", "env": "prod"}),
        records.ApplicationRecord("a.1", labels={"env": "prod"}, repository="r2"),
        records.ApplicationRecord("a-1", labels={"team": "web", "env": "test"}),
        records.ApplicationRecord("Zoo"),
    ):
        await store.applications.keep(application, fence=None)
    names = []
    cursor = ""
    while True:
        page = await store.applications.list(wanted, cursor=cursor, limit=2)
        names += [item.name for item in page.items]
        cursor = page.cursor
        if not cursor:
            break

    assert names == expected


async def test_commits_are_listed_last_seen_first(store: stores.Store) -> None:
    shop, cart = records.ApplicationRecord("shop"), records.ApplicationRecord("cart")
    commits = [
        records.CommitRecord("shop", f"c{number}", given.at(number // 2)) for number in range(5)
    ]
    await store.applications.keep(shop, commits=commits, fence=None)
    other = records.CommitRecord("cart", "other", given.at(9))
    await store.applications.keep(cart, commits=[other], fence=None)
    page = await store.commits.list("shop", limit=3)
    rest = await store.commits.list("shop", cursor=page.cursor, limit=3)

    assert [each.commit for each in page.items] == ["c4", "c3", "c2"]
    assert [each.commit for each in rest.items] == ["c1", "c0"]
    assert rest.cursor == ""


async def test_the_audit_is_listed_newest_first(store: stores.Store) -> None:
    entries = [
        records.AuditRecord(
            given.at(number),
            "ana" if number % 2 else "bo",
            "run.approve",
            "ok",
            source="192.0.2.7",
            application="shop" if number < 3 else "cart",
            run_id=f"run-{number}",
            document={"number": number, **({"cluster": "us"} if number > 3 else {})},
        )
        for number in range(6)
    ]
    for entry in entries:
        await store.audit.write(entry)
    page = await store.audit.list(records.AuditFilter(), limit=4)
    rest = await store.audit.list(records.AuditFilter(), cursor=page.cursor)
    found = [*page.items, *rest.items]
    by_ana = await store.audit.list(records.AuditFilter(by="ana", application="shop"))
    none = await store.audit.list(records.AuditFilter(action="run.reject"))
    one = await store.audit.list(records.AuditFilter(run_id="run-4"))
    of_us = await store.audit.list(records.AuditFilter(cluster="us"))
    oldest = await store.audit.list(records.AuditFilter(), oldest_first=True, limit=4)
    newer = await store.audit.list(records.AuditFilter(), oldest_first=True, cursor=oldest.cursor)

    plain = [replace(each, position=0, previous="", hash="") for each in found]
    assert plain == list(reversed(entries))
    assert [each.position for each in found] == [6, 5, 4, 3, 2, 1]
    assert [each.document["number"] for each in by_ana.items] == [1]
    assert none.items == ()
    assert [each.position for each in (*oldest.items, *newer.items)] == [1, 2, 3, 4, 5, 6]
    assert [each.run_id for each in one.items] == ["run-4"]
    assert [each.run_id for each in of_us.items] == ["run-5", "run-4"]
