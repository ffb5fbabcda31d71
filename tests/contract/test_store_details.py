"""What belongs to tasks: events, log lines, findings, what they remember."""

from dataclasses import replace

import store_fixtures as given
from volary.model.runs import run_records
from volary.store import records, stores

TASK = records.TaskKey("run-1", "1-K8S_SYNC", "us", 1)


def _as_appended(kept: records.LogLine | records.Finding) -> records.LogLine | records.Finding:
    """Return what was kept without what the store has set."""
    return replace(kept, position=0, number=0)


async def test_events_are_numbered_per_run_and_placed_over_all(store: stores.Store) -> None:
    await store.keep_transition(given.first("run-1"), fence=None)
    await store.keep_transition(given.first("run-2", application="cart"), fence=None)
    more = run_records.Transition(
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
    assert await store.events.all_after(0, applications={"cart"}) == of_all[2:4]


async def test_log_lines_are_numbered_per_task(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    lines = [given.line("one"), given.line("two", "eu"), given.line("three")]
    await store.logs.append(lines, fence=None)
    await store.logs.append([given.line("four")], fence=None)

    kept = await store.logs.after("run-1", 0)

    assert [(each.number, each.text) for each in kept] == [
        (1, "one"),
        (1, "two"),
        (2, "three"),
        (3, "four"),
    ]
    assert _as_appended(kept[1]) == lines[1]
    assert await store.logs.after("run-1", kept[1].position) == kept[2:]
    assert await store.logs.after("run-1", 0, target="eu") == kept[1:2]
    assert await store.logs.after("run-1", 0, stage="2-WAIT") == ()


async def test_of_a_long_log_the_newest_lines_are_kept(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("eu", "eu")], fence=None)
    for batch in range(3):
        lines = [given.line(f"{batch}.{number}") for number in range(8)]
        await store.logs.append(lines, fence=None)

    first = await store.logs.after("run-1", 0, target="us")
    rest = await store.logs.after("run-1", first[-1].position, target="us")
    kept = (*first, *rest)

    assert [each.number for each in kept] == list(range(15, 25))
    assert kept[-1].text == "2.7"
    assert len(await store.logs.after("run-1", 0, target="eu")) == 1


async def test_a_long_line_is_cut_and_says_so(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("x" * 1000)], fence=None)
    [kept] = await store.logs.after("run-1", 0)

    assert kept.text == "x" * 20 + " … (980 characters more)"


async def test_lines_of_unknown_runs_are_left_out(store: stores.Store) -> None:
    """Its run was removed while a line was on its way."""
    await store.keep_transition(given.first(), fence=None)
    await store.logs.append([given.line("lost", run="run-9"), given.line("kept")], fence=None)
    await store.logs.append([given.line("lost", run="run-9")], fence=None)
    await store.logs.append([], fence=None)

    assert [each.text for each in await store.logs.after("run-1", 0)] == ["kept"]


async def test_findings_are_numbered_per_task_and_found_by_what_they_are_about(
    store: stores.Store,
) -> None:
    await store.keep_transition(given.first(), fence=None)
    verdict = replace(given.finding(3), kind="verdict", document={"result": "pass"})
    unknown = given.finding(9, run="run-9")
    await store.findings.append([given.finding(1), given.finding(1, "eu"), unknown], fence=None)
    await store.findings.append([given.finding(2, metric="latency"), verdict], fence=None)
    every = await store.findings.after("run-1", 0)

    assert [(each.target, each.number) for each in every] == [
        ("us", 1),
        ("eu", 1),
        ("us", 2),
        ("us", 3),
    ]
    assert _as_appended(every[0]) == given.finding(1)
    assert _as_appended(every[3]) == verdict
    assert await store.findings.after("run-1", every[1].position) == every[2:]
    assert await store.findings.after("run-1", 0, limit=1) == every[:1]
    for wanted, found in (
        (records.FindingFilter(target="eu"), every[1:2]),
        (records.FindingFilter(metric="latency"), every[2:3]),
        (records.FindingFilter(kind="verdict"), every[3:]),
        (records.FindingFilter(stage="other"), ()),
    ):
        assert await store.findings.after("run-1", 0, wanted=wanted) == found


async def test_of_many_findings_the_newest_are_kept(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    most = given.LIMITS.findings_per_task
    for start in range(0, most + 3, 4):
        batch = [given.finding(start + offset) for offset in range(4)]
        await store.findings.append([*batch, given.finding(start, "eu")], fence=None)
    kept = await store.findings.after("run-1", 0, wanted=records.FindingFilter(target="us"))

    assert len(kept) == most
    assert _as_appended(kept[-1]) == given.finding(kept[-1].number - 1)


async def test_a_task_remembers_its_newest_attempt_only(store: stores.Store) -> None:
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


async def test_a_task_of_an_unknown_run_remembers_nothing(store: stores.Store) -> None:
    await store.memories.save(TASK, {"looks": 1}, fence=None)

    assert await store.memories.load(TASK) == {}


async def test_an_application_remembers_by_cluster_and_name(store: stores.Store) -> None:
    await store.memories.keep("shop", "us", "analysis", {"started": 1}, fence=None)
    await store.memories.keep("shop", "us", "analysis", {"started": 2}, fence=None)

    assert await store.memories.recall("shop", "us", "analysis") == {"started": 2}
    assert await store.memories.recall("shop", "eu", "analysis") == {}
    assert await store.memories.recall("shop", "us", "other") == {}
