"""What an approval lets go on, said to whoever is about to give it."""

from datetime import timedelta

import pytest

from machine_simulation import BEGINNING, STAGES
from volary.controller.api.screens import actions
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages

CANARY, _, PRIMARY = STAGES[:3]
ASKED = pipelines.Stage(
    waiting_stages.WAIT_APPROVAL.name,
    waiting_stages.ApprovalOptions(approvers=("ana", "bo"), count=2),
    timeout=timedelta(hours=1),
)


def until_asked(*stages: pipelines.Stage, hold: bool = False) -> state.Run:
    """Canaries on us, eu and asia, until somebody is asked."""
    groups = (run_builder.Group(("us", "eu", "asia")),)
    policy = policies.Policy(on_failure=policies.OnFailure.HOLD) if hold else policies.Policy()
    made = run_builder.RunSpec("shop", "new7777", groups, stages, "old1111", policy)
    run = machine.advance(
        run_builder.new_run("run-1", made, BEGINNING), events.Start(BEGINNING)
    ).run
    for name in ("us", "eu", "asia"):
        is_bad = hold and name == "asia"
        how = statuses.TaskStatus.FAILED if is_bad else statuses.TaskStatus.SUCCEEDED
        told = events.TaskFinished(
            BEGINNING, "1-K8S_CANARY_ROLLOUT", name, 1, statuses.Outcome(how, "said", touched=True)
        )
        run = machine.advance(run, told).run
    if hold:
        run = machine.advance(run, events.SkipCluster(BEGINNING, "ana", "asia", "down")).run
    return run


def consequence(run: state.Run, by: str = "bo") -> str:
    asker = actions.Asker(by, lambda noun, verb: "")
    [approve] = [one for one in actions.of_run(run, asker, BEGINNING) if one.verb == "approve"]
    assert approve.enabled, approve
    return approve.consequence


def test_it_says_what_is_promoted_where_and_who_is_left_out() -> None:
    run = until_asked(CANARY, ASKED, PRIMARY, hold=True)
    one = machine.advance(run, events.Approve(BEGINNING, "ana")).run

    assert consequence(run) == (
        "approval 1 of 2; nothing begins until 1 more has approved (approvers: ana and bo); then"
        " the canary of new7777 is promoted to primary on us and eu; asia is left out"
    )
    assert consequence(one) == (
        "approval 2 of 2, the last that is needed; the canary of new7777 is promoted to primary"
        " on us and eu; asia is left out"
    )


def test_what_holds_up_what_was_approved_is_said_too() -> None:
    run = until_asked(CANARY, ASKED, PRIMARY)
    one = machine.advance(run, events.Approve(BEGINNING, "ana")).run
    paused = machine.advance(one, events.PauseAsked(BEGINNING, "eve", "lunch")).run

    assert consequence(paused).startswith(
        "approval 2 of 2, the last that is needed; the canary of new7777 is promoted to primary"
        " on us, eu and asia; "
    )
    assert "paused by eve" in consequence(paused)


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ((CANARY, ASKED), "the run goes on to its end"),
        ((CANARY, ASKED, STAGES[1], PRIMARY), "WAIT begins on us and eu; K8S_PRIMARY_ROLLOUT"),
    ],
)
def test_what_comes_next_is_named(stages: tuple[pipelines.Stage, ...], said: str) -> None:
    assert said in consequence(until_asked(*stages))


def test_without_a_canary_it_becomes_primary_and_waves_come_after() -> None:
    rule = policies.ApprovalRule(count=1, timeout=timedelta(hours=1))
    groups = (run_builder.Group(("us",), "first", 0, rule), run_builder.Group(("eu",), "rest"))
    made = run_builder.RunSpec(
        "shop",
        "new7777",
        groups,
        (PRIMARY,),
        "old1111",
        waves=tuple(policies.WaveRule(group.name, group.targets) for group in groups),
        steps=tuple(run_builder.WaveStep(PRIMARY, group, group.name) for group in groups),
    )
    run = machine.advance(
        run_builder.new_run("run-1", made, BEGINNING), events.Start(BEGINNING)
    ).run

    assert consequence(run).startswith(
        "approval 1 of 1, the last that is needed; new7777 becomes primary on us; "
    )
