"""What a new run request changes about its application and its commits."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.controller.status import application_state, application_statuses, run_requests
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)
OLD = run_requests.RunRequest("r1", "a" * 40, run_requests.KindName.RELEASE, "pushed", AT)
NEW = replace(OLD, id="r2", commit="b" * 40)
RECORD = records.ApplicationRecord("shop", status="running", reason="as it was")
Change = application_state.CommitChange


def requested(
    before: run_requests.RunRequest | None, *, waiting: str = "", is_busy: bool = False
) -> application_state.StateChange:
    status = application_statuses.ApplicationStatus(run_request=before)
    state = application_state.ApplicationState(RECORD, status)
    after = replace(status, run_request=NEW, waiting_reason=waiting)
    return application_state.requested(state, after, NEW, is_busy=is_busy)


def test_a_request_waits_and_its_commit_is_queued() -> None:
    change = requested(None)

    assert change.status.run_request == NEW
    assert change.columns == {"status": "waiting", "reason": "pushed"}
    assert change.commits == (Change("b" * 40, "queued", "pushed", NEW),)
    assert change.settled is None


def test_how_a_busy_application_stands_stays_said() -> None:
    change = requested(None, waiting="run r0 has to end first", is_busy=True)

    assert change.columns == {}
    assert change.commits == (Change("b" * 40, "queued", "run r0 has to end first", NEW),)


@pytest.mark.parametrize(("commit", "superseded"), [("a" * 40, True), ("b" * 40, False)])
def test_a_request_that_has_not_begun_is_superseded_by_one_of_another_commit(
    commit: str, superseded: bool
) -> None:
    old, reason = replace(OLD, commit=commit), "superseded by bbbbbbb before it began"

    change = requested(old)

    queued, said = (
        Change("b" * 40, "queued", "pushed", NEW),
        Change(commit, "superseded", reason, old),
    )
    assert change.commits == ((queued, said) if superseded else (queued,))
    assert (change.settled, change.settled_reason) == ((old, reason) if superseded else (None, ""))
