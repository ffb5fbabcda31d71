"""People steer: everything the service offers, on runs that are under way."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import command_world
import git_feed
import process_time
import waiting_world
from controller_world import ANA, SPEED, Clock, Controlled, controlled, parts_of, settings_of
from volary.cli.remote import queries
from volary.controller import composition, refusals
from volary.controller.api import representations
from volary.controller.status import run_origins
from volary.engine.persistence import transitions
from volary.engine.runs import policies, run_builder, state
from volary.manifests.ownership import tracking
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.store import factory, records

V1, V2, V3 = "example/simple:v1", "example/simple:v2", "example/simple:v3"
BEN = representations.Actor("ben")
#: Every command to a run, with what it needs.
COMMANDS: dict[str, dict[str, object]] = {
    "approve": {},
    "reject": {},
    "withdraw": {},
    "promote": {"reason": "it is urgent", "wave": "one"},
    "unfreeze": {"reason": "it is urgent"},
    "pause": {},
    "resume": {},
    "cancel": {},
    "retry": {},
    "skip": {"target": "us", "reason": "it burns"},
}


def stored_run(world: command_world.World, commit: str, before: str, **more: object) -> state.Run:
    """A run as an earlier process left it, planned and not begun."""
    policy = more.get("policy", policies.Policy())
    assert isinstance(policy, policies.Policy)
    stages = more.get("stages", ())
    assert isinstance(stages, tuple)
    rule = more.get("approval")
    assert rule is None or isinstance(rule, policies.ApprovalRule)
    return run_builder.new_run(
        "left",
        run_builder.RunSpec(
            application="simple",
            commit=commit,
            groups=(run_builder.Group(tuple(world.running.clusters), approval=rule),),
            stages=(
                *stages,
                pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions()),
            ),
            running_commit=before,
            policy=policy,
        ),
        Clock().now(),
    )


@asynccontextmanager
async def left_behind(base: Path, **more: object) -> AsyncIterator[Controlled]:
    """Given: a run from v1 to v2 while there is no leader, and then there is one."""
    async with command_world.world(base, "us", "eu", speed=SPEED) as world:
        async with controlled(world) as given:
            first = await given.until_application(lambda each: each.status == "synced")
        before = first.running_commit
        commit = world.edit("deployment.yaml", V1, V2)
        world.running.clusters["eu"].faults.images.add(str(more.pop("broken", "none")), "bad")
        run = stored_run(world, commit, before, **more)
        address = f"sqlite:{base}/volary.db"
        owners = {
            name: tracking.owner_of(world.find(name, "Deployment", "simple"))
            for name in world.running.clusters
        }
        origin = run_origins.Origin(
            git_feed.NAME,
            "app.pipecd.yaml",
            reason="it was left behind",
            owners={name: owner for name, owner in owners.items() if owner is not None},
        )
        async with factory.open_store(address, clock=Clock()) as store:
            made = transitions.first_transition(run, run_origins.to_document(origin), Clock().now())
            await store.keep_transition(made, fence=None)
            # The commit was looked at already: no run of its own.
            known = records.ApplicationRecord(
                "simple", git_feed.NAME, "app.pipecd.yaml", document={"looked_at": commit}
            )
            await store.applications.keep(known, fence=None)
        is_leader = bool(more.get("is_leader", True))
        async with controlled(world, store=address, is_leader=is_leader) as given:
            yield given


async def test_a_run_waits_for_as_many_people_as_it_needs(tmp_path: Path) -> None:
    rule = policies.ApprovalRule(count=2, approvers=("ana", "ben"))
    async with left_behind(tmp_path, approval=rule) as given:
        waiting = await given.until_run("left", lambda each: each.pending_approval is not None)
        assert (waiting.summary.status, given.world.images("us")) == ("waiting", f"{V1} 2/2")
        await given.ask_run("approve", "left", ANA, comment="looks good")
        with pytest.raises(refusals.Conflict, match="ana has approved already"):
            await given.ask_run("approve", "left", ANA)
        with pytest.raises(refusals.Conflict, match="not one of the approvers"):
            await given.ask_run("approve", "left", representations.Actor("eve"))
        await given.ask_run("approve", "left", BEN)

        ended = await given.ended("left")
        view = await given.service.run("left")
        audit = (await given.service.audit(records.AuditFilter(run_id="left"))).items

        assert ended.status == "succeeded"
        assert [(each.by, each.comment) for each in view.approvals] == [
            ("ana", "looks good"),
            ("ben", ""),
        ]
        assert given.world.images("us") == f"{V2} 2/2"
        assert [(each.by, each.result) for each in reversed(audit)] == [
            ("ana", "ok"),
            ("ana", "failed"),
            ("eve", "failed"),
            ("ben", "ok"),
        ]
        assert (audit[-1].action, audit[-1].source) == ("run.approve", "192.0.2.7")
        first, again = audit[-1], audit[-2]
        assert "0 of 2" in first.before["reason"]
        assert "1 of 2" in first.after["reason"]
        assert "status" not in first.before, "only what changed is there"
        assert (again.before, again.after) == ({}, {})
        with pytest.raises(refusals.Conflict, match="a run that is succeeded cannot be approved"):
            await given.ask_run("approve", "left", BEN)
        with pytest.raises(refusals.NotFound, match="there is no run nowhere"):
            await given.ask_run("approve", "nowhere", BEN)


async def test_an_approval_loads_no_stage_and_no_task(tmp_path: Path) -> None:
    """What it asks is to whom the run belongs and how it is: three rows, however large it is."""
    async with left_behind(tmp_path, approval=policies.ApprovalRule(count=2)) as given:
        await given.until_run("left", lambda run: run.pending_approval is not None)
        seen = await given.seen("left")
        asked: list[str] = []

        def listen(_: object, __: object, statement: str, *___: object) -> None:
            if statement.startswith("SELECT"):
                asked.append(statement.partition("FROM ")[2].partition(" ")[0].strip())

        engine = given.service.store._base._reader.sync  # type: ignore[attr-defined]
        sa.event.listen(engine, "before_cursor_execute", listen)
        await given.ask_run("approve", "left", ANA, seen=seen)
        sa.event.remove(engine, "before_cursor_execute", listen)

        read = Counter(asked)
        assert (read["stages"], read["tasks"]) == (0, 0)
        assert read["runs"] == 3


@pytest.mark.usefixtures("engine")
async def test_of_two_who_approve_at_once_one_is_told_that_it_is_done(tmp_path: Path) -> None:
    async with left_behind(tmp_path, approval=policies.ApprovalRule()) as given:
        await given.until_run("left", lambda each: each.pending_approval is not None)
        answers = await asyncio.gather(
            *(given.ask_run("approve", "left", each) for each in (ANA, BEN)),
            return_exceptions=True,
        )
        await given.ended("left")
        view = await given.service.run("left")

        assert sorted(type(each).__name__ for each in answers) == ["Accepted", "Conflict"]
        assert len(view.approvals) == 1
        for kind, more in COMMANDS.items():
            with pytest.raises(refusals.Conflict, match="a run that is succeeded cannot be"):
                await given.ask_run(kind, "left", ANA, **more)
        assert (await given.service.run("left")) == view


@pytest.mark.usefixtures("engine")
async def test_an_approval_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    rule = policies.ApprovalRule(timeout=timedelta(seconds=0.5))
    async with left_behind(tmp_path, approval=rule) as given:
        ended = await given.ended("left")
        with pytest.raises(refusals.Conflict, match="a run that is failed cannot be approved"):
            await given.ask_run("approve", "left", ANA)

        assert "not approved within" in ended.reason
        assert (await given.service.run("left")).approvals == ()
        assert given.world.images("us") == f"{V1} 2/2"


@pytest.mark.usefixtures("engine")
async def test_a_failed_cluster_is_tried_again_or_left_out(tmp_path: Path) -> None:
    hold = replace(policies.Policy(), on_failure=policies.OnFailure.HOLD)
    async with left_behind(tmp_path, policy=hold, broken=V2) as given:
        await given.until_run("left", lambda each: each.held)
        await given.ask_run("retry", "left", ANA, targets=["eu"])
        held = await given.until_run(
            "left", lambda each: each.held and each.stages[0].tasks[1].attempt == 2
        )
        assert held.summary.status == "waiting"
        assert held.next_commands[:2] == (
            f"volary retry left --stage 1-K8S_SYNC --seen {held.seen.version}",
            "volary skip left --cluster eu --reason TEXT",
        )
        await given.ask_run("skip", "left", ANA, target="eu", reason="it is being repaired")

        ended = await given.ended("left")
        view = await given.service.run("left")

        assert ended.status == "succeeded_with_exceptions", "never just succeeded"
        assert queries.exit_code_of(ended.status) == 0
        assert view.targets[1].left_out == "skipped by ana: it is being repaired"
        possible = "cannot be tried again\nhint: possible now: volary sync simple"
        with pytest.raises(refusals.Conflict, match=possible):
            await given.ask_run("retry", "left", ANA, targets=[])
        assert given.world.images("us") == f"{V2} 2/2"


@pytest.mark.usefixtures("engine")
async def test_a_stage_that_only_waits_or_measures_is_skipped(tmp_path: Path) -> None:
    hour = timedelta(hours=1)
    waiting = pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(hour))
    async with left_behind(tmp_path, stages=(waiting,)) as given:
        running = await given.until_run(
            "left", lambda each: all(task.status == "running" for task in each.stages[0].tasks)
        )
        assert running.stages[0].id == "1-WAIT"
        with pytest.raises(refusals.Conflict, match="the run is at 1-WAIT, not at 2-ANALYSIS"):
            await given.ask_run("skip", "left", ANA, target="", reason="enough", stage="2-ANALYSIS")
        await given.ask_run("skip", "left", ANA, target="", reason="enough", stage="1-WAIT")

        ended = await given.ended("left")
        view = await given.service.run("left")

        assert ended.status == "succeeded"
        assert {task.status for task in view.stages[0].tasks} == {"skipped"}
        assert all("skipped by ana: enough" in task.reason for task in view.stages[0].tasks)
        assert given.world.images("us") == given.world.images("eu") == f"{V2} 2/2"


@pytest.mark.usefixtures("engine")
async def test_a_run_is_paused_resumed_cancelled_and_explained(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        cluster = world.running.clusters["us"]
        cluster.faults.images.add("*/simple:v2", "never-ready")
        given.push(V1, V2)
        running = await given.until_application(lambda each: each.status == "running")
        # It has written, so that there is something to roll back, and waits in its first stage.
        await cluster.until(
            lambda view: bool(view.get("Deployment", "default", "simple-canary")),
            timeout=process_time.HANG,
        )
        await given.ask_run("pause", running.run, ANA, reason="lunch")
        paused = await given.until_run(running.run, lambda each: bool(each.paused_by))
        with pytest.raises(refusals.Conflict, match="already paused by ana"):
            await given.ask_run("pause", running.run, BEN)
        assert "paused by ana" in paused.waiting_reason
        assert paused.what_next.startswith("K8S_")
        await given.ask_run("cancel", running.run, BEN, rollback=True, reason="wrong version")

        ended = await given.ended(running.run)
        events = await given.service.events(running.run)
        lines = await given.logs(running.run)

        assert ended.status == "rolled_back"
        assert "cancelled by ben: wrong version" in ended.reason
        assert (await given.application()).running_commit == first.running_commit
        assert [each.number for each in events] == list(range(1, len(events) + 1))
        assert events[-1].event == "run-finished"
        assert {each.target for each in lines} == {"us"}


async def test_sync_plan_and_rollback_of_an_application(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        second = given.push(V1, V2)
        await given.synced(second)
        plan_view = await given.service.plan("simple", ANA, commit=first.head)
        assert plan_view.strategy == "pipeline"
        (cluster_plan,) = plan_view.clusters
        assert (cluster_plan.status, cluster_plan.changed, plan_view.failed) == (
            "changes",
            1,
            False,
        )
        (changed,) = cluster_plan.objects
        assert changed.object == "apps:Deployment:default:simple"
        assert {each["new"] for each in changed.differences} == {V1}
        asked = await given.service.sync("simple", ANA, strategy="quick")
        await given.ended(asked.run)
        back = await given.service.ask_application("rollback", "simple", BEN)
        await given.back_at(first.running_commit)

        runs = await given.runs()

        assert world.images("us") == f"{V1} 2/2"
        assert (runs[0].id, runs[0].by) == (back.run, "ben")
        assert runs[0].trigger == f"ben rolls back to {first.running_commit[:7]}"
        assert runs[0].reason == "rolled back by ben; rollback verified on us"
        view = await given.service.run(back.run)
        assert view.rollback is not None
        commits = {
            each.commit: each.status for each in (await given.service.commits("simple")).items
        }
        assert commits[second] == "rolled_back"
        with pytest.raises(refusals.Conflict, match="nothing of simple ran on us before run"):
            await given.service.ask_application("rollback", "simple", BEN)
        again = await given.service.ask_application("rollback", "simple", BEN, to=runs[1].id)
        await given.synced(second)
        assert (await given.runs())[0].id == again.run
        assert (runs[1].trigger, runs[1].strategy) == ("ana asked for it", "quick_sync")
        with pytest.raises(refusals.Conflict, match="has no commit nothing"):
            await given.service.sync("simple", ANA, commit="nothing")
        with pytest.raises(refusals.NotFound):
            await given.service.sync("other", ANA)
        (cluster,) = await given.service.fleet.list()
        assert (cluster.name, cluster.status) == ("us", "ready")


async def test_a_paused_application_begins_nothing_and_goes_on_with_what_it_is_pinned_to(
    tmp_path: Path,
) -> None:
    """The run waits for an approval, so it is where it is however fast it goes."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        first = waiting_world.describe(world)
        async with controlled(world) as given:
            await given.synced(first)
            second = given.push(V1, V2)
            run = await given.asks(second)
            await given.service.ask_application("pause", "simple", ANA, reason="on television")
            with pytest.raises(refusals.Conflict, match="already paused by ana: on television"):
                await given.service.ask_application("pause", "simple", BEN)
            await given.until_run(run, lambda each: each.paused_by == "ana")
            await given.ask_run("approve", run, ANA)
            third = given.push(V2, V3)
            await given.until_application(
                lambda each: each.waiting is not None and each.waiting.commit == third
            )
            assert (await given.application()).paused == "paused by ana: on television"
            assert world.images("us") == f"{V1} 2/2"

            # Once its run is over, the newer commit waits for the application itself.
            await given.ask_run("resume", run, BEN)
            ended = await given.ended(run)
            assert (ended.commit, ended.status) == (second, "succeeded")
            waiting = await given.until_application(
                lambda each: (
                    each.waiting is not None
                    and each.waiting.waiting_reason.startswith("the application")
                )
            )
            assert waiting.waiting is not None
            assert (
                waiting.waiting.waiting_reason == "the application is paused by ana: on television"
            )
            assert world.images("us") == f"{V2} 2/2"
            await given.service.ask_application("resume", "simple", BEN)
            await given.ask_run("approve", await given.asks(third), ANA)
            await given.synced(third)
            with pytest.raises(refusals.Conflict, match="the application is not paused"):
                await given.service.ask_application("resume", "simple", BEN)


async def test_changes_wake_those_who_look(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, "us", speed=SPEED) as world,
        controlled(world) as given,
    ):
        seen = []
        async with asyncio.timeout(process_time.HANG):
            async for position in given.service.changes():
                seen.append(position)
                events = await given.service.all_events(0, applications={"simple"})
                if events and events[-1].event == "run-finished":
                    break
        assert seen == sorted(seen)
        # More may have happened between the news and the look.
        assert 0 < seen[-1] <= events[-1].position


async def test_a_process_that_stands_by_hands_requests_on(tmp_path: Path) -> None:
    """It does not matter which process a person connects to."""
    async with left_behind(tmp_path, approval=policies.ApprovalRule()) as given:
        await given.until_run("left", lambda each: each.pending_approval is not None)
        seen = await given.seen("left")
        fleet_file = Path(given.world.fleet)
        address = f"sqlite:{tmp_path}/volary.db"
        settings, parts = settings_of(address, fleet_file), parts_of(given.feed, fleet_file)
        async with composition.open_controller(settings, parts) as standing_by:
            assert not standing_by.is_leader
            await standing_by.service.ask_run("approve", "left", BEN, seen=seen)
            view = await standing_by.service.run("left")
        assert [each.by for each in view.approvals] == ["ben"]
        assert (await given.ended("left")).status == "succeeded"


async def test_a_request_that_nobody_answers_is_kept_for_whoever_drives_next(
    tmp_path: Path,
) -> None:
    address = f"sqlite:{tmp_path}/volary.db"
    async with left_behind(tmp_path, approval=policies.ApprovalRule(), is_leader=False) as given:
        async with controlled(given.world, store=address) as driving:
            await driving.until_run("left", lambda each: each.pending_approval is not None)
            seen = await driving.seen("left")
        with pytest.raises(refusals.Busy, match="the request is kept"):
            await given.service.asker.ask(
                "approve",
                "ben",
                application="simple",
                run="left",
                document={"seen": seen},
                patience=timedelta(seconds=0.2),
            )
        async with controlled(given.world, store=address) as driving:
            assert (await driving.ended("left")).status == "succeeded"


async def test_a_commit_that_a_cluster_would_refuse_begins_nothing_and_says_why(
    tmp_path: Path,
) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu", speed=SPEED) as world,
        controlled(world) as given,
    ):
        first = await given.until_application(lambda each: each.status == "synced")
        eu = world.running.clusters["eu"]
        eu.faults.change({"denied": ["patch deployments.apps"]})
        second = given.push(V1, V2)
        failed = await given.until_application(lambda each: each.status == "failed")
        commits = {each.commit: each for each in (await given.service.commits("simple")).items}

        assert "eu" in failed.reason
        assert "patch" in failed.reason
        assert (commits[second].status, commits[second].run) == ("failed", failed.run)
        assert failed.running_commit == first.running_commit
        refused = await given.service.run(failed.run)
        assert (refused.summary.status, refused.summary.commit) == ("failed", second)
        assert refused.summary.reason == failed.reason
        assert refused.stages == ()
        assert (refused.what_next, refused.if_failed) == ("", "")
        assert world.images("us") == f"{V1} 2/2", "nothing is begun that cannot be ended"

        eu.faults.clear()
        await given.service.sync("simple", ANA)
        await given.synced(second)
