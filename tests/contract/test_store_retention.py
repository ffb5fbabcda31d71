"""What every store removes, and what it keeps."""

from dataclasses import replace

import pytest

import store_fixtures as given
from volary.model.statuses import RunStatus
from volary.store import records, stores

TASK = records.TaskKey("run-1", "1-K8S_SYNC", "us", 1)


async def test_what_belongs_to_a_run_goes_with_it(store: stores.Store) -> None:
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


async def _history(store: stores.Store) -> None:
    """Eight runs of shop, a minute each; 2 succeeded, 0 still runs, the others failed."""
    for number in range(8):
        status = {0: RunStatus.RUNNING, 2: RunStatus.SUCCEEDED}.get(number, RunStatus.FAILED)
        finished = None if status is RunStatus.RUNNING else number + 1
        run = f"run-{number}"
        made = given.first(run, status=status, minutes=number, finished=finished)
        await store.keep_transition(replace(made, manifests=b"packed"), fence=None)
        await store.logs.append([given.line("hello", run=run, minutes=number)], fence=None)


async def test_what_was_applied_is_kept_for_runs_that_may_be_rolled_back(
    store: stores.Store,
) -> None:
    """However young the others are: their history is there, and what they applied is not."""
    await _history(store)
    await store.prune(records.Retention(given.at(0), 2), fence=None)

    assert [bool(await store.runs.manifests(f"run-{number}")) for number in range(8)] == [
        *(True, False, True),  # it has not ended; it failed; it succeeded last
        *(False, False, False),
        *(True, True),
    ]
    assert await store.runs.load("run-5") is not None
    await store.prune(records.Retention(given.at(100), 0), fence=None)
    assert not await store.runs.manifests("run-7")


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
    store: stores.Store, before: int, keep: int, left: list[int]
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


async def test_each_application_keeps_its_own_newest_runs(store: stores.Store) -> None:
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


async def test_positions_are_never_used_again(store: stores.Store) -> None:
    """A reader that goes on after a position must not miss what came after a deletion."""
    await _history(store)
    last = await store.events.position()
    rule = records.Retention(given.at(100), keep_runs_per_application=0)
    await store.prune(rule, fence=None)
    await store.keep_transition(given.first("run-9"), fence=None)

    assert [each.run_id for each in await store.events.all_after(last)] == ["run-9", "run-9"]


async def test_the_rest_is_forgotten_by_its_own_age(
    store: stores.Store, turned_clock: given.TurnedClock
) -> None:
    await _history(store)
    running = replace(given.SHOP, running_commit="c1")
    await store.applications.keep(running, fence=None)
    for number in range(6):
        run = "run-7" if number == 2 else ""
        commit = records.CommitRecord("shop", f"c{number}", given.at(number), run_id=run)
        await store.applications.keep(running, commits=(commit,), fence=None)
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
    assert len((await store.audit.list(records.AuditFilter(by="ana"))).items) == 3
