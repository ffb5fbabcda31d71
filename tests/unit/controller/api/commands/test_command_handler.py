"""What requests of people become: events of a run, and what is said when they cannot be done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

import breaking_store
import command_world
import git_feed
import process_time
import reconciler_fixtures as given
from volary.controller import refusals
from volary.controller.api.commands import command_handler, request_events
from volary.controller.applications import reconcilers
from volary.controller.persistence import change_signal
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import state
from volary.engine.state_machine import events, sightings
from volary.model import errors, projects
from volary.store import records
from volary.tenancy import membership

AT = datetime(2026, 1, 1, tzinfo=UTC)
FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
"""
SEEN = state.Sighting("1-WAIT", "", 7)
PAUSE = state.Pause("ana", AT, "lunch")
EVENTS: list[tuple[str, Mapping[str, object], events.Request]] = [
    ("approve", {"comment": "good"}, events.Approve(AT, "ana", "good")),
    ("reject", {}, events.Reject(AT, "ana", "")),
    ("withdraw", {"comment": "no"}, events.Withdraw(AT, "ana", "no")),
    ("promote", {"reason": "now", "wave": "eu"}, events.PromoteWave(AT, "ana", "now", "eu")),
    ("unfreeze", {"reason": "fire"}, events.Unfreeze(AT, "ana", "fire")),
    ("pause", {"reason": "lunch"}, events.PauseAsked(AT, "ana", "lunch")),
    ("resume", {}, events.Resume(AT, "ana")),
    ("cancel", {}, events.Cancel(AT, "ana", rollback=True, now=False)),
    (
        "cancel",
        {"rollback": False, "now": True, "reason": "bad"},
        events.Cancel(AT, "ana", rollback=False, now=True, reason="bad"),
    ),
    ("retry", {"targets": ["us"]}, events.Retry(AT, "ana", ("us",))),
    ("retry", {}, events.Retry(AT, "ana", ())),
    (
        "skip",
        {"target": "eu", "stage": "", "reason": "broken"},
        events.SkipCluster(AT, "ana", "eu", "broken"),
    ),
    (
        "skip",
        {"target": "", "stage": "1-WAIT", "reason": "enough"},
        events.SkipStage(AT, "ana", "1-WAIT", "enough"),
    ),
]


@dataclass
class Commanded:
    """A leader that takes requests, one at a time, with what was answered."""

    world: given.World
    handler: command_handler.CommandHandler
    commit: str
    asked: change_signal.ChangeSignal
    count: int = 0

    async def ask(self, kind: str, run: str = "", **document: object) -> str:
        """Submit a request and return the refusal, or nothing."""
        store, application = self.world.store, "" if run else str(document.pop("name", "shop"))
        self.count += 1
        name = f"ask{kind}{run}{self.count}"
        request = records.RequestRecord(
            name, kind, "ana", given.AT, application=application, run_id=run, document=document
        )
        await store.requests.ask(request)
        return await self.handler.carry_out(request)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Commanded]:
    """Given an application whose last release succeeded."""
    (tmp_path / "app.pipecd.yaml").write_text(FILE)
    commit = command_world.commit(tmp_path, "Add the shop")
    status = application_statuses.ApplicationStatus(
        head=commit, releases=cluster_releases.ClusterReleases(commit, running=commit)
    )
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        record = records.ApplicationRecord(
            "shop",
            "shop",
            "app.pipecd.yaml",
            status="synced",
            document=application_statuses.to_document(status),
        )
        await world.store.applications.keep(record, fence=None)
        await world.registry.load()
        asked = change_signal.ChangeSignal()
        handler = command_handler.CommandHandler(world.leader, world.registry, asked)
        yield Commanded(world, handler, commit, asked)


@pytest.mark.parametrize(("kind", "document", "event"), EVENTS)
def test_a_request_about_a_run_is_an_event_of_it(
    kind: str, document: Mapping[str, object], event: events.Request
) -> None:
    said = {**document, "seen": {"stage": "1-WAIT", "group": "", "version": 7}}
    request = records.RequestRecord("q", kind, "ana", AT, run_id="r", document=said)

    assert request_events.of_request(request, AT) == replace(event, id="q", seen=SEEN)


@pytest.mark.parametrize(("kind", "document", "event"), EVENTS)
def test_a_request_that_names_nothing_that_was_seen_means_nothing(
    kind: str, document: Mapping[str, object], event: events.Request
) -> None:
    """But for what only stops a run."""
    request = records.RequestRecord("q", kind, "ana", AT, run_id="r", document=dict(document))

    if kind in ("pause", "cancel"):
        unseen = replace(event, id="q", seen=sightings.NOTHING)
        assert request_events.of_request(request, AT) == unseen
    else:
        with pytest.raises(LookupError, match="seen"):
            request_events.of_request(request, AT)


async def test_what_is_not_there_is_named(shop: Commanded) -> None:
    assert await shop.ask("pause", name="other") == "there is no application other"
    assert await shop.ask("approve", run="r9") == "there is no run r9"


async def test_an_application_is_paused_once_and_resumed_once(shop: Commanded) -> None:
    assert await shop.ask("resume") == "the application is not paused"
    assert await shop.ask("pause", reason="lunch") == ""
    paused = (await shop.world.status()).pause
    assert paused is not None
    assert (paused.by, paused.reason) == ("ana", "lunch")
    assert await shop.ask("pause") == "the application is already paused by ana: lunch"
    assert await shop.ask("resume") == ""
    assert (await shop.world.status()).pause is None


async def test_a_pause_reaches_the_run_under_way(shop: Commanded) -> None:
    shop.world.script.stages.may_end.clear()
    await shop.world.shop.submit(given.request("r1", "c1"))
    await shop.world.script.stages.begun.wait()

    assert await shop.ask("pause", reason="lunch") == ""
    run = shop.world.shop.run_under_way
    assert run is not None
    assert run.pause is not None
    assert await shop.ask("resume") == ""
    run = shop.world.shop.run_under_way
    assert run is not None
    assert run.pause is None
    shop.world.script.stages.may_end.set()


async def test_a_sync_goes_to_the_newest_commit_or_to_the_one_that_is_named(
    shop: Commanded,
) -> None:
    assert await shop.ask("sync", strategy="quick") == ""
    await shop.world.until(
        lambda each: each.running_commit == shop.commit and each.status == "synced"
    )

    assert shop.world.script.stages.concluded == ["succeeded"]
    (name,) = shop.world.script.prepared
    run = await shop.world.store.runs.load(name)
    assert run is not None
    assert (run.head.commit, run.origin["reason"]) == (shop.commit, "ana asked for it")


async def test_a_rollback_to_a_run_goes_to_its_commit(shop: Commanded) -> None:
    await shop.world.shop.submit(given.request("r1", shop.commit))
    await shop.world.until(lambda each: "r1" in str(each.document["run"]))

    kinds = []
    shop.world.script.may_plan.clear()
    for to in ("r1", shop.commit):
        assert await shop.ask("rollback", to=to) == ""
        request = (await shop.world.status()).run_request
        assert request is not None
        kinds.append((request.kind, request.commit, request.reason))

    told = f"ana rolls back to {shop.commit[:7]}"
    assert set(kinds) == {(given.Kind.ROLLBACK_TO_COMMIT, shop.commit, told)}


async def test_a_rollback_of_a_run_under_way_ends_it(shop: Commanded) -> None:
    shop.world.script.stages.may_end.clear()
    await shop.world.shop.submit(given.request("r1", "c1"))
    await shop.world.script.stages.begun.wait()

    assert await shop.ask("rollback") == ""
    run = shop.world.shop.run_under_way
    assert run is not None
    assert run.ending is not None
    assert run.ending.rollback
    assert run.ending.reason.endswith("rollback")
    shop.world.script.stages.may_end.set()


async def test_without_a_run_there_is_nothing_to_roll_back(shop: Commanded) -> None:
    with pytest.raises(refusals.Conflict, match="no run whose change is still there"):
        await shop.ask("rollback")


async def test_what_lost_its_repository_starts_nothing(shop: Commanded) -> None:
    addresses = {"other": "https://example.com/other.git"}
    shop.world.leader.dependencies.addresses = addresses

    for kind in ("sync", "rollback", "rebalance"):
        assert await shop.ask(kind) == (
            "its repository shop is no longer in the settings, so nothing is started for it"
        )
    assert await shop.ask("pause") == ""
    assert await shop.ask("adopt", repository="nowhere") == (
        "there is no repository nowhere in the settings"
    )
    assert await shop.ask("forget", reason="it is over") == ""
    assert await shop.world.store.applications.get("shop") is None


async def test_what_is_there_is_neither_adopted_nor_forgotten(shop: Commanded) -> None:
    assert await shop.ask("forget", reason="x") == (
        "its file is there, app.pipecd.yaml of shop: delete it first"
    )
    assert await shop.ask("adopt", repository="shop") == "its repository shop is in the settings"


async def test_a_run_that_has_ended_says_so(shop: Commanded) -> None:
    await shop.world.shop.submit(given.request("r1", "c1"))
    await shop.world.until(lambda each: each.running_commit == "c1")

    assert "a run that is succeeded cannot be" in await shop.ask("pause", run="r1")


async def test_a_run_that_nobody_carries_out_cannot_be_asked(shop: Commanded) -> None:
    await shop.world.shop.submit(given.request("r1", "c1"))
    await shop.world.until(lambda each: each.running_commit == "c1")
    stored = await shop.world.store.runs.load("r1")
    assert stored is not None
    unfinished = replace(given_run(), id="r7", application="unknown")
    await given.keep_run(shop.world.store, unfinished, given.Kind.RELEASE)

    assert await shop.ask("pause", run="r7") == "no process carries out this run"


def given_run() -> state.Run:
    made = given.run_builder.RunSpec(
        "shop", "c1", given.run_builder.one_group(("us",)), (given.SYNC,)
    )
    return given.run_builder.new_run("r7", made, given.AT)


async def test_a_run_that_nobody_carries_out_is_abandoned(shop: Commanded) -> None:
    store = shop.world.store
    unfinished = replace(given_run(), id="r7", application="unknown")
    await given.keep_run(store, unfinished, given.Kind.RELEASE)

    assert await shop.ask("abandon", run="r7", reason="it is over") == ""

    kept = await store.runs.summary("r7")
    assert kept is not None
    assert kept.head.finished is not None
    assert kept.head.reason == "cancelled by ana: it is over; nothing was changed"
    assert await store.requests.unanswered() == (), "what is done is answered in the same step"
    told = await shop.ask("abandon", run="r7", reason="again")
    assert told == "a run that is cancelled cannot be abandoned"


async def test_a_run_under_way_is_abandoned_at_once(shop: Commanded) -> None:
    shop.world.script.stages.may_end.clear()
    await shop.world.shop.submit(given.request("r1", "c1"))
    await shop.world.script.stages.begun.wait()

    assert await shop.ask("abandon", run="r1", reason="enough") == ""

    await shop.world.until(lambda each: each.status == "cancelled")
    kept = await shop.world.store.runs.summary("r1")
    assert kept is not None
    assert kept.head.reason.startswith("cancelled by ana: enough; us")
    assert kept.head.reason.endswith("stay as they are")


async def test_a_rollback_to_a_commit_does_not_wait_for_a_run_that_cannot_go_on(
    shop: Commanded,
) -> None:
    world = shop.world
    world.leader.kinds[given.Kind.ROLLBACK_TO_COMMIT] = given.Release(world.script)  # type: ignore[index]
    await given.keep_run(world.store, replace(given_run(), commit="gone"), given.Kind.RELEASE)
    world.shop.read_again("r7")
    await world.until(lambda each: "run r7 cannot go on" in each.reason)

    assert await shop.ask("rollback", to=shop.commit) == ""

    await world.until(lambda each: each.running_commit == shop.commit and each.status == "synced")
    kept = await world.store.runs.summary("r7")
    assert kept is not None
    assert kept.head.reason.startswith(
        f"cancelled by ana: it could not go on, and {shop.commit[:7]} follows; "
    )


@contextlib.asynccontextmanager
async def handling(shop: Commanded) -> AsyncIterator[None]:
    """Have requests taken out of the store, as a leader does."""
    work = shop.world.leader.group.create_task(shop.handler.keep_handling())
    yield
    work.cancel()


async def keep(shop: Commanded, name: str, kind: str, application: str = "shop") -> None:
    record = records.RequestRecord(name, kind, "ana", given.AT, application)
    await shop.world.store.requests.ask(record)
    shop.asked.notify_all()


async def answer(shop: Commanded, name: str) -> str:
    """Return how a request was answered, once it was."""
    async with asyncio.timeout(process_time.HANG):
        while True:
            kept = await shop.world.store.requests.get(name)
            assert kept is not None
            if kept.answered is not None:
                return kept.refusal
            await shop.world.leader.change_signal.wait(0.05)


async def test_a_bug_in_one_request_is_told_to_who_asked_and_ends_nothing(
    shop: Commanded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> str:
        raise AttributeError("a bug")

    monkeypatch.setattr(command_handler, "pause_application", broken)
    async with handling(shop):
        await keep(shop, "q1", "pause")
        await keep(shop, "q2", "resume")

        assert await answer(shop, "q1") == "internal error (AttributeError), see the log"
        assert await answer(shop, "q2") == "the application is not paused", "others go on"
    assert await shop.world.store.requests.unanswered() == (), "nor does the next process try it"


async def test_an_unknown_error_while_answering_is_tried_again(shop: Commanded) -> None:
    left = [1, 1]

    def breaks(name: str, done: bool) -> bool:
        return name == "requests.answer" and not done and bool(left) and bool(left.pop())

    leader = replace(
        shop.world.leader, store=breaking_store.breaking(breaks)(shop.world.leader.store)
    )
    handler = command_handler.CommandHandler(leader, shop.world.registry, shop.asked)
    async with handling(replace(shop, handler=handler)):
        await keep(shop, "q1", "resume")

        assert await answer(shop, "q1") == "the application is not paused"
    assert left == []


async def test_requests_of_one_application_are_answered_in_order_and_others_beside(
    shop: Commanded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many wait behind a slow one."""
    taken: list[str] = []
    may_end, begun = asyncio.Event(), asyncio.Event()

    async def slow(
        reconciler: reconcilers.ApplicationReconciler, pause: state.Pause, **_: object
    ) -> str:
        taken.append(f"{reconciler.name} begun")
        if reconciler.name == "shop":
            begun.set()
            await may_end.wait()
        taken.append(f"{reconciler.name} done")
        return ""

    monkeypatch.setattr(command_handler, "pause_application", slow)
    shop.world.registry.reconciler_of("blog")
    async with handling(shop):
        await keep(shop, "q1", "pause")
        await begun.wait()
        for number in range(120):  # more than one page of them
            await keep(shop, f"resume-{number}", "resume")
        await keep(shop, "q2", "pause", "blog")

        assert await answer(shop, "q2") == ""
        assert taken == ["shop begun", "blog begun", "blog done"]
        waiting = await shop.world.store.requests.unanswered(limit=1)
        assert [request.id for request in waiting] == ["q1"]
        may_end.set()
        for number in range(120):
            await answer(shop, f"resume-{number}")
    assert taken[-1] == "shop done"


def beside_the_branch(path: Path) -> str:
    """Commit something that `main` does not lead to, and return its hash."""
    repository = pygit2.Repository(str(path))
    author, head = command_world.AUTHOR, repository.head.peel(pygit2.Commit)
    made = repository.create_commit(
        "refs/heads/mine", author, author, "Not reviewed", head.tree.id, [head.id]
    )
    return str(made)


def use_projects(shop: Commanded) -> None:
    known = membership.Projects({"team": projects.Project("team")})
    shop.world.leader.dependencies.projects = lambda: known


async def test_where_there_are_projects_only_commits_of_the_branch_are_deployed(
    shop: Commanded, tmp_path: Path
) -> None:
    use_projects(shop)
    commit = beside_the_branch(tmp_path)
    newest = command_world.commit(tmp_path, "Go on")  # nobody has looked yet

    for kind, named in (("sync", "commit"), ("rollback", "to")):
        for name in (commit, "mine", commit[:9]):
            with pytest.raises(errors.UserError, match=f"{commit[:7]} is not a commit of") as said:
                await shop.ask(kind, **{named: name})
            assert "merge it first" in str(said.value)

    assert (await shop.world.status()).run_request is None
    assert await shop.ask("sync", commit=newest) == ""
    assert await shop.ask("sync", commit=shop.commit) == ""


async def test_a_way_back_leads_to_what_ran_also_when_no_branch_has_it_any_more(
    shop: Commanded, tmp_path: Path
) -> None:
    commit = beside_the_branch(tmp_path)
    assert await shop.ask("sync", commit=commit, strategy="quick") == ""
    await shop.world.until(lambda each: each.running_commit == commit and each.status == "synced")
    use_projects(shop)
    shop.world.leader.kinds[given.Kind.ROLLBACK_TO_COMMIT] = given.Release(shop.world.script)  # type: ignore[index]

    assert await shop.ask("rollback", to=commit) == ""
    with pytest.raises(errors.UserError, match="is not a commit of"):
        await shop.ask("sync", commit=commit)


async def test_without_projects_another_branch_is_deployed_and_the_run_says_so(
    shop: Commanded, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commit = beside_the_branch(tmp_path)

    assert await shop.ask("sync", commit="mine", strategy="quick") == ""
    await shop.world.until(lambda each: each.running_commit == commit and each.status == "synced")

    (name,) = shop.world.script.prepared
    run = await shop.world.store.runs.load(name)
    assert run is not None
    elsewhere = f"{commit[:7]} is not a commit of the branch that is watched of the repository shop"
    assert run.origin["reason"] == f"ana asked for it; {elsewhere}"
    assert elsewhere in caplog.text
