"""Which run is taken back, and what is known to run afterwards."""

from datetime import UTC, datetime, timedelta

from volary.controller import reaching, standings, waving, way_back
from volary.engine import events, machine, plan, rules, state, undoing
from volary.model import application as applications
from volary.model import fleet, freeze, outcome, placement, stage
from volary.model.status import RunStatus, TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions(), timeout=timedelta(minutes=10))


def ended(run: state.Run, **statuses: TaskStatus) -> state.Run:
    run = machine.advance(run, events.Start(START)).run
    while run.current.running:
        for each in run.current.running:
            status = statuses.get(each.target, TaskStatus.SUCCEEDED)
            told = outcome.Outcome(status, "so it was", touched=True)
            key = (run.current.id, each.target, each.attempt)
            run = machine.advance(run, events.TaskFinished(START, *key, told)).run
    return run


def release(name: str, commit: str, before: str, **statuses: TaskStatus) -> state.Run:
    made = plan.Plan(
        "shop",
        commit,
        plan.one_group(("us", "eu")),
        (SYNC,),
        before,
        rules.Policy(on_failure=rules.OnFailure.STOP),
        running_commits={"eu": "zero"} if commit == "one" else {},
    )
    return ended(plan.new_run(name, made, START), **statuses)


def taken_back(run: state.Run, name: str, **statuses: TaskStatus) -> state.Run:
    return ended(undoing.of(run, name, "rolled back by ana", START), **statuses)


def test_the_newest_change_that_is_still_there_is_taken_back() -> None:
    one, two = release("r1", "one", "before"), release("r2", "two", "one")
    assert way_back.choose([two, one]) is two
    back = taken_back(two, "r3")
    assert way_back.choose([back, two, one]) is one
    assert way_back.choose([taken_back(one, "r4"), back, two, one]) is None


def test_of_a_way_back_that_failed_the_rest_is_next() -> None:
    two = release("r2", "two", "one")
    back = taken_back(two, "r3", eu=TaskStatus.FAILED)
    assert way_back.choose([back, two]) is back
    assert undoing.left(back) == ("eu",)


def test_what_changed_nothing_is_passed_over() -> None:
    again = release("r3", "two", "two")
    two = release("r2", "two", "one")
    assert way_back.choose([again, two]) is two


def test_what_runs_is_known_when_all_are_proven_back() -> None:
    one = release("r1", "one", "before")
    back = taken_back(one, "r2")
    assert back.status is RunStatus.SUCCEEDED
    known = standings.Standing(
        kept={"old": "older"}, reached=reaching.Reached("one", {"us": "", "eu": "", "late": ""})
    )
    standing, running = way_back.concluded(known, back, lambda name: name, "one")
    assert running == "before"
    # The one that had got the release later is no cluster of the run, and has it still.
    assert standing.kept == {"old": "older", "eu": "zero", "late": "one"}
    assert standing.reached == reaching.Reached(), "they are not all at one release"

    two = taken_back(release("r3", "two", "one"), "r4")
    standing, running = way_back.concluded(standings.Standing(), two, lambda name: name, "two")
    assert (running, standing.kept) == ("one", {})
    assert standing.reached == reaching.Reached("one", {"us": "us", "eu": "eu"})


def test_while_one_is_not_proven_back_nothing_is_brought_to_anybody() -> None:
    two = release("r2", "two", "one")
    back = taken_back(two, "r3", eu=TaskStatus.FAILED)
    known = standings.Standing(reached=reaching.Reached("two", {"us": "", "eu": ""}))
    standing, running = way_back.concluded(known, back, lambda name: name, "two")
    assert (running, standing.kept) == ("two", {"us": "one"})
    assert standing.reached == reaching.Reached()


def test_where_failures_are_held_for_a_person_those_of_waves_are_too() -> None:
    waves = placement.Waves((placement.Wave("all"),))
    application = applications.Application(name="shop", waves=waves)
    made = waving.of(application, [fleet.Cluster("us")], (SYNC,))
    (held,) = made.rules_with(rules.OnFailure.HOLD)
    assert held.on_failure is rules.OnFailure.HOLD
    assert made.rules_with(rules.OnFailure.ROLLBACK) == made.rules


def test_to_a_commit_the_last_wave_goes_first_and_nothing_holds_it_up() -> None:
    freezing = placement.ClusterWindow(freeze.Window("now", "* * * * *", timedelta(hours=1)))
    waves = placement.Waves(
        (
            placement.Wave(
                "first",
                size=placement.Share(1),
                soak=timedelta(hours=1),
                gate=placement.Gate(
                    stage.ApprovalOptions(("bo",)),
                    analysis=stage.AnalysisOptions(timedelta(minutes=5)),
                ),
            ),
            placement.Wave("rest", max_concurrency=placement.Share(1)),
        ),
        windows=placement.Windows(deny=(freezing,)),
    )
    application = applications.Application(name="shop", waves=waves)
    clusters = [fleet.Cluster(name) for name in ("us", "eu", "asia")]
    forward = waving.of(application, clusters, (SYNC,))
    back = waving.of(application, clusters, (SYNC,), goes_back=True)

    assert [each.name for each in forward.rules] == ["first", "rest"]
    assert len(forward.windows) == 1
    assert [(each.name, each.targets, each.concurrency) for each in back.rules] == [
        ("rest", ("eu", "asia"), 1),
        ("first", ("us",), 0),
    ]
    assert back.windows == ()
    assert [(each.wave, each.stage.name.value) for each in back.steps] == [
        ("rest", "K8S_SYNC"),
        ("rest", "WAVE_GATE"),
        ("first", "K8S_SYNC"),
        ("first", "WAVE_GATE"),
    ]
    assert back.steps[1].stage.options == stage.WaveGateOptions(timedelta())
