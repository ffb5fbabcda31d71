"""Which run is rolled back, and what is known to run afterwards."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.controller.planning import run_waves
from volary.controller.runs import rollbacks, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    run_origins,
    run_requests,
)
from volary.engine.runs import policies, rollback, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import applications
from volary.model import statuses as model_statuses
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, waiting_stages
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus
from volary.store import records

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)


def ended(run: state.Run, **statuses: TaskStatus) -> state.Run:
    run = machine.advance(run, events.Start(START)).run
    while run.current.running:
        for each in run.current.running:
            status = statuses.get(each.target, TaskStatus.SUCCEEDED)
            told = model_statuses.Outcome(status, "so it was", touched=True)
            key = (run.current.id, each.target, each.attempt)
            run = machine.advance(run, events.TaskFinished(START, *key, told)).run
    return run


def release(name: str, commit: str, before: str, **statuses: TaskStatus) -> state.Run:
    made = run_builder.RunSpec(
        "shop",
        commit,
        run_builder.one_group(("us", "eu")),
        (SYNC,),
        before,
        policies.Policy(on_failure=policies.OnFailure.STOP),
        running_commits={"eu": "zero"} if commit == "one" else {},
    )
    return ended(run_builder.new_run(name, made, START), **statuses)


def taken_back(run: state.Run, name: str, **statuses: TaskStatus) -> state.Run:
    return ended(rollback.rollback_run(run, name, "rolled back by ana", START), **statuses)


def concluded(
    known: application_statuses.ApplicationStatus, run: state.Run, running: str
) -> tuple[application_statuses.ApplicationStatus, object]:
    """Return the status and the commit that runs once a run was rolled back."""
    application = application_state.ApplicationState(
        records.ApplicationRecord("shop"),
        replace(known, releases=replace(known.releases, running=running), under_way=True),
    )
    origin = run_origins.Origin("shop", "volary.yaml", kind=run_requests.KindName.ROLLBACK)
    ended = run_kinds.EndedRun(application, run, origin, lambda name: name, START)
    change = rollbacks.Rollback().concluded(ended)
    assert not change.status.under_way
    return change.status, change.status.releases.running


def test_the_newest_change_that_is_still_there_is_taken_back() -> None:
    one, two = release("r1", "one", "before"), release("r2", "two", "one")
    assert rollbacks.choose_run([two, one]) is two
    back = taken_back(two, "r3")
    assert rollbacks.choose_run([back, two, one]) is one
    assert rollbacks.choose_run([taken_back(one, "r4"), back, two, one]) is None


def test_of_a_way_back_that_failed_the_rest_is_next() -> None:
    two = release("r2", "two", "one")
    back = taken_back(two, "r3", eu=TaskStatus.FAILED)
    assert rollbacks.choose_run([back, two]) is back
    assert rollback.clusters_left(back) == ("eu",)


def test_what_changed_nothing_is_passed_over() -> None:
    again = release("r3", "two", "two")
    two = release("r2", "two", "one")
    assert rollbacks.choose_run([again, two]) is two


def known_as(commit: str, *names: str, **others: str) -> application_statuses.ApplicationStatus:
    """Return the status where some clusters have the completed release, and others something."""
    covered = cluster_releases.ReleaseState.COVERED
    clusters = {name: cluster_releases.ClusterRelease(commit, covered) for name in names}
    clusters |= {name: cluster_releases.ClusterRelease(one) for name, one in others.items()}
    return application_statuses.ApplicationStatus(
        releases=cluster_releases.ClusterReleases(commit, clusters)
    )


def test_what_runs_is_known_when_all_are_proven_back() -> None:
    one = release("r1", "one", "before")
    back = taken_back(one, "r2")
    assert back.status is RunStatus.SUCCEEDED
    known = known_as("one", "us", "eu", "late", old="older")
    application_status, running = concluded(known, back, "one")
    assert running == "before"
    # The one that had got the release later is no cluster of the run, and has it still.
    assert application_status.releases == cluster_releases.ClusterReleases(
        "",
        {
            "us": cluster_releases.ClusterRelease("before"),
            "eu": cluster_releases.ClusterRelease("zero"),
            "late": cluster_releases.ClusterRelease("one"),
            "old": cluster_releases.ClusterRelease("older"),
        },
        "before",
    ), "they are not all at one release"

    two = taken_back(release("r3", "two", "one"), "r4")
    application_status, running = concluded(application_statuses.ApplicationStatus(), two, "two")
    covered = cluster_releases.ReleaseState.COVERED
    assert running == "one"
    assert application_status.releases == cluster_releases.ClusterReleases(
        "one",
        {name: cluster_releases.ClusterRelease("one", covered, name) for name in ("us", "eu")},
        "one",
    )


def test_while_one_is_not_proven_back_nothing_is_brought_to_anybody() -> None:
    two = release("r2", "two", "one")
    back = taken_back(two, "r3", eu=TaskStatus.FAILED)
    application_status, running = concluded(known_as("two", "us", "eu"), back, "two")
    assert running == "two"
    assert application_status.releases == cluster_releases.ClusterReleases(
        "",
        {
            "us": cluster_releases.ClusterRelease("one"),
            "eu": cluster_releases.ClusterRelease("two"),
        },
        "two",
    )


def test_where_failures_are_held_for_a_person_those_of_waves_are_too() -> None:
    waves = rollouts.Waves((rollouts.Wave("all"),))
    application = applications.Application(name="shop", waves=waves)
    made = run_waves.plan_waves(application, [fleets.Cluster("us")], (SYNC,))
    (held,) = made.rules_with(policies.OnFailure.HOLD)
    assert held.on_failure is policies.OnFailure.HOLD
    assert made.rules_with(policies.OnFailure.ROLLBACK) == made.rules


def test_to_a_commit_the_last_wave_goes_first_and_nothing_holds_it_up() -> None:
    freezing = rollouts.ClusterWindow(rollouts.Window("now", "* * * * *", timedelta(hours=1)))
    waves = rollouts.Waves(
        (
            rollouts.Wave(
                "first",
                size=rollouts.Share(1),
                soak=timedelta(hours=1),
                gate=rollouts.Gate(
                    waiting_stages.ApprovalOptions(("bo",)),
                    analysis=waiting_stages.AnalysisOptions(timedelta(minutes=5)),
                ),
            ),
            rollouts.Wave("rest", max_concurrency=rollouts.Share(1)),
        ),
        windows=rollouts.Windows(deny=(freezing,)),
    )
    application = applications.Application(name="shop", waves=waves)
    clusters = [fleets.Cluster(name) for name in ("us", "eu", "asia")]
    forward = run_waves.plan_waves(application, clusters, (SYNC,))
    back = run_waves.plan_waves(application, clusters, (SYNC,), goes_back=True)

    assert [each.name for each in forward.rules] == ["first", "rest"]
    assert len(forward.windows) == 1
    assert [(each.name, each.targets, each.concurrency) for each in back.rules] == [
        ("rest", ("eu", "asia"), 1),
        ("first", ("us",), 0),
    ]
    assert back.windows == ()
    assert [(each.wave, each.stage.name) for each in back.steps] == [
        ("rest", "K8S_SYNC"),
        ("rest", "WAVE_GATE"),
        ("first", "K8S_SYNC"),
        ("first", "WAVE_GATE"),
    ]
    assert back.steps[1].stage.options == added_stages.WaveGateOptions(timedelta())
