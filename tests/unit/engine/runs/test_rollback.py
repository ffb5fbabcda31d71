"""A run that has ended is rolled back by another one: in reverse waves, to what each ran before."""

from datetime import UTC, datetime, timedelta

from volary.engine.observers import observer_events
from volary.engine.runs import policies, rollback, run_builder, state
from volary.engine.state_machine import commands, events, machine
from volary.model import statuses as model_statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=3)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
NAMES = ("us", "eu", "asia", "africa")


def run_of(*, on_failure: policies.OnFailure = policies.OnFailure.STOP) -> state.Run:
    waves = (
        policies.WaveRule("first", ("us",), on_failure=on_failure),
        policies.WaveRule("rest", ("eu", "asia", "africa"), on_failure=on_failure, concurrency=2),
    )
    steps = tuple(
        run_builder.WaveStep(SYNC, run_builder.Group(each.targets), each.name) for each in waves
    )
    made = run_builder.RunSpec(
        "shop",
        "new",
        (run_builder.Group(NAMES),),
        (SYNC,),
        "old",
        waves=waves,
        steps=steps,
        running_commits={"asia": "older"},
    )
    return advanced(run_builder.new_run("first", made, START), events.Start(START))


def advanced(run: state.Run, event: events.Event) -> state.Run:
    return machine.advance(run, event).run


def end(run: state.Run, **statuses: TaskStatus) -> state.Run:
    """When every running task ends, well unless said otherwise."""
    while run.current.running:
        for each in run.current.running:
            mine = statuses if run.rollback_of or not run.rollback else {}
            status = mine.get(each.target, TaskStatus.SUCCEEDED)
            told = model_statuses.Outcome(status, "so it was", touched=True)
            key = (run.current.id, each.target, each.attempt)
            run = advanced(run, events.TaskFinished(LATER, *key, told))
    return run


def begun(run: state.Run) -> list[str]:
    return [each.target for each in run.current.running]


def test_waves_go_back_in_reverse_each_with_its_limit() -> None:
    done = end(run_of())
    assert done.status is RunStatus.SUCCEEDED
    back = rollback.rollback_run(done, "second", "rolled back by ana", LATER)
    assert back.status is RunStatus.PLANNED
    assert observer_events.between(None, back, LATER) == ()

    step = machine.advance(back, events.Start(LATER))
    back = step.run
    assert back.status is RunStatus.ROLLING_BACK
    started = [each for each in step.commands if isinstance(each, commands.StartTask)]
    assert [(each.stage, each.target) for each in started] == [
        ("rollback", "eu"),
        ("rollback", "asia"),
    ]
    back = end(back)
    assert back.status is RunStatus.SUCCEEDED
    assert back.reason == "rolled back by ana; rollback verified on eu, asia, africa and us"
    assert rollback.commits_after(back) == {
        "us": "old",
        "eu": "old",
        "asia": "older",
        "africa": "old",
    }
    assert rollback.clusters_left(back) == ()


def test_a_failing_cluster_keeps_nobody_and_is_named() -> None:
    back = advanced(
        rollback.rollback_run(end(run_of()), "second", "rolled back by ana", LATER),
        events.Start(LATER),
    )
    back = end(back, asia=TaskStatus.FAILED)
    assert back.status is RunStatus.FAILED
    assert back.reason == "rolled back by ana; rollback not verified: asia (so it was)"
    assert rollback.clusters_left(back) == ("asia",)
    assert rollback.clusters_rolled_back(back) == ("us", "eu", "africa")
    assert "asia" not in rollback.commits_after(back)

    again = advanced(
        rollback.rollback_run(back, "third", "rolled back by ana", LATER), events.Start(LATER)
    )
    assert begun(again) == ["asia"]


def test_what_the_run_took_back_itself_stays_as_it_is() -> None:
    failed = end(run_of(on_failure=policies.OnFailure.ROLLBACK_WAVE), eu=TaskStatus.FAILED)
    assert failed.status is RunStatus.FAILED
    assert rollback.clusters_left(failed) == ("us",)
    back = advanced(rollback.rollback_run(failed, "second", "by ana", LATER), events.Start(LATER))
    assert begun(back) == ["us"]


def test_a_planned_way_back_can_be_called_off() -> None:
    back = rollback.rollback_run(end(run_of()), "second", "rolled back by ana", LATER)
    step = machine.advance(back, events.Cancel(LATER, "bo", rollback=False))
    assert step.run.status is RunStatus.CANCELLED
    assert not [each for each in step.commands if isinstance(each, commands.StartTask)]


def test_the_way_back_has_a_deadline() -> None:
    back = advanced(
        rollback.rollback_run(end(run_of()), "second", "rolled back by ana", LATER),
        events.Start(LATER),
    )
    now = LATER + timedelta(hours=1)
    for _ in range(6):
        now += timedelta(minutes=10)
        back = advanced(back, events.TimePassed(now))
    assert back.status is RunStatus.FAILED
    assert "rollback not verified" in back.reason
