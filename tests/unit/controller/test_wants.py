"""What an application will do next, decided from values alone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.controller import origins, standings, wants
from volary.engine import events, machine, plan, state, update
from volary.model import application, stage, status
from volary.model import plan as plans

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
WANT = wants.Want("w1", "c2", wants.Kind.COMMIT, "deployment.yaml changed", AT, by="Ana")


def run_of(*names: stage.StageName) -> state.Run:
    options = {
        stage.StageName.SYNC: stage.SyncOptions(),
        stage.StageName.PRIMARY_ROLLOUT: stage.PrimaryRolloutOptions(),
        stage.StageName.CANARY_CLEAN: stage.CleanOptions(),
    }
    stages = tuple(stage.Stage(name, options[name]) for name in names)
    wanted = plan.Plan("shop", "c1", plan.one_group(["us"]), stages)
    planned = plan.new_run("r1", wanted, AT)
    return machine.advance(planned, events.Start(AT)).run


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("Deploy v2", "deployment.yaml changed"),
        ('Revert "Deploy v2"', "reverts Deploy v2"),
        ('Revert "Revert "Deploy v2""', 'reverts Revert "Deploy v2"'),
        ("Revert the change", "deployment.yaml changed"),
    ],
)
def test_a_revert_says_what_it_reverts(subject: str, reason: str) -> None:
    assert wants.reason_of(WANT, subject) == reason
    asked = replace(WANT, kind=wants.Kind.ROLLBACK, reason="ana rolls back")
    assert wants.reason_of(asked, subject) == "ana rolls back"


def test_primary_counts_as_touched_once_its_stage_has_begun() -> None:
    before = run_of(stage.StageName.CANARY_CLEAN, stage.StageName.PRIMARY_ROLLOUT)
    assert not wants.touches_primary(before)
    assert wants.touches_primary(run_of(stage.StageName.PRIMARY_ROLLOUT))
    assert wants.touches_primary(run_of(stage.StageName.SYNC))


def test_a_revert_is_done_only_by_a_rollback_that_succeeded() -> None:
    run = run_of(stage.StageName.SYNC)
    back = replace(WANT, undoes="r1")
    assert wants.is_done_by(back, replace(run, status=status.RunStatus.ROLLED_BACK))
    assert wants.is_done_by(back, replace(run, status=status.RunStatus.CANCELLED))
    assert not wants.is_done_by(back, replace(run, status=status.RunStatus.FAILED))
    assert not wants.is_done_by(WANT, replace(run, status=status.RunStatus.ROLLED_BACK))
    left = update.touch(replace(run, status=status.RunStatus.CANCELLED), "us")
    assert not wants.is_done_by(back, left)


def test_standing_and_origin_survive_being_written_and_older_ones_are_read() -> None:
    want = replace(WANT, strategy=plans.Strategy.PIPELINE, undoes="r1", takes_back="r0")
    targets = application.TargetSelector(("us",), {"tier": "one"})
    mentions = (application.Mention("*", ("U1",), ("G1",)),)
    standing = standings.Standing(
        "c2", "c1", "r1", True, want, "run r1 has to end first", targets, mentions,
        alerts=(application.Alert("team", "on-call", ("DEPLOYMENT_FAILED",)),),
        pause=state.Pause("ana", WANT.at, "on television"),
    )  # fmt: skip
    origin = origins.Origin("shop", "a/volary.yaml", targets=("us",), digests={"us": "abc"})

    assert standings.from_document(standings.to_document(standing)) == standing
    assert origins.from_document(origins.to_document(origin)) == origin
    assert standings.from_document({}) == standings.Standing()
    assert origins.from_document({}) == origins.Origin("", "")
