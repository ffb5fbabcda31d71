"""What an application will do next, decided from values alone."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.controller.status import application_statuses, run_origins, run_requests
from volary.engine.runs import run_builder, state, updates
from volary.engine.state_machine import events, machine
from volary.gitops import triggers
from volary.model import applications, statuses
from volary.model.objects import manifest, ownership
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.runs import run_plans
from volary.placement.replicas import assignment, divisible_workloads

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
WANT = run_requests.RunRequest(
    "w1",
    "c2",
    run_requests.KindName.RELEASE,
    "deployment.yaml changed",
    AT,
    by="Ana",
    trigger=triggers.Kind.COMMIT,
)


def run_of(*names: str) -> state.Run:
    options = {
        rollout_stages.SYNC.name: rollout_stages.SyncOptions(),
        rollout_stages.PRIMARY_ROLLOUT.name: rollout_stages.PrimaryRolloutOptions(),
        rollout_stages.CANARY_CLEAN.name: stage_kind.NoOptions(),
    }
    stages = tuple(pipelines.Stage(name, options[name]) for name in names)
    wanted = run_builder.RunSpec("shop", "c1", run_builder.one_group(["us"]), stages)
    planned = run_builder.new_run("r1", wanted, AT)
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
    assert run_requests.reason_for_commit(WANT, subject) == reason
    asked = replace(WANT, trigger=triggers.Kind.COMMAND, reason="ana rolls back")
    assert run_requests.reason_for_commit(asked, subject) == "ana rolls back"


def test_primary_counts_as_touched_once_its_stage_has_begun() -> None:
    before = run_of(rollout_stages.CANARY_CLEAN.name, rollout_stages.PRIMARY_ROLLOUT.name)
    assert not run_requests.touches_primary(before)
    assert run_requests.touches_primary(run_of(rollout_stages.PRIMARY_ROLLOUT.name))
    assert run_requests.touches_primary(run_of(rollout_stages.SYNC.name))


def test_a_revert_is_done_only_by_a_rollback_that_succeeded() -> None:
    begun = run_of(rollout_stages.SYNC.name)
    run = updates.conclude_begun(begun, "us", wrote=False)
    back = replace(WANT, reverts="r1")
    assert run_requests.is_fulfilled_by(back, replace(run, status=statuses.RunStatus.ROLLED_BACK))
    assert run_requests.is_fulfilled_by(back, replace(run, status=statuses.RunStatus.CANCELLED))
    assert not run_requests.is_fulfilled_by(back, replace(run, status=statuses.RunStatus.FAILED))
    assert not run_requests.is_fulfilled_by(
        WANT, replace(run, status=statuses.RunStatus.ROLLED_BACK)
    )
    left = replace(begun, status=statuses.RunStatus.CANCELLED)
    assert not run_requests.is_fulfilled_by(back, left)


def test_standing_and_origin_survive_being_written_and_older_ones_are_read() -> None:
    run_request = replace(
        WANT, strategy=run_plans.Strategy.PIPELINE, reverts="r1", rollback_of="r0"
    )
    targets = applications.TargetSelector(("us",), {"tier": "one"})
    mentions = (applications.Mention("*", ("U1",), ("G1",)),)
    application_status = application_statuses.ApplicationStatus(
        "c2", "c1", "r1", True, run_request, "run r1 has to end first", targets, mentions,
        alerts=(applications.Alert("team", "on-call", ("DEPLOYMENT_FAILED",)),),
        pause=state.Pause("ana", WANT.at, "on television"),
        owners={"us": ownership.Owner("shop", "0123456789abcdef")},
    )  # fmt: skip
    web = assignment.WorkloadAssignment(
        manifest.ResourceKey("apps", "Deployment", "shop", "web"),
        {
            "us": divisible_workloads.Share(3, least=1),
            "eu": divisible_workloads.Share(2, completions=6),
        },
        "static weights",
        {"us": 4},
    )
    origin = run_origins.Origin(
        "shop",
        "a/volary.yaml",
        targets=("us",),
        owners={"us": ownership.Owner("shop", "0123456789abcdef")},
        assigned=assignment.Assignment((web,), {"us": WANT.at}, {"eu": "no answer"}),
    )

    assert (
        application_statuses.from_document(application_statuses.to_document(application_status))
        == application_status
    )
    assert run_origins.from_document(run_origins.to_document(origin)) == origin
    assert application_statuses.from_document({}) == application_statuses.ApplicationStatus()
