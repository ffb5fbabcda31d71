"""One suite for every store: memory, SQLite, PostgreSQL."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model import errors, record, resource
from volary.model.status import RunStatus, TaskStatus
from volary.store import faults, protocol, records

MINUTE = timedelta(minutes=1)
TASK = records.TaskKey("run-1", "1-K8S_SYNC", "us", 1)


async def test_a_new_run_comes_back_whole(store: protocol.Store) -> None:
    kept = await store.keep_transition(given.first(), fence=None)

    assert kept == record.Kept(version=1, last_event=2)
    assert await store.runs.load("run-1") == record.StoredRun(
        head=given.head(),
        version=1,
        last_event=2,
        document={"schema": 1},
        origin={"by": "ana"},
        stages=(given.stage(),),
        tasks=(given.task("us", 0), given.task("eu", 1)),
        commands=given.first().commands,
    )


async def test_what_a_transition_does_not_name_stays(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    done = given.task("us", 0, status=TaskStatus.SUCCEEDED, ready=3)
    step = record.Transition(
        head=given.head(status=RunStatus.WAITING),
        expected_version=1,
        at=given.at(1),
        tasks=(done,),
        events=({"event": "TaskFinished"},),
        settled=("start us", "never there"),
        commands=(record.CommandRecord("wake", {"at": "later"}),),
        feed=(given.told("task-finished", 1),),
    )

    kept = await store.keep_transition(step, fence=None)
    run = await store.runs.load("run-1")

    assert kept == record.Kept(version=2, last_event=3)
    assert run is not None
    assert run.head.status is RunStatus.WAITING
    assert run.document == {"schema": 1}
    assert run.origin == {"by": "ana"}
    assert run.tasks == (done, given.task("eu", 1))
    assert run.commands == (record.CommandRecord("wake", {"at": "later"}),)
    assert await store.events.journal("run-1") == (
        (1, {"event": "Start"}),
        (2, {"event": "TaskFinished"}),
    )
    assert await store.events.journal("run-1", after=1) == ((2, {"event": "TaskFinished"}),)


async def test_events_of_one_step_have_versions_of_their_own(store: protocol.Store) -> None:
    """What several clusters reported together is one transaction, and still told apart."""
    await store.keep_transition(given.first(), fence=None)
    lot = tuple({"event": "TaskFinished", "target": each} for each in ("us", "eu", "asia"))
    step = record.Transition(given.head(), 1, given.at(1), events=lot)

    kept = await store.keep_transition(step, fence=None)
    again = await store.keep_transition(step, fence=None)
    quiet = await store.keep_transition(
        record.Transition(given.head(), kept.version, given.at(2)), fence=None
    )

    assert (kept.version, again, quiet.version) == (4, kept, 5)
    assert await store.events.journal("run-1", after=1) == tuple(enumerate(lot, 2))


async def test_a_document_is_replaced_as_a_whole(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    step = record.Transition(given.head(), 1, given.at(1), document={"schema": 1, "held": True})

    await store.keep_transition(step, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.document == {"schema": 1, "held": True}


async def test_stages_and_tasks_come_in_their_order(store: protocol.Store) -> None:
    """A rollback comes last though its name sorts anywhere; the tenth stage after the second."""
    names = [*(f"{number}-WAIT" for number in range(1, 12)), "a-rollback"]
    new = replace(
        given.first(),
        stages=tuple(given.stage(name, index) for index, name in enumerate(names)),
        tasks=tuple(
            given.task(target, index, stage=name)
            for name in reversed(names)
            for index, target in enumerate(("us", "eu"))
        ),
    )
    await store.keep_transition(new, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert [each.id for each in run.stages] == names
    assert [(each.stage, each.target) for each in run.tasks] == [
        (name, target) for name in names for target in ("us", "eu")
    ]


async def test_a_repeated_transition_changes_nothing(store: protocol.Store) -> None:
    """So that a caller whose connection broke in mid-commit just tries again."""
    kept = await store.keep_transition(given.first(), fence=None)
    again = await store.keep_transition(given.first(), fence=None)

    assert again == kept
    assert len(await store.events.after("run-1", 0)) == 2


@pytest.mark.parametrize("version", [0, 2, 7])
async def test_a_transition_from_another_version_is_refused(
    store: protocol.Store, version: int
) -> None:
    await store.keep_transition(given.first(), fence=None)
    wrong = replace(given.first(), expected_version=version, document={"schema": 1, "mine": True})

    with pytest.raises(faults.VersionConflict, match=f"at version 1, not at {version}"):
        await store.keep_transition(wrong, fence=None)

    run = await store.runs.load("run-1")
    assert run is not None
    assert (run.version, run.document) == (1, {"schema": 1})
    assert len(await store.events.after("run-1", 0)) == 2


async def test_of_two_who_saw_the_same_version_one_wins(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    steps = [
        record.Transition(given.head(), 1, given.at(1), events=({"event": str(number)},))
        for number in range(5)
    ]

    results = await asyncio.gather(
        *(store.keep_transition(step, fence=None) for step in steps), return_exceptions=True
    )

    assert sum(isinstance(result, record.Kept) for result in results) == 1
    assert sum(isinstance(result, faults.VersionConflict) for result in results) == 4
    assert len(await store.events.journal("run-1")) == 2


async def test_many_runs_at_once_are_all_kept(store: protocol.Store) -> None:
    """One that is refused does not harm those it is written with."""
    transitions = [given.first(f"run-{number:03}") for number in range(150)]
    transitions[70] = replace(transitions[70], expected_version=3)

    results = await asyncio.gather(
        *(store.keep_transition(each, fence=None) for each in transitions), return_exceptions=True
    )

    wrong = [number for number, each in enumerate(results) if not isinstance(each, record.Kept)]
    assert wrong == [70]
    assert isinstance(results[70], faults.VersionConflict)
    assert len(await store.runs.unfinished()) == 149


async def test_an_unknown_run_is_none(store: protocol.Store) -> None:
    assert await store.runs.load("nothing") is None
    assert await store.events.after("nothing", 0) == ()
    assert await store.events.journal("nothing") == ()
    assert await store.logs.after("nothing", 0) == ()
    assert await store.runs.approvals("nothing") == ()


async def test_awkward_text_is_kept(store: protocol.Store) -> None:
    """NUL and half surrogate pairs fit into no database; everything else comes back as it was."""
    awkward = "tab\t, ’, 🐤, \x1b[31m, nul \x00, half \ud83d."
    clean = "tab\t, ’, 🐤, \x1b[31m, nul �, half ���."
    new = replace(
        given.first(),
        head=replace(given.head(), reason=awkward),
        document={"text": awkward, "list": [awkward], awkward: None},
    )
    await store.keep_transition(new, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.head.reason == clean
    assert "🐤" in run.document["text"]
    assert "\ud83d" not in run.document["text"]


async def test_times_come_back_in_utc(store: protocol.Store) -> None:
    from datetime import timezone

    there = given.at(0).astimezone(timezone(timedelta(hours=9)))
    there += timedelta(microseconds=123_456)
    await store.keep_transition(
        replace(given.first(), head=replace(given.head(), started=there)), fence=None
    )
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.head.started == there
    assert run.head.started.utcoffset() == timedelta(0)


async def test_commands_are_settled(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)

    await store.runs.settle("run-1", ["wake", "wake", "unknown"], fence=None)
    await store.runs.settle("run-9", ["wake"], fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert [each.key for each in run.commands] == ["start us"]


async def test_approvals_are_kept_in_order(store: protocol.Store) -> None:
    given_by = [
        record.ApprovalRecord("1-K8S_SYNC", "rest", name, given.at(2), name != "cy", "why not")
        for name in ("zoe", "bo", "cy")
    ]
    await store.keep_transition(given.first(), fence=None)
    for version, approval in enumerate(given_by, 1):
        step = record.Transition(given.head(), version, given.at(2), approvals=(approval,))
        await store.keep_transition(step, fence=None)

    assert await store.runs.approvals("run-1") == tuple(given_by)


# Lists of runs.


async def _many_runs(store: protocol.Store) -> None:
    """Ten runs, the later the newer; even ones of shop, failed ones at 0, 3, 6, 9."""
    for number in range(10):
        failed = number % 3 == 0
        await store.keep_transition(
            given.first(
                f"run-{number}",
                application="shop" if number % 2 == 0 else "cart",
                status=RunStatus.FAILED if failed else RunStatus.RUNNING,
                minutes=number // 2,  # two each have the same time
                finished=number if failed else None,
                commit=f"commit-{number // 5}",
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
    ],
)
async def test_runs_are_listed_newest_first(
    store: protocol.Store, wanted: records.RunFilter, expected: list[int]
) -> None:
    await _many_runs(store)

    assert _ids(await store.runs.list(wanted)) == expected


async def test_a_list_is_read_page_by_page_while_it_grows(store: protocol.Store) -> None:
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


async def test_a_full_last_page_has_no_cursor(store: protocol.Store) -> None:
    await _many_runs(store)
    wanted = records.RunFilter(frozenset({"shop"}))

    assert (await store.runs.list(wanted, limit=5)).cursor == ""
    assert (await store.runs.list(wanted, limit=4)).cursor != ""
    assert len((await store.runs.list(wanted, limit=0)).items) == 1


@pytest.mark.parametrize("cursor", ["x", "é", "W10", "eyJhIjoxfQ", "WyJhIiwiYiJd", "A" * 5000])
async def test_a_wrong_cursor_is_the_users_mistake(store: protocol.Store, cursor: str) -> None:
    with pytest.raises(errors.UserError, match="cursor"):
        await store.runs.list(records.RunFilter(), cursor=cursor)
    with pytest.raises(errors.UserError, match="cursor"):
        await store.audit.list(records.AuditFilter(), cursor=cursor)


async def test_unfinished_runs_are_found_oldest_first(store: protocol.Store) -> None:
    await _many_runs(store)

    assert await store.runs.unfinished() == tuple(f"run-{n}" for n in (1, 2, 4, 5, 7, 8))


# Events.


async def test_events_are_numbered_per_run_and_placed_over_all(store: protocol.Store) -> None:
    await store.keep_transition(given.first("run-1"), fence=None)
    await store.keep_transition(given.first("run-2", application="cart"), fence=None)
    more = record.Transition(
        given.head("run-1"), 1, given.at(1), feed=(given.told("run-finished", 1, reason="done"),)
    )
    await store.keep_transition(more, fence=None)

    of_one = await store.events.after("run-1", 0)
    of_all = await store.events.all_after(0)

    assert [each.number for each in of_one] == [1, 2, 3]
    assert of_one[2].record == given.told("run-finished", 1, reason="done")
    assert [each.run_id for each in of_all] == ["run-1", "run-1", "run-2", "run-2", "run-1"]
    assert [each.position for each in of_all] == sorted({each.position for each in of_all})
    assert await store.events.position() == of_all[-1].position
    assert await store.events.after("run-1", 2) == of_one[2:]
    assert await store.events.after("run-1", 0, limit=1) == of_one[:1]
    assert await store.events.all_after(of_all[2].position) == of_all[3:]
    assert await store.events.all_after(0, application="cart") == of_all[2:4]


# Logs.


async def test_log_lines_are_numbered_per_task(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    lines = [given.line("one"), given.line("two", "eu"), given.line("three")]
    await store.logs.append(lines, fence=None)
    await store.logs.append([given.line("four")], fence=None)

    kept = await store.logs.after("run-1", 0)

    assert [(each.number, each.line.text) for each in kept] == [
        (1, "one"),
        (1, "two"),
        (2, "three"),
        (3, "four"),
    ]
    assert kept[1].line == lines[1]
    assert await store.logs.after("run-1", kept[1].position) == kept[2:]
    assert await store.logs.after("run-1", 0, target="eu") == kept[1:2]
    assert await store.logs.after("run-1", 0, stage="2-WAIT") == ()


async def test_of_a_long_log_the_newest_lines_are_kept(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("eu", "eu")], fence=None)
    for batch in range(3):
        lines = [given.line(f"{batch}.{number}") for number in range(8)]
        await store.logs.append(lines, fence=None)

    first = await store.logs.after("run-1", 0, target="us")
    rest = await store.logs.after("run-1", first[-1].position, target="us")
    kept = (*first, *rest)

    assert [each.number for each in kept] == list(range(15, 25))
    assert kept[-1].line.text == "2.7"
    assert len(await store.logs.after("run-1", 0, target="eu")) == 1


async def test_a_long_line_is_cut_and_says_so(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("x" * 1000)], fence=None)
    [kept] = await store.logs.after("run-1", 0)

    assert kept.line.text == "x" * 20 + " … (980 characters more)"


async def test_lines_of_unknown_runs_are_left_out(store: protocol.Store) -> None:
    """Its run was forgotten while a line was on its way."""
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("lost", run="run-9"), given.line("kept")], fence=None)
    await store.logs.append([given.line("lost", run="run-9")], fence=None)
    await store.logs.append([], fence=None)

    assert [each.line.text for each in await store.logs.after("run-1", 0)] == ["kept"]


# Findings and memories.


async def test_findings_are_numbered_per_task_and_found_by_what_they_are_about(
    store: protocol.Store,
) -> None:
    await store.keep_transition(given.first(), fence=None)
    verdict = replace(given.finding(3), kind="verdict", document={"result": "pass"})
    unknown = given.finding(9, run="run-9")
    await store.findings.append([given.finding(1), given.finding(1, "eu"), unknown], fence=None)
    await store.findings.append([given.finding(2, metric="latency"), verdict], fence=None)
    every = await store.findings.after("run-1", 0)

    assert [(each.finding.target, each.number) for each in every] == [
        ("us", 1),
        ("eu", 1),
        ("us", 2),
        ("us", 3),
    ]
    assert every[0].finding == given.finding(1)
    assert every[3].finding == verdict
    assert await store.findings.after("run-1", every[1].position) == every[2:]
    assert await store.findings.after("run-1", 0, limit=1) == every[:1]
    for wanted, found in (
        (records.FindingFilter(target="eu"), every[1:2]),
        (records.FindingFilter(metric="latency"), every[2:3]),
        (records.FindingFilter(kind="verdict"), every[3:]),
        (records.FindingFilter(stage="other"), ()),
    ):
        assert await store.findings.after("run-1", 0, wanted=wanted) == found


async def test_of_many_findings_the_newest_are_kept(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    most = given.LIMITS.findings_per_task
    for start in range(0, most + 3, 4):
        batch = [given.finding(start + offset) for offset in range(4)]
        await store.findings.append([*batch, given.finding(start, "eu")], fence=None)
    kept = await store.findings.after("run-1", 0, wanted=records.FindingFilter(target="us"))

    assert len(kept) == most
    assert kept[-1].finding == given.finding(kept[-1].number - 1)


async def test_a_task_remembers_its_newest_attempt_only(store: protocol.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    again = replace(TASK, attempt=2)
    await store.memories.save(TASK, {"looks": 1}, fence=None)
    await store.memories.save(TASK, {"looks": 2, "name": "\x00"}, fence=None)

    assert await store.memories.load(TASK) == {"looks": 2, "name": "\x00"}
    assert await store.memories.load(again) == {}
    assert await store.memories.load(replace(TASK, target="eu")) == {}
    await store.memories.save(again, {"looks": 1}, fence=None)
    assert await store.memories.load(again) == {"looks": 1}
    assert await store.memories.load(TASK) == {}


async def test_a_task_of_an_unknown_run_remembers_nothing(store: protocol.Store) -> None:
    await store.memories.save(TASK, {"looks": 1}, fence=None)

    assert await store.memories.load(TASK) == {}


async def test_an_application_remembers_by_cluster_and_name(store: protocol.Store) -> None:
    await store.memories.keep("shop", "us", "analysis", {"started": 1}, fence=None)
    await store.memories.keep("shop", "us", "analysis", {"started": 2}, fence=None)

    assert await store.memories.recall("shop", "us", "analysis") == {"started": 2}
    assert await store.memories.recall("shop", "eu", "analysis") == {}
    assert await store.memories.recall("shop", "us", "other") == {}


async def test_what_belongs_to_a_run_goes_with_it(store: protocol.Store) -> None:
    done = given.first(status=RunStatus.FAILED, finished=1)
    await store.keep_transition(done, fence=None)
    await store.findings.append([given.finding(1)], fence=None)
    await store.memories.save(TASK, {"looks": 1}, fence=None)
    await store.prune(records.Retention(given.at(100), 0), fence=None)
    gone = (await store.findings.after("run-1", 0), await store.memories.load(TASK))
    await store.keep_transition(done, fence=None)

    assert gone == ((), {})
    assert await store.memories.load(TASK) == {}
    assert await store.findings.after("run-1", 0) == ()


# Leases.


async def test_one_holds_a_lease_and_the_other_stands_by(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)

    assert mine is not None
    assert mine.expires == turned_clock.now() + MINUTE
    assert await store.leases.acquire("drive", "other", MINUTE) is None
    assert await store.leases.current("drive") == mine
    assert await store.leases.current("unknown") is None


async def test_a_renewed_lease_is_held_on(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(seconds=59)
    renewed = await store.leases.renew(mine, MINUTE)
    turned_clock.turn(seconds=59)

    assert renewed.number == mine.number
    assert await store.leases.acquire("drive", "other", MINUTE) is None


async def test_an_expired_lease_is_taken_over_with_a_higher_number(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(seconds=60)
    theirs = await store.leases.acquire("drive", "other", MINUTE)

    assert theirs is not None
    assert theirs.number == mine.number + 1
    with pytest.raises(faults.Overtaken, match="took over the lease drive"):
        await store.leases.renew(mine, MINUTE)
    await store.leases.release(mine)
    assert await store.leases.current("drive") == theirs


async def test_an_expired_lease_that_nobody_took_is_renewed(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(hours=1)
    assert await store.leases.current("drive") is None

    assert (await store.leases.renew(mine, MINUTE)).number == mine.number


async def test_a_released_lease_is_free_at_once_and_its_number_grows_on(
    store: protocol.Store,
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    await store.leases.release(mine)
    assert await store.leases.current("drive") is None
    with pytest.raises(faults.Overtaken):
        await store.leases.renew(mine, MINUTE)
    theirs = await store.leases.acquire("drive", "other", MINUTE)

    assert theirs is not None
    assert theirs.number == mine.number + 1


async def test_an_earlier_life_of_the_same_owner_is_fenced_off(store: protocol.Store) -> None:
    earlier = await store.leases.acquire("drive", "me", MINUTE)
    later = await store.leases.acquire("drive", "me", MINUTE)

    assert earlier is not None
    assert later is not None
    assert later.number == earlier.number + 1
    with pytest.raises(faults.Overtaken):
        await store.keep_transition(given.first(), fence=earlier.fence)


async def test_one_of_many_gets_a_new_lease(store: protocol.Store) -> None:
    results = await asyncio.gather(
        *(store.leases.acquire("drive", f"process {number}", MINUTE) for number in range(8))
    )

    assert len([each for each in results if each]) == 1


async def test_who_was_overtaken_can_write_nothing(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    await store.keep_transition(given.first(), fence=mine.fence)
    await store.requests.ask(records.RequestRecord("r-1", "sync", "ana", given.at(0)))
    turned_clock.turn(minutes=2)
    assert await store.leases.acquire("drive", "other", MINUTE)
    stale = mine.fence
    key = resource.ResourceKey("", "Service", "shop", "web")
    writes = [
        store.keep_transition(record.Transition(given.head(), 1, given.at(1)), fence=stale),
        store.keep_transition(given.first("run-2"), fence=stale),
        store.runs.settle("run-1", ["wake"], fence=stale),
        store.logs.append([given.line("late")], fence=stale),
        store.findings.append([given.finding(1)], fence=stale),
        store.memories.save(TASK, {"looks": 1}, fence=stale),
        store.memories.keep("shop", "us", "analysis", {"started": 1}, fence=stale),
        store.applications.keep(records.ApplicationRecord("shop"), fence=stale),
        store.commits.keep(records.CommitRecord("shop", "new", given.at(0)), fence=stale),
        store.inventory.replace("shop", "us", [records.InventoryItem(key)], fence=stale),
        store.requests.answer("r-1", refusal="", fence=stale),
        store.prune(records.Retention(given.at(1e6), 0), fence=stale),
    ]

    results = await asyncio.gather(*writes, return_exceptions=True)
    run = await store.runs.load("run-1")

    assert [type(result) for result in results] == [faults.Overtaken] * len(writes)
    assert run is not None
    assert (run.version, len(run.commands)) == (1, 2)
    assert await store.runs.load("run-2") is None
    assert await store.logs.after("run-1", 0) == ()
    assert await store.findings.after("run-1", 0) == ()
    assert await store.memories.load(TASK) == {}
    assert await store.memories.recall("shop", "us", "analysis") == {}
    assert await store.applications.get("shop") is None
    assert await store.commits.get("shop", "new") is None
    assert await store.inventory.list("shop", "us") == ()
    assert len(await store.requests.unanswered()) == 1


async def test_a_lease_that_was_never_given_opens_nothing(store: protocol.Store) -> None:
    with pytest.raises(faults.Overtaken):
        await store.keep_transition(given.first(), fence=record.Fence("drive", 1))


async def test_an_expired_lease_that_nobody_took_still_opens(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    """The number decides, not the clock: clocks jump."""
    mine = await store.leases.acquire("drive", "me", MINUTE)
    assert mine is not None
    turned_clock.turn(hours=1)

    assert (await store.keep_transition(given.first(), fence=mine.fence)).version == 1


# Applications.

SHOP = records.ApplicationRecord(
    "shop",
    repository="git.example/shop",
    path="deploy/volary.yaml",
    branch="main",
    labels={"team": "web", "env": "prod"},
    status="synced",
    reason="up to date",
    running_commit="abc",
    document={"targets": ["us", "eu"]},
    updated=given.at(1),
)


async def test_an_application_comes_back(store: protocol.Store) -> None:
    version = await store.applications.keep(SHOP, fence=None)

    assert version == 1
    assert await store.applications.get("shop") == replace(SHOP, version=1)
    assert await store.applications.get("nothing") is None


async def test_only_a_change_makes_a_new_version(store: protocol.Store) -> None:
    await store.applications.keep(SHOP, fence=None)
    same = await store.applications.keep(replace(SHOP, updated=given.at(2)), fence=None)
    changed = await store.applications.keep(replace(SHOP, labels={"team": "api"}), fence=None)

    assert (same, changed) == (1, 2)
    found = await store.applications.get("shop")
    assert found is not None
    assert found.labels == {"team": "api"}


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
    store: protocol.Store, wanted: records.ApplicationFilter, expected: list[str]
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


# Commits, inventory, requests, audit.


async def test_a_commit_keeps_the_time_it_was_seen_first(store: protocol.Store) -> None:
    first = records.CommitRecord("shop", "abc", given.at(1), "Fix", "ana", "queued", "newest")
    await store.commits.keep(first, fence=None)
    later = replace(first, seen=given.at(9), status="succeeded", reason="", run_id="run-1")
    await store.commits.keep(later, fence=None)

    assert await store.commits.get("shop", "abc") == replace(later, seen=given.at(1))
    assert await store.commits.get("cart", "abc") is None


async def test_commits_are_listed_last_seen_first(store: protocol.Store) -> None:
    for number in range(5):
        commit = records.CommitRecord("shop", f"c{number}", given.at(number // 2))
        await store.commits.keep(commit, fence=None)
    await store.commits.keep(records.CommitRecord("cart", "other", given.at(9)), fence=None)
    page = await store.commits.list("shop", limit=3)
    rest = await store.commits.list("shop", cursor=page.cursor, limit=3)

    assert [each.commit for each in page.items] == ["c4", "c3", "c2"]
    assert [each.commit for each in rest.items] == ["c1", "c0"]
    assert rest.cursor == ""


async def test_an_inventory_is_replaced(store: protocol.Store) -> None:
    def item(kind: str, name: str, commit: str) -> records.InventoryItem:
        key = resource.ResourceKey("", kind, "shop", name)
        return records.InventoryItem(key, "v1", commit)

    await store.inventory.replace("shop", "eu", [item("Service", "eu", "a")], fence=None)
    old = [item("Service", "web", "a"), item("ConfigMap", "web", "a")]
    await store.inventory.replace("shop", "us", old, fence=None)
    new = [item("Service", "web", "b"), item("ConfigMap", "more", "b"), item("Service", "web", "c")]
    await store.inventory.replace("shop", "us", new, fence=None)

    assert await store.inventory.list("shop", "us") == (new[1], new[2])
    await store.inventory.replace("shop", "us", [], fence=None)
    assert await store.inventory.list("shop", "us") == ()
    assert await store.inventory.list("shop", "eu") == (item("Service", "eu", "a"),)


async def test_a_request_waits_until_it_is_answered_once(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    late = records.RequestRecord("a", "approve", "ana", given.at(2), "shop", "run-1", {"x": 1})
    early = records.RequestRecord("b", "cancel", "bo", given.at(1))

    assert await store.requests.ask(late)
    assert await store.requests.ask(early)
    assert not await store.requests.ask(replace(late, by="somebody else"))
    assert await store.requests.unanswered() == (early, late)
    await store.requests.answer("b", refusal="it has ended", fence=None)
    await store.requests.answer("b", refusal="", fence=None)
    await store.requests.answer("unknown", refusal="", fence=None)
    assert await store.requests.unanswered() == (late,)
    assert await store.requests.get("b") == replace(
        early, answered=turned_clock.now(), refusal="it has ended"
    )
    assert await store.requests.get("unknown") is None


async def test_the_audit_is_listed_newest_first(store: protocol.Store) -> None:
    entries = [
        records.AuditRecord(
            given.at(number),
            "ana" if number % 2 else "bo",
            "run.approve",
            "ok",
            source="192.0.2.7",
            application="shop" if number < 3 else "cart",
            run_id=f"run-{number}",
            document={"number": number},
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

    assert [replace(each, position=0) for each in found] == list(reversed(entries))
    assert len({each.position for each in found}) == 6
    assert [each.document["number"] for each in by_ana.items] == [1]
    assert none.items == ()
    assert [each.run_id for each in one.items] == ["run-4"]


# Retention.


async def _history(store: protocol.Store) -> None:
    """Eight runs of shop, a minute each; 2 succeeded, 0 still runs, the others failed."""
    for number in range(8):
        status = {0: RunStatus.RUNNING, 2: RunStatus.SUCCEEDED}.get(number, RunStatus.FAILED)
        finished = None if status is RunStatus.RUNNING else number + 1
        run = f"run-{number}"
        await store.keep_transition(
            given.first(run, status=status, minutes=number, finished=finished), fence=None
        )
        await store.logs.append([given.line("hello", run=run, minutes=number)], fence=None)


async def _left(store: protocol.Store) -> list[int]:
    return sorted(_ids(await store.runs.list(records.RunFilter(), limit=100)))


@pytest.mark.parametrize(
    ("before", "keep", "left"),
    [
        # Run 0 has not ended, run 2 is what is rolled back to.
        (100, 0, [0, 2]),
        (100, 3, [0, 2, 5, 6, 7]),
        (6, 0, [0, 2, 5, 6, 7]),
        (6, 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (0, 0, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
async def test_old_runs_are_forgotten_but_for_the_newest_and_the_last_good_one(
    store: protocol.Store, before: int, keep: int, left: list[int]
) -> None:
    await _history(store)
    pruned = await store.prune(records.Retention(given.at(before), keep), fence=None)
    everything = range(8)

    assert [number for number in everything if await store.runs.load(f"run-{number}")] == left
    gone = 8 - len(left)
    assert (pruned.runs, pruned.events, pruned.logs) == (gone, 2 * gone, gone)
    for number in everything:
        kept = number in left
        assert bool(await store.events.after(f"run-{number}", 0)) is kept
        assert bool(await store.logs.after(f"run-{number}", 0)) is kept


async def test_each_application_keeps_its_own_newest_runs(store: protocol.Store) -> None:
    for name in ("shop", "cart"):
        for number in range(3):
            run = given.first(
                f"{name}-{number}",
                application=name,
                status=RunStatus.FAILED,
                minutes=number,
                finished=number,
            )
            await store.keep_transition(run, fence=None)
    await store.prune(records.Retention(given.at(100), 1), fence=None)
    page = await store.runs.list(records.RunFilter())

    assert {item.head.id for item in page.items} == {"shop-2", "cart-2"}


async def test_events_and_logs_may_go_before_their_runs(store: protocol.Store) -> None:
    await _history(store)
    rule = records.Retention(given.at(-1), events_before=given.at(100), logs_before=given.at(5))
    pruned = await store.prune(rule, fence=None)

    assert (pruned.runs, pruned.events, pruned.logs) == (0, 14, 4)
    assert await store.events.after("run-7", 0) == ()
    assert await store.events.journal("run-7") == ()
    assert len(await store.logs.after("run-7", 0)) == 1
    assert len(await store.events.after("run-0", 0)) == 2, "it still runs"
    assert len(await store.logs.after("run-0", 0)) == 1


async def test_positions_are_never_used_again(store: protocol.Store) -> None:
    """A reader that goes on after a position must not miss what came after a deletion."""
    await _history(store)
    last = await store.events.position()
    rule = records.Retention(given.at(-1), events_before=given.at(100))
    await store.prune(rule, fence=None)
    await store.keep_transition(given.first("run-9"), fence=None)

    assert [each.run_id for each in await store.events.all_after(last)] == ["run-9", "run-9"]


async def test_the_rest_is_forgotten_by_its_own_age(
    store: protocol.Store, turned_clock: given.TurnedClock
) -> None:
    await _history(store)
    running = replace(SHOP, running_commit="c1")
    await store.applications.keep(running, fence=None)
    for number in range(6):
        run = "run-7" if number == 2 else ""
        commit = records.CommitRecord("shop", f"c{number}", given.at(number), run_id=run)
        await store.commits.keep(commit, fence=None)
        await store.audit.write(records.AuditRecord(given.at(number), "ana", "x", "ok"))
    for name in ("answered", "waiting"):
        await store.requests.ask(records.RequestRecord(name, "sync", "ana", given.at(0)))
    await store.requests.answer("answered", refusal="", fence=None)
    rule = records.Retention(given.at(4), 1, audit_before=given.at(3))
    pruned = await store.prune(rule, fence=None)
    commits = await store.commits.list("shop")

    # c1 runs, c2 has a run that is kept, c4 and c5 are too new.
    assert [each.commit for each in commits.items] == ["c5", "c4", "c2", "c1"]
    assert (pruned.commits, pruned.requests, pruned.audit) == (2, 1, 3)
    assert await store.requests.get("answered") is None
    assert await store.requests.get("waiting") is not None
    assert len((await store.audit.list(records.AuditFilter())).items) == 3


async def test_what_a_caller_does_to_its_values_does_not_reach_the_store(
    store: protocol.Store,
) -> None:
    new = given.first()
    await store.keep_transition(new, fence=None)
    assert new.document is not None
    new.document["schema"] = "changed"
    run = await store.runs.load("run-1")
    assert run is not None
    run.document["schema"] = "changed too"
    again = await store.runs.load("run-1")

    assert again is not None
    assert again.document == {"schema": 1}
