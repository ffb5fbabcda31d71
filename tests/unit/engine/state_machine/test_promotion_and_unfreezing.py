"""What people let a run do before its time, and what they withdraw."""

from datetime import UTC, datetime, timedelta

from volary.engine.runs import policies, run_builder
from volary.engine.state_machine import commands, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import (
    added_stages,
    external_stages,
    rollout_stages,
    waiting_stages,
)
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
SOAK = pipelines.Stage(
    added_stages.WAVE_GATE.name, added_stages.WaveGateOptions(timedelta(hours=1)), index=1
)
HOOK = pipelines.Stage(
    external_stages.WEBHOOK_GATE.name,
    external_stages.WebhookGateOptions(webhook.Webhook(url="http://ask")),
    index=2,
)
PEOPLE = pipelines.Stage(
    waiting_stages.WAIT_APPROVAL.name, waiting_stages.ApprovalOptions(("bo", "cy"), 2), index=3
)


class Story:
    """Tells a run what happens, a minute apart."""

    def __init__(
        self, *gates: pipelines.Stage, windows: tuple[policies.WindowRule, ...] = ()
    ) -> None:
        waves = (policies.WaveRule("first", ("us",)), policies.WaveRule("rest", ("eu", "asia")))
        steps = tuple(
            run_builder.WaveStep(each, run_builder.Group(rule.targets, rule.name), rule.name)
            for rule in waves
            for each in (SYNC, *gates)
        )
        groups = (run_builder.Group(("us", "eu", "asia")),)
        made = run_builder.RunSpec(
            "shop", "new", groups, (SYNC,), waves=waves, steps=steps, windows=windows
        )
        self.now = START
        self.run = run_builder.new_run("run", made, START)
        self.step = machine.Step(self.run)
        self.say(events.Start(START))

    def say(self, event: events.Event) -> str:
        self.step = machine.advance(self.run, event)
        self.run = self.step.run
        self.now += timedelta(minutes=1)
        return self.step.refusal

    def ends(self, target: str, status: TaskStatus = TaskStatus.SUCCEEDED) -> None:
        task = self.run.current.task(target)
        assert task is not None
        assert task.is_running
        told = statuses.Outcome(status, "so it was")
        self.say(events.TaskFinished(self.now, self.run.current.id, target, task.attempt, told))

    def promote(self, wave: str = "") -> str:
        return self.say(events.PromoteWave(self.now, "ana", "the fix is urgent", wave))

    def approve(self, *names: str) -> None:
        for each in names:
            assert not self.say(events.Approve(self.now, each))

    def withdraw(self, by: str) -> str:
        return self.say(events.Withdraw(self.now, by, "wait"))


def test_a_promotion_ends_the_soak_but_health_is_seen_once_more() -> None:
    story = Story(SOAK)
    assert story.promote() == (
        "wave first is still being rolled out; it can be promoted once it soaks"
    )
    story.ends("us")
    assert story.promote("rest") == "the run is at wave first, not at rest"
    assert not story.promote()
    assert [type(each) for each in story.step.commands][:1] == [commands.StopTask]
    assert story.promote() == "wave first is already promoted by ana: the fix is urgent"

    story.ends("us", TaskStatus.CANCELLED)
    begun = next(each for each in story.step.commands if isinstance(each, commands.StartTask))
    assert (begun.stage, begun.target, begun.attempt) == ("first/2-WAVE_GATE", "us", 2)
    assert story.run.current.stage.options == added_stages.WaveGateOptions(timedelta())
    assert "promoted by ana: the fix is urgent" in story.run.reason
    assert story.run.stages[2].tasks is not None
    assert not any(task.attempt for task in story.run.stages[2].tasks), "not healthy yet"

    story.ends("us")
    assert story.run.current.id == "rest/1-K8S_SYNC"
    assert story.run.stages[3].stage.options == SOAK.options, "the next wave soaks as it says"


def test_a_cluster_that_is_ill_fails_its_wave_promoted_or_not() -> None:
    story = Story(SOAK)
    story.ends("us")
    story.promote()
    story.ends("us", TaskStatus.CANCELLED)
    story.ends("us", TaskStatus.FAILED)
    assert story.run.stages[1].status is TaskStatus.FAILED
    assert not any(task.attempt for task in story.run.stages[2].tasks)


def test_a_promotion_ends_a_webhook_but_no_approval() -> None:
    story = Story(SOAK, HOOK, PEOPLE)
    story.ends("us")
    story.ends("us")
    assert story.run.current.stage.kind is external_stages.WEBHOOK_GATE
    assert not story.promote()
    story.ends("us", TaskStatus.CANCELLED)
    skipped = story.run.stages[2].task("us")
    assert skipped is not None
    assert skipped.status is TaskStatus.SKIPPED
    assert skipped.reason.startswith("promoted by ana: the fix is urgent")

    assert story.run.status is RunStatus.WAITING
    assert story.promote() == (
        "wave first waits for approval; only those who may approve it can end that"
    )
    story.approve("bo", "cy")
    story.ends("us")
    assert story.run.current.id == "rest/1-K8S_SYNC"


def test_the_promotion_is_told_at_the_end() -> None:
    story = Story(SOAK, HOOK)
    story.ends("us")
    story.promote()
    story.ends("us", TaskStatus.CANCELLED)
    story.ends("us")
    for _ in range(3):
        story.ends("eu")
        story.ends("asia")
    assert story.run.status is RunStatus.SUCCEEDED
    assert story.run.reason == (
        "every stage is done on us, eu and asia (wave first promoted by ana: the fix is urgent)"
    )
    assert story.run.stages[2].status is TaskStatus.SKIPPED


def test_an_approval_that_was_withdrawn_counts_no_more() -> None:
    story = Story(PEOPLE)
    story.ends("us")
    story.approve("bo")
    assert story.withdraw("cy") == "cy has not approved what waits"
    assert not story.withdraw("bo")
    story.approve("cy")
    assert story.run.status is RunStatus.WAITING, "one of two, not two"
    assert story.run.reason.endswith("awaiting approval: 1 of 2 (approvers: bo and cy)")

    story.approve("bo")
    story.ends("us")
    assert story.run.current.id == "rest/1-K8S_SYNC"
    assert story.withdraw("bo") == ("too late: the gate has opened, and what it held up has begun")


def test_an_approval_can_be_withdrawn_while_a_pause_holds_what_it_opened() -> None:
    story = Story(PEOPLE)
    story.ends("us")
    story.approve("bo")
    story.say(events.PauseAsked(story.now, "ana"))
    story.approve("cy")
    assert not story.withdraw("cy")
    story.say(events.Resume(story.now, "ana"))
    assert story.run.status is RunStatus.WAITING
    task = story.run.current.task("us")
    assert task is not None
    assert not task.attempt


FREEZE = rollouts.Window("year end", "0 0 * * *", timedelta(hours=23))


def test_one_run_is_let_through_a_closed_window_by_name_and_reason() -> None:
    story = Story(windows=(policies.WindowRule(FREEZE, ("us", "eu"), deny=True),))
    assert story.run.status is RunStatus.WAITING
    assert not story.say(events.Unfreeze(story.now, "ana", "the shop is down"))
    assert [each.target for each in story.run.current.running] == ["us"]
    assert story.run.reason.endswith("unfrozen by ana: the shop is down")
    assert story.say(events.Unfreeze(story.now, "bo", "again")) == (
        "the windows are open to this run already: unfrozen by ana: the shop is down"
    )
    story.ends("us")
    assert [each.target for each in story.run.current.running] == ["eu", "asia"]
    story.ends("eu")
    story.ends("asia")
    assert story.run.reason.endswith("(unfrozen by ana: the shop is down)")


def test_nobody_breaks_a_window_that_is_open() -> None:
    story = Story(windows=(policies.WindowRule(FREEZE, ("eu",), deny=True),))
    refused = story.say(events.Unfreeze(story.now, "ana", "just in case"))
    assert refused == "nothing of this run waits for a window"
