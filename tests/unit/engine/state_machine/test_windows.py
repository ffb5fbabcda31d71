"""What runs and waits while windows open and close."""

from datetime import UTC, datetime, timedelta

from volary.engine.persistence import codec
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import commands, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus

#: A Friday.
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MORNINGS = rollouts.Window("mornings", "0 8 * * *", timedelta(hours=4))
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
WAIT = pipelines.Stage(
    waiting_stages.WAIT.name,
    waiting_stages.WaitOptions(timedelta(minutes=1)),
    timeout=timedelta(minutes=5),
)


def planned(*windows: policies.WindowRule, stages=(SYNC,), concurrency: int = 0) -> state.Run:
    groups = (run_builder.Group(("us", "eu"), concurrency=concurrency),)
    made = run_builder.RunSpec("shop", "new", groups, stages, "old", windows=windows)
    return run_builder.new_run("run-1", made, NOON)


def begun(step: machine.Step) -> list[str]:
    return [each.target for each in step.commands if isinstance(each, commands.StartTask)]


def wake(step: machine.Step) -> datetime | None:
    return next((each.at for each in step.commands if isinstance(each, commands.WakeAt)), None)


def ended(run: state.Run, target: str, at: datetime, status=TaskStatus.SUCCEEDED) -> machine.Step:
    told = statuses.Outcome(status, "so it was", touched=True)
    return machine.advance(run, events.TaskFinished(at, run.current.id, target, 1, told))


def test_a_run_waits_for_its_window_and_says_until_when() -> None:
    step = machine.advance(planned(policies.WindowRule(MORNINGS, ("us", "eu"))), events.Start(NOON))

    assert step.run.status is RunStatus.WAITING
    assert step.run.reason == (
        "stage 1 of 1, K8S_SYNC: us and eu wait until Sat 2026-11-21 08:00 UTC (outside mornings)"
    )
    assert begun(step) == []
    opening = datetime(2026, 11, 21, 8, tzinfo=UTC)
    assert wake(step) == opening
    # Far longer than the limit of the run: it stood still.
    step = machine.advance(step.run, events.TimePassed(opening))
    assert begun(step) == ["us", "eu"]
    assert step.run.status is RunStatus.RUNNING
    assert step.run.current.deadline == opening + SYNC.timeout
    assert step.run.deadline == opening + step.run.policy.timeout


def test_no_window_of_an_application_opens_those_of_its_project() -> None:
    always = rollouts.Window("always", "0 0 * * *", timedelta(days=1))
    whole = rollouts.Window("mornings of project team-a", "0 8 * * *", timedelta(hours=4))
    own = policies.WindowRule(always, ("us", "eu"))
    run = planned(own, policies.WindowRule(whole, ("us", "eu"), project="team-a"))

    step = machine.advance(run, events.Start(NOON))

    assert begun(step) == []
    assert step.run.reason.endswith(
        "us and eu wait until Sat 2026-11-21 08:00 UTC (outside mornings of project team-a)"
    )
    assert begun(machine.advance(planned(own), events.Start(NOON))) == ["us", "eu"]


def test_only_the_clusters_of_the_window_wait_and_have_their_whole_time_later() -> None:
    step = machine.advance(planned(policies.WindowRule(MORNINGS, ("eu",))), events.Start(NOON))
    assert begun(step) == ["us"]
    assert step.run.status is RunStatus.RUNNING
    step = ended(step.run, "us", NOON + timedelta(minutes=9))
    assert step.run.status is RunStatus.WAITING

    opening = datetime(2026, 11, 21, 8, tzinfo=UTC)
    step = machine.advance(step.run, events.TimePassed(opening))

    assert begun(step) == ["eu"]
    assert step.run.current.deadline == opening + SYNC.timeout


def test_a_place_is_not_kept_for_a_cluster_that_waits_for_its_window() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us",)), concurrency=1)
    assert begun(machine.advance(run, events.Start(NOON))) == ["eu"]


def test_what_runs_finishes_and_what_follows_waits_when_a_window_closes() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us", "eu")), concurrency=1)
    before = NOON - timedelta(minutes=1)
    step = machine.advance(run, events.Start(before))
    assert begun(step) == ["us"]

    step = ended(step.run, "us", NOON)

    assert begun(step) == []
    assert step.run.status is RunStatus.WAITING
    assert "eu waits until Sat 2026-11-21 08:00 UTC" in step.run.reason


def test_the_way_back_is_never_held_up() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us", "eu")))
    step = machine.advance(run, events.Start(NOON - timedelta(minutes=1)))
    step = ended(step.run, "us", NOON)
    step = ended(step.run, "eu", NOON, TaskStatus.FAILED)

    assert step.run.status is RunStatus.ROLLING_BACK
    assert begun(step) == ["us", "eu"]


def test_a_cancelled_run_goes_back_in_a_closed_window() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us", "eu")), concurrency=1)
    step = machine.advance(run, events.Start(NOON - timedelta(minutes=1)))
    step = ended(step.run, "us", NOON)
    step = machine.advance(step.run, events.Cancel(NOON, "ana", rollback=True))
    assert begun(step) == ["us"]


def test_a_stage_that_changes_nothing_is_not_held_up() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us", "eu")), stages=(WAIT,))
    assert begun(machine.advance(run, events.Start(NOON))) == ["us", "eu"]


def test_windows_are_stored_with_the_run() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us",), deny=True))
    head = codec.write_head(machine.advance(run, events.Start(NOON)).run)
    assert head["windows"][0]["window"]["schedule"] == "0 8 * * *"


def test_windows_that_the_project_has_by_now_hold_for_what_has_not_begun() -> None:
    """Whatever the project said when the run was planned."""
    whole = rollouts.Window("mornings of project team-a", "0 8 * * *", timedelta(hours=4))
    rule = policies.WindowRule(whole, ("us", "eu"), project="team-a")
    step = machine.advance(planned(stages=(SYNC, WAIT, SYNC), concurrency=1), events.Start(NOON))
    assert begun(step) == ["us"]

    closed = machine.advance(step.run, events.ProjectChanged(NOON, (rule,)))
    assert closed.run.status is RunStatus.RUNNING, "what runs finishes"
    waiting = ended(closed.run, "us", NOON)
    assert begun(waiting) == []
    assert "eu waits until Sat 2026-11-21 08:00 UTC" in waiting.run.reason

    opened = machine.advance(waiting.run, events.ProjectChanged(NOON))
    assert begun(opened) == ["eu"]
    assert opened.run.status is RunStatus.RUNNING
    assert wake(opened) is not None


def test_windows_of_the_application_are_not_the_projects_to_change() -> None:
    run = planned(policies.WindowRule(MORNINGS, ("us", "eu")))

    step = machine.advance(
        machine.advance(run, events.ProjectChanged(NOON)).run, events.Start(NOON)
    )

    assert begun(step) == []
    assert step.run.windows == run.windows


def test_no_more_clusters_change_at_once_than_the_project_lets_by_now() -> None:
    groups = (run_builder.Group(("us", "eu", "asia"), concurrency=2),)
    made = run_builder.RunSpec("shop", "new", groups, (SYNC, WAIT, SYNC), "old")
    step = machine.advance(run_builder.new_run("run-1", made, NOON), events.Start(NOON))
    assert begun(step) == ["us", "eu"]

    run = machine.advance(step.run, events.ProjectChanged(NOON, most_at_once=1)).run
    step = ended(run, "us", NOON)
    assert begun(step) == [], "eu is still being changed"
    step = ended(step.run, "eu", NOON)
    assert begun(step) == ["asia"]
    step = ended(step.run, "asia", NOON)
    assert begun(step) == ["us", "eu"], "what changes nothing is not limited"
    assert run.most_at_once == 1


def test_a_rollback_is_not_held_up_by_what_a_project_says_by_now() -> None:
    run = machine.advance(planned(concurrency=2), events.Start(NOON)).run
    run = ended(run, "us", NOON).run
    run = ended(run, "eu", NOON, TaskStatus.FAILED).run
    assert run.status is RunStatus.ROLLING_BACK
    rule = policies.WindowRule(MORNINGS, ("us", "eu"), project="team-a")

    step = machine.advance(run, events.ProjectChanged(NOON, (rule,), 1))

    assert step.run.status is RunStatus.ROLLING_BACK
    assert {task.status for task in step.run.current.tasks} == {TaskStatus.RUNNING}
