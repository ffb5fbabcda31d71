"""A run that has ended is taken back by another one: in reverse waves, to what each ran before."""

from datetime import UTC, datetime, timedelta

from volary.engine import commands, events, machine, narration, plan, rules, state, undoing
from volary.model import outcome, stage
from volary.model.status import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=3)
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions(), timeout=timedelta(minutes=10))
NAMES = ("us", "eu", "asia", "africa")


def run_of(*, on_failure: rules.OnFailure = rules.OnFailure.STOP) -> state.Run:
    waves = (
        rules.WaveRule("first", ("us",), on_failure=on_failure),
        rules.WaveRule("rest", ("eu", "asia", "africa"), on_failure=on_failure, concurrency=2),
    )
    steps = tuple(plan.Step(SYNC, plan.Group(each.targets), each.name) for each in waves)
    made = plan.Plan(
        "shop",
        "new",
        (plan.Group(NAMES),),
        (SYNC,),
        "old",
        waves=waves,
        steps=steps,
        running_commits={"asia": "older"},
    )
    return advanced(plan.new_run("first", made, START), events.Start(START))


def advanced(run: state.Run, event: events.Event) -> state.Run:
    return machine.advance(run, event).run


def end(run: state.Run, **statuses: TaskStatus) -> state.Run:
    """When every running task ends, well unless said otherwise."""
    while run.current.running:
        for each in run.current.running:
            mine = statuses if run.undoes or not run.rollback else {}
            status = mine.get(each.target, TaskStatus.SUCCEEDED)
            told = outcome.Outcome(status, "so it was", touched=True)
            key = (run.current.id, each.target, each.attempt)
            run = advanced(run, events.TaskFinished(LATER, *key, told))
    return run


def begun(run: state.Run) -> list[str]:
    return [each.target for each in run.current.running]


def test_waves_go_back_in_reverse_each_with_its_limit() -> None:
    done = end(run_of())
    assert done.status is RunStatus.SUCCEEDED
    back = undoing.of(done, "second", "rolled back by ana", LATER)
    assert back.status is RunStatus.PLANNED
    assert narration.between(None, back, LATER) == ()

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
    assert back.reason == "rolled back by ana; eu, asia, africa and us back as before"
    assert undoing.holds(back) == {"us": "old", "eu": "old", "asia": "older", "africa": "old"}
    assert undoing.left(back) == ()


def test_a_failing_cluster_keeps_nobody_and_is_named() -> None:
    back = advanced(
        undoing.of(end(run_of()), "second", "rolled back by ana", LATER), events.Start(LATER)
    )
    back = end(back, asia=TaskStatus.FAILED)
    assert back.status is RunStatus.FAILED
    assert back.reason == "rolled back by ana; not proven back: asia (so it was)"
    assert undoing.left(back) == ("asia",)
    assert undoing.proven(back) == ("us", "eu", "africa")
    assert "asia" not in undoing.holds(back)

    again = advanced(undoing.of(back, "third", "rolled back by ana", LATER), events.Start(LATER))
    assert begun(again) == ["asia"]


def test_what_the_run_took_back_itself_stays_as_it_is() -> None:
    failed = end(run_of(on_failure=rules.OnFailure.ROLLBACK_WAVE), eu=TaskStatus.FAILED)
    assert failed.status is RunStatus.FAILED
    assert undoing.left(failed) == ("us",)
    back = advanced(undoing.of(failed, "second", "by ana", LATER), events.Start(LATER))
    assert begun(back) == ["us"]


def test_a_planned_way_back_can_be_called_off() -> None:
    back = undoing.of(end(run_of()), "second", "rolled back by ana", LATER)
    step = machine.advance(back, events.Cancel(LATER, "bo", rollback=False))
    assert step.run.status is RunStatus.CANCELLED
    assert not [each for each in step.commands if isinstance(each, commands.StartTask)]


def test_the_way_back_has_a_deadline() -> None:
    back = advanced(
        undoing.of(end(run_of()), "second", "rolled back by ana", LATER), events.Start(LATER)
    )
    now = LATER + timedelta(hours=1)
    for _ in range(6):
        now += timedelta(minutes=10)
        back = advanced(back, events.TimePassed(now))
    assert back.status is RunStatus.FAILED
    assert "not proven back" in back.reason
