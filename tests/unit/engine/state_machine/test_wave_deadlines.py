"""Limits in waves: a cluster that is late is one failure, not that of its wave."""

from datetime import UTC, datetime, timedelta

from volary.engine.observers import feed, observer_events
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import deadlines, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
NAMES = ("us", "eu")


def begun(
    *,
    concurrency: int = 0,
    progress: timedelta | None = None,
    silent: policies.OnUnreachable = policies.OnUnreachable.FAIL,
) -> state.Run:
    rule = policies.WaveRule("all", NAMES, failures=1, unreachable=1, on_unreachable=silent)
    group = run_builder.Group(NAMES, "all", concurrency, progress_deadline=progress)
    step = run_builder.WaveStep(SYNC, group, "all")
    groups = (run_builder.Group(NAMES),)
    made = run_builder.RunSpec("shop", "new", groups, (SYNC,), waves=(rule,), steps=(step,))
    return machine.advance(run_builder.new_run("run", made, START), events.Start(START)).run


def ended(
    run: state.Run,
    name: str,
    at: datetime,
    status: TaskStatus,
    attempt: int = 1,
    reason: str = "so it was",
) -> state.Run:
    told = statuses.Outcome(status, reason)
    return machine.advance(run, events.TaskFinished(at, "all/1-K8S_SYNC", name, attempt, told)).run


def test_a_cluster_that_is_late_costs_its_place_in_the_budget_alone() -> None:
    run = ended(begun(), "us", START + timedelta(minutes=1), TaskStatus.SUCCEEDED)
    late = START + SYNC.timeout
    run = machine.advance(run, events.TimePassed(late)).run
    assert run.status is RunStatus.RUNNING
    run = ended(run, "eu", late + timedelta(seconds=5), TaskStatus.CANCELLED)

    assert run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert "the run went on without eu (failed: timed out after 10m" in run.reason
    assert run.stages[0].status is TaskStatus.SUCCEEDED


def test_of_a_cluster_that_does_not_say_why_it_is_said_how_it_ended() -> None:
    run = ended(begun(), "us", START, TaskStatus.SUCCEEDED)
    run = ended(run, "eu", START, TaskStatus.FAILED, reason="")

    assert "the run went on without eu (failed: failed)" in run.reason


def test_clusters_that_had_no_turn_in_time_fail_the_wave() -> None:
    late = START + SYNC.timeout
    run = machine.advance(begun(concurrency=1), events.TimePassed(late)).run
    assert run.stages[0].status is TaskStatus.FAILED
    assert run.stages[0].reason.startswith("timed out after 10m on eu")


def silent(progress: timedelta) -> state.Run:
    """A wave that waits for clusters which do not answer; eu did not, one second after START."""
    run = begun(progress=progress, silent=policies.OnUnreachable.WAIT)
    run = ended(run, "us", START + timedelta(seconds=1), TaskStatus.SUCCEEDED)
    return ended(run, "eu", START + timedelta(seconds=1), TaskStatus.UNREACHABLE)


def task(run: state.Run) -> state.TaskState:
    found = run.stages[0].task("eu")
    assert found is not None
    return found


def test_a_silent_cluster_is_tried_again_until_its_progress_deadline_and_then_skipped() -> None:
    run = silent(timedelta(seconds=50))
    assert task(run).reason == "so it was; trying again"

    again = START + timedelta(seconds=31)
    run = machine.advance(run, events.TimePassed(again)).run
    assert (task(run).status, task(run).attempt) == (TaskStatus.RUNNING, 2)
    assert task(run).deadline == START + timedelta(seconds=50), "counted from the first try"
    run = ended(run, "eu", again, TaskStatus.UNREACHABLE, attempt=2)
    assert deadlines.next_time(run) == START + timedelta(seconds=50)

    run = machine.advance(run, events.TimePassed(START + timedelta(seconds=50))).run
    assert run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert "the run went on without eu (unreachable: so it was)" in run.reason
    assert run.stages[0].status is TaskStatus.SUCCEEDED


def test_it_is_said_that_and_why_a_silent_cluster_is_waited_for() -> None:
    before = begun(silent=policies.OnUnreachable.WAIT)
    after = ended(before, "eu", START, TaskStatus.UNREACHABLE)

    told = observer_events.between(before, after, START)

    [said] = [each for each in told if isinstance(each, feed.TaskProgressed)]
    assert (said.target, said.sentence) == ("eu", "so it was; trying again")


def test_one_that_does_not_answer_until_its_progress_deadline_is_not_tried_again() -> None:
    run = begun(progress=timedelta(seconds=50), silent=policies.OnUnreachable.WAIT)
    run = ended(run, "us", START + timedelta(seconds=1), TaskStatus.SUCCEEDED)
    late = START + timedelta(seconds=50)
    run = machine.advance(run, events.TimePassed(late)).run
    run = ended(run, "eu", late, TaskStatus.UNREACHABLE)

    assert run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    assert "the run went on without eu (unreachable: " in run.reason


def test_a_pause_is_not_counted_against_a_silent_cluster() -> None:
    run = silent(timedelta(seconds=50))
    run = machine.advance(run, events.PauseAsked(START + timedelta(seconds=2), "ana")).run
    hour = START + timedelta(hours=1)
    run = machine.advance(run, events.TimePassed(hour)).run
    assert not task(run).is_final
    run = machine.advance(run, events.Resume(hour, "ana")).run

    assert task(run).status is TaskStatus.RUNNING
    assert task(run).deadline == hour + timedelta(seconds=48)


def test_a_cluster_that_is_late_in_a_wave_has_its_own_next_limit() -> None:
    """The wave's limit has passed; what is left to wait for is how the late ones end."""
    late = START + SYNC.timeout
    run = machine.advance(begun(), events.TimePassed(late)).run

    assert deadlines.next_time(run) == late + run.policy.grace
    broken_off = machine.advance(run, events.TimePassed(late + run.policy.grace)).run
    assert [each.stopping for each in broken_off.current.running] == [state.Stopping.NOW] * 2
