"""What the engine is told about the waves of a run."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.controller.planning import run_waves
from volary.engine.runs import policies
from volary.model import analysis, applications, errors, projects
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.placement import rollouts

FLEET = tuple(fleets.Cluster(name) for name in ("us", "eu", "ap"))
STAGES = (pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions()),)
FIRST = rollouts.Wave("first", rollouts.ClusterSelector(("us",)))
REST = rollouts.Wave("rest")
NIGHT = rollouts.Window("nights", "0 22 * * *", timedelta(hours=8))
Failure, Unreachable = policies.OnFailure, policies.OnUnreachable


def shop(*waves: rollouts.Wave, rollback: bool = True, **more: object) -> applications.Application:
    wanted = rollouts.Waves(waves, **more)  # type: ignore[arg-type]
    planner = applications.Planner(auto_rollback=rollback)
    return applications.Application("shop", waves=wanted, planner=planner)


def test_without_waves_there_is_nothing_but_windows() -> None:
    windows = rollouts.Windows((rollouts.ClusterWindow(NIGHT),))

    made = run_waves.plan_waves(shop(windows=windows), FLEET, STAGES)

    assert made == run_waves.RunWaves(
        windows=(policies.WindowRule(NIGHT, ("us", "eu", "ap"), deny=False),)
    )


def test_a_window_is_for_the_clusters_it_selects() -> None:
    eu = rollouts.ClusterSelector(("eu",))
    nobody = rollouts.ClusterSelector(("mars",))
    windows = rollouts.Windows(
        (rollouts.ClusterWindow(NIGHT, nobody),), (rollouts.ClusterWindow(NIGHT, eu),)
    )

    made = run_waves.plan_waves(shop(FIRST, REST, windows=windows), FLEET, STAGES)

    assert made.windows == (policies.WindowRule(NIGHT, ("eu",), deny=True),)


def test_windows_of_a_project_hold_besides_and_are_called_so() -> None:
    everywhere = rollouts.ClusterWindow(NIGHT)
    windows = rollouts.Windows((everywhere,), (everywhere,))
    team = projects.Project("team-a", windows=windows)

    made = run_waves.plan_waves(shop(windows=windows), FLEET, STAGES, project=team)

    assert made.windows[:2] == run_waves.plan_waves(shop(windows=windows), FLEET, STAGES).windows
    named = replace(NIGHT, name="nights of project team-a")
    assert made.windows[2:] == (
        policies.WindowRule(named, ("us", "eu", "ap"), deny=False, project="team-a"),
        policies.WindowRule(named, ("us", "eu", "ap"), deny=True, project="team-a"),
    )
    assert run_waves.plan_waves(shop(), FLEET, STAGES, goes_back=True, project=team).windows == ()


def test_waves_come_in_their_order_with_their_rules() -> None:
    one = replace(FIRST, on_failure=rollouts.OnWaveFailure.ROLLBACK_WAVE)
    two = replace(
        REST,
        on_failure=rollouts.OnWaveFailure.ROLLBACK_ALL,
        on_unreachable=rollouts.OnWaveUnreachable.SKIP,
    )

    made = run_waves.plan_waves(shop(one, two), FLEET, STAGES)

    assert [rule.targets for rule in made.rules] == [("us",), ("eu", "ap")]
    assert [rule.on_failure for rule in made.rules] == [Failure.ROLLBACK_WAVE, Failure.ROLLBACK]
    assert made.rules[1].on_unreachable is Unreachable.CONTINUE_WITHOUT
    by_wave = {step.wave: step.group.targets for step in made.steps}
    assert by_wave == {"first": ("us",), "rest": ("eu", "ap")}
    assert (made.failures, made.unreachable) == (None, None)


@pytest.mark.parametrize(
    ("word", "engine"),
    [
        (rollouts.OnWaveUnreachable.WAIT, Unreachable.WAIT),
        (rollouts.OnWaveUnreachable.SKIP, Unreachable.CONTINUE_WITHOUT),
        (rollouts.OnWaveUnreachable.FAIL, Unreachable.FAIL),
    ],
)
def test_only_a_wave_that_fails_for_it_needs_its_clusters_at_the_start(
    word: rollouts.OnWaveUnreachable, engine: policies.OnUnreachable
) -> None:
    made = run_waves.plan_waves(
        shop(
            replace(FIRST, on_unreachable=word),
            replace(REST, on_unreachable=rollouts.OnWaveUnreachable.FAIL),
        ),
        FLEET,
        STAGES,
    )

    assert made.rules[0].on_unreachable is engine
    assert made.lenient == (frozenset() if engine is Unreachable.FAIL else frozenset({"us"}))


def test_without_rollbacks_a_wave_that_fails_stops() -> None:
    one = replace(FIRST, on_failure=rollouts.OnWaveFailure.ROLLBACK_ALL)

    made = run_waves.plan_waves(shop(one, REST, rollback=False), FLEET, STAGES)

    assert {rule.on_failure for rule in made.rules} == {Failure.STOP}


def test_where_a_run_is_held_its_waves_are_too() -> None:
    made = run_waves.plan_waves(shop(FIRST, REST), FLEET, STAGES)

    assert {rule.on_failure for rule in made.rules_with(Failure.HOLD)} == {Failure.HOLD}
    assert made.rules_with(Failure.STOP) == made.rules


def test_a_budget_counts_over_the_whole_run() -> None:
    half = rollouts.Share(50, is_percentage=True)
    budget = rollouts.Budget(failures=half, unreachable=rollouts.Share(1))

    made = run_waves.plan_waves(shop(FIRST, REST, budget=budget), FLEET, STAGES)

    assert (made.failures, made.unreachable) == (1, 1)


def test_who_goes_back_takes_the_last_wave_first_and_waits_for_no_window() -> None:
    windows = rollouts.Windows((rollouts.ClusterWindow(NIGHT),))
    application = shop(FIRST, REST, windows=windows)

    made = run_waves.plan_waves(application, FLEET, STAGES, goes_back=True)

    assert [rule.targets for rule in made.rules] == [("eu", "ap"), ("us",)]
    assert made.windows == ()
    assert run_waves.plan_waves(application, FLEET, STAGES).windows != ()


def compared(strategy: analysis.Strategy) -> rollouts.Wave:
    """Return the first wave with a gate that compares so."""
    rule = analysis.Rule("errors", "main", "up", strategy=strategy)
    options = waiting_stages.AnalysisOptions(timedelta(minutes=1), (rule,))
    return replace(FIRST, gate=rollouts.Gate(analysis=options))


def test_a_gate_that_compares_needs_clusters_without_the_release() -> None:
    not_updated = compared(analysis.Strategy.NOT_UPDATED)
    nobody = replace(REST, targets=rollouts.ClusterSelector(("mars",)))

    assert run_waves.plan_waves(shop(not_updated, REST), FLEET, STAGES).rules
    with pytest.raises(errors.UserError, match="the gate of wave first compares with clusters"):
        run_waves.plan_waves(shop(not_updated, nobody), FLEET[:1], STAGES)
    alone = compared(analysis.Strategy.THRESHOLD)
    assert run_waves.plan_waves(shop(alone, nobody), FLEET[:1], STAGES).rules


def test_a_gate_has_no_limit_of_progress_or_concurrency() -> None:
    one = replace(
        FIRST,
        targets=rollouts.ClusterSelector(("us", "eu")),
        max_concurrency=rollouts.Share(1),
        progress_deadline=timedelta(minutes=5),
        soak=timedelta(minutes=1),
    )

    made = run_waves.plan_waves(shop(one, REST), FLEET, STAGES)

    rollout, gate = made.steps[0].group, made.steps[1].group
    assert (rollout.concurrency, rollout.progress_deadline) == (1, timedelta(minutes=5))
    assert (gate.concurrency, gate.progress_deadline) == (0, None)
    assert made.rules[0].concurrency == 1
