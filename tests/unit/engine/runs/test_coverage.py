"""Who holds the release of a run that did not succeed everywhere."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, rollback, run_builder, state
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, waiting_stages

SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
GATE = pipelines.Stage(added_stages.WAVE_GATE.name, added_stages.WaveGateOptions(), index=1)


def waves(on_failure: policies.OnFailure, failures: int = 0) -> run_builder.RunSpec:
    moved = (
        policies.WaveRule("first", ("us",), on_failure=on_failure),
        policies.WaveRule("rest", ("eu", "asia"), failures, on_failure=on_failure),
    )
    steps = tuple(
        run_builder.WaveStep(each, run_builder.Group(rule.targets, rule.name), rule.name)
        for rule in moved
        for each in (SYNC, GATE)
    )
    groups = (run_builder.Group(("us", "eu", "asia")),)
    return run_builder.RunSpec("shop", "new", groups, (SYNC,), "old", waves=moved, steps=steps)


FIRST_IS_DONE = """
>> start
>> us succeeded
>> us succeeded
"""


@pytest.mark.parametrize(
    ("on_failure", "rest", "expected"),
    [
        (policies.OnFailure.STOP, ">> eu failed: no image\n>> asia succeeded", ("us",)),
        (
            policies.OnFailure.ROLLBACK_WAVE,
            ">> eu failed: no image\n>> asia succeeded\n>> eu succeeded\n>> asia succeeded",
            ("us",),
        ),
        (
            policies.OnFailure.ROLLBACK,
            ">> eu failed: x\n>> asia succeeded\n"
            ">> eu succeeded\n>> asia succeeded\n>> us succeeded",
            (),
        ),
    ],
)
def test_clusters_keep_what_their_wave_proved(
    on_failure: policies.OnFailure,
    rest: str,
    expected: tuple[str, ...],
    played: Callable[[run_builder.RunSpec, str], state.Run],
) -> None:
    run = played(waves(on_failure), FIRST_IS_DONE + rest)

    assert run.is_final, run.reason
    assert rollback.clusters_with_release(run) == expected


def test_a_cluster_that_failed_within_the_budget_keeps_the_old_one(
    played: Callable[[run_builder.RunSpec, str], state.Run],
) -> None:
    script = ">> eu failed: no image\n>> asia succeeded\n>> eu succeeded\n>> asia succeeded"
    run = played(waves(policies.OnFailure.STOP, failures=1), FIRST_IS_DONE + script)

    assert run.is_final, run.reason
    assert rollback.clusters_with_release(run) == ("us", "asia")
    assert "eu (failed: no image; rollback verified)" in run.reason


@pytest.mark.parametrize(
    ("analysis", "expected"),
    [
        (">> us succeeded\n>> eu succeeded", ("us", "eu")),
        # On us the analysis had begun and found something; on eu it never did.
        (">> us failed: too many errors", ("eu",)),
    ],
)
def test_a_cluster_holds_the_release_unless_something_failed_after_it_had_begun(
    analysis: str,
    expected: tuple[str, ...],
    played: Callable[[run_builder.RunSpec, str], state.Run],
) -> None:
    measured = pipelines.Stage(
        waiting_stages.ANALYSIS.name,
        waiting_stages.AnalysisOptions(timedelta(minutes=5)),
        index=1,
    )
    policy = policies.Policy(on_failure=policies.OnFailure.STOP)
    groups = (run_builder.Group(("us", "eu"), concurrency=1),)
    plan = run_builder.RunSpec("shop", "new", groups, (SYNC, measured), "old", policy)
    run = played(plan, ">> start\n>> us succeeded\n>> eu succeeded\n" + analysis)

    assert rollback.clusters_with_release(run) == expected


def test_what_is_under_way_has_promoted_clusters_before_it_is_proven(
    played: Callable[[run_builder.RunSpec, str], state.Run],
) -> None:
    """In waves the gate proves it; users have the release before."""
    plan = waves(policies.OnFailure.ROLLBACK_WAVE)
    at_first_gate = played(plan, ">> start\n>> us succeeded")
    at_second_gate = played(plan, FIRST_IS_DONE + ">> eu succeeded\n>> asia succeeded")
    going_back = played(plan, FIRST_IS_DONE + ">> eu failed: no image\n>> asia succeeded")

    assert rollback.clusters_promoted(at_first_gate) == ("us",)
    assert rollback.clusters_with_release(at_first_gate) == ()
    assert rollback.clusters_promoted(at_second_gate) == ("us", "eu", "asia")
    assert going_back.rollback is not None
    assert rollback.clusters_promoted(going_back) == ("us",)


def test_a_run_that_takes_another_one_back_has_promoted_only_what_it_has_to_take_back(
    played: Callable[[run_builder.RunSpec, str], state.Run],
) -> None:
    groups = (run_builder.Group(("us", "eu")),)
    plan = run_builder.RunSpec("shop", "new", groups, (SYNC,), "old")
    done = played(plan, ">> start\n>> us succeeded\n>> eu succeeded")
    clusters = tuple(replace(one, rolled_back=one.name == "us") for one in done.clusters)
    partly_back = replace(done, clusters=clusters)

    back = rollback.rollback_run(partly_back, "r2", "by ana", datetime(2026, 1, 1, tzinfo=UTC))

    assert rollback.clusters_promoted(partly_back) == ("eu",)
    assert rollback.clusters_promoted(back) == tuple(
        one.name for one in back.clusters if one.touched
    )
