"""Who holds the release of a run that did not succeed everywhere."""

from collections.abc import Callable

import pytest

from volary.engine import plan, rules, standing, state
from volary.model import stage

SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())
GATE = stage.Stage(stage.StageName.WAVE_GATE, stage.WaveGateOptions(), index=1)


def waves(on_failure: rules.OnFailure, failures: int = 0) -> plan.Plan:
    moved = (
        rules.WaveRule("first", ("us",), on_failure=on_failure),
        rules.WaveRule("rest", ("eu", "asia"), failures, on_failure=on_failure),
    )
    steps = tuple(
        plan.Step(each, plan.Group(rule.targets, rule.name), rule.name)
        for rule in moved
        for each in (SYNC, GATE)
    )
    groups = (plan.Group(("us", "eu", "asia")),)
    return plan.Plan("shop", "new", groups, (SYNC,), "old", waves=moved, steps=steps)


FIRST_IS_DONE = """
>> start
>> us succeeded
>> us succeeded
"""


@pytest.mark.parametrize(
    ("on_failure", "rest", "expected"),
    [
        (rules.OnFailure.STOP, ">> eu failed: no image\n>> asia succeeded", ("us",)),
        (
            rules.OnFailure.ROLLBACK_WAVE,
            ">> eu failed: no image\n>> asia succeeded\n>> eu succeeded\n>> asia succeeded",
            ("us",),
        ),
        (
            rules.OnFailure.ROLLBACK,
            ">> eu failed: x\n>> asia succeeded\n"
            ">> eu succeeded\n>> asia succeeded\n>> us succeeded",
            (),
        ),
    ],
)
def test_clusters_keep_what_their_wave_proved(
    on_failure: rules.OnFailure,
    rest: str,
    expected: tuple[str, ...],
    played: Callable[[plan.Plan, str], state.Run],
) -> None:
    run = played(waves(on_failure), FIRST_IS_DONE + rest)

    assert run.is_final, run.reason
    assert standing.kept(run) == expected


def test_a_cluster_that_failed_within_the_budget_keeps_the_old_one(
    played: Callable[[plan.Plan, str], state.Run],
) -> None:
    script = ">> eu failed: no image\n>> asia succeeded\n>> eu succeeded\n>> asia succeeded"
    run = played(waves(rules.OnFailure.STOP, failures=1), FIRST_IS_DONE + script)

    assert run.is_final, run.reason
    assert standing.kept(run) == ("us", "asia")
    assert "eu (failed: no image; back as before)" in run.reason
