"""What a newer request does to the run under way: it is rolled back, cancelled, or goes on."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.controller.status import application_statuses, run_admission, run_requests
from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events, machine
from volary.gitops import triggers
from volary.model import server_settings
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.statuses import RunStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
CANCEL, QUEUE = server_settings.Supersede.CANCEL, server_settings.Supersede.QUEUE
NEWER = run_requests.RunRequest(
    "r2",
    "2222222222",
    run_requests.KindName.RELEASE,
    "it was pushed",
    AT,
    trigger=triggers.Kind.COMMIT,
)
NOTHING = application_statuses.ApplicationStatus()
PAUSE = state.Pause("ana", AT, "on television")


def _run(*stages: pipelines.Stage) -> state.Run:
    spec = run_builder.RunSpec("shop", "1111111111", run_builder.one_group(("us",)), stages)
    return machine.advance(run_builder.new_run("r1", spec, AT), events.Start(AT)).run


CANARY = pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
UNTOUCHED, TOUCHED = _run(CANARY), _run(SYNC)
BACK = replace(TOUCHED, rollback=TOUCHED.current)


def test_a_newer_commit_cancels_a_run_that_touched_nothing() -> None:
    assert run_admission.cancels_run(CANCEL, NOTHING, NEWER, UNTOUCHED)
    assert run_admission.why_cancel(CANCEL, NOTHING, NEWER, UNTOUCHED) == "superseded by 2222222"
    assert run_admission.waiting_reason(CANCEL, NOTHING, NEWER, UNTOUCHED) == (
        "run r1 is being cancelled for it"
    )


@pytest.mark.parametrize(
    ("rule", "status", "request_", "run"),
    [
        pytest.param(QUEUE, NOTHING, NEWER, UNTOUCHED, id="the setting says wait"),
        pytest.param(
            CANCEL,
            NOTHING,
            replace(NEWER, trigger=triggers.Kind.COMMAND),
            UNTOUCHED,
            id="a person asked for it",
        ),
        pytest.param(
            CANCEL, NOTHING, replace(NEWER, commit=UNTOUCHED.commit), UNTOUCHED, id="same commit"
        ),
        pytest.param(
            CANCEL,
            NOTHING,
            NEWER,
            machine.advance(UNTOUCHED, events.Cancel(AT, "ana", reason="no")).run,
            id="it is ending already",
        ),
        pytest.param(
            CANCEL, replace(NOTHING, pause=PAUSE), NEWER, UNTOUCHED, id="the application is paused"
        ),
        pytest.param(
            CANCEL, NOTHING, NEWER, replace(UNTOUCHED, pause=PAUSE), id="the run is paused"
        ),
        pytest.param(
            CANCEL, replace(NOTHING, held="suspended"), NEWER, UNTOUCHED, id="held in Git"
        ),
        pytest.param(CANCEL, NOTHING, NEWER, TOUCHED, id="users are served by it"),
    ],
)
def test_else_the_newer_one_waits_for_its_end(
    rule: server_settings.Supersede,
    status: application_statuses.ApplicationStatus,
    request_: run_requests.RunRequest,
    run: state.Run,
) -> None:
    assert not run_admission.cancels_run(rule, status, request_, run)
    assert run_admission.why_cancel(rule, status, request_, run) == ""
    assert run_admission.waiting_reason(rule, status, request_, run) == "run r1 has to end first"


@pytest.mark.parametrize("rule", [CANCEL, QUEUE])
def test_a_commit_that_reverts_the_run_rolls_it_back_whatever_the_setting(
    rule: server_settings.Supersede,
) -> None:
    revert = replace(NEWER, reverts="r1")

    assert run_admission.why_cancel(rule, NOTHING, revert, TOUCHED) == "2222222 takes it back"
    assert run_admission.waiting_reason(rule, NOTHING, revert, TOUCHED) == (
        "it takes run r1 back, which is being rolled back"
    )


@pytest.mark.parametrize(
    "run", [BACK, replace(TOUCHED, status=RunStatus.SUCCEEDED)], ids=["goes back", "is over"]
)
def test_a_run_that_goes_back_or_is_over_is_not_rolled_back_once_more(run: state.Run) -> None:
    assert run_admission.why_cancel(CANCEL, NOTHING, replace(NEWER, reverts="r1"), run) == ""
