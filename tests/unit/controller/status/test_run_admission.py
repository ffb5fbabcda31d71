"""A pause pins everything of an application but a rollback."""

from dataclasses import replace
from datetime import UTC, datetime

from volary.controller.status import application_statuses, run_admission, run_requests
from volary.engine.runs import run_builder, state
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAUSE = state.Pause("ana", NOW, "on television")
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
RUN = run_builder.new_run(
    "r1", run_builder.RunSpec("shop", "new", run_builder.one_group(("us",)), (SYNC,)), NOW
)


def run_request(kind: run_requests.KindName) -> run_requests.RunRequest:
    return run_requests.RunRequest("w1", "new", kind, "because", NOW)


def test_a_paused_application_or_run_is_pinned_and_says_by_whom() -> None:
    paused = application_statuses.ApplicationStatus(pause=PAUSE)
    assert (
        run_admission.why_blocked(paused, None) == "the application is paused by ana: on television"
    )
    assert run_admission.why_blocked(application_statuses.ApplicationStatus(), None) == ""
    assert run_admission.why_blocked(application_statuses.ApplicationStatus(), RUN) == ""
    run = replace(RUN, pause=PAUSE)
    assert (
        run_admission.why_blocked(application_statuses.ApplicationStatus(), run)
        == "run r1 is paused by ana: on television"
    )
    assert (
        run_admission.why_blocked(
            application_statuses.ApplicationStatus(), replace(run, status=RunStatus.CANCELLED)
        )
        == ""
    )


def test_what_its_file_holds_back_is_pinned_until_it_does_not() -> None:
    held = application_statuses.ApplicationStatus(
        held="policy.yaml:6: PropagationPolicy web is suspended"
    )

    assert run_admission.why_blocked(held, None) == (
        "the application is held back in Git: policy.yaml:6: PropagationPolicy web is suspended"
    )
    assert application_statuses.from_document(application_statuses.to_document(held)) == held


def test_every_kind_of_want_waits_but_the_way_back() -> None:
    for kind in run_requests.KindName:
        paused = application_statuses.ApplicationStatus(run_request=run_request(kind), pause=PAUSE)
        assert bool(run_admission.why_next_blocked(paused)) is (
            kind not in (run_requests.KindName.ROLLBACK, run_requests.KindName.ROLLBACK_TO_COMMIT)
        ), kind
