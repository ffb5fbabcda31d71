"""A repair brings clusters the commit that they are on, and changes nothing else that is known."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from volary.controller.runs import repairs, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    drift_states,
    run_requests,
)
from volary.manifests import redaction
from volary.model import errors
from volary.store import records

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
REQUEST = run_requests.RunRequest(
    "r1", "c1", run_requests.KindName.REPAIR, "drift", NOON, targets=("us", "eu")
)
RELEASES = cluster_releases.ClusterReleases(
    "c1", {"us": cluster_releases.ClusterRelease("c1")}, "c1"
)
STATUS = application_statuses.ApplicationStatus(releases=RELEASES, repair=REQUEST)


def state(status: application_statuses.ApplicationStatus) -> application_state.ApplicationState:
    return application_state.ApplicationState(records.ApplicationRecord("shop"), status)


async def test_no_cluster_is_brought_back_to_a_commit_that_it_has_left() -> None:
    """A release came between the comparison and the repair."""
    moved = RELEASES.with_changed({"us": cluster_releases.ClusterRelease("c2")})
    planning = run_kinds.Planning(
        state(replace(STATUS, releases=moved)),
        REQUEST,
        cast("Any", None),  # not even looked at
        cast("Any", None),
        redaction.Masker(),
    )

    with pytest.raises(errors.UserError, match="us got another commit meanwhile"):
        await repairs.Repair().prepare(planning)


@pytest.mark.parametrize("is_delayed", [False, True])
def test_one_that_cannot_begin_is_given_up_with_the_reason(is_delayed: bool) -> None:
    requested = run_kinds.RequestedRun(state(STATUS), REQUEST)
    kind = repairs.Repair()
    change = (
        kind.delayed(requested, "us is silent", "in 5 s")
        if is_delayed
        else kind.refused(requested, "us is silent")
    )

    assert change.status == replace(
        STATUS, repair=None, drift=drift_states.DriftState(unrepaired="us is silent")
    )
    assert change.columns == {}


def test_it_comes_after_all_else() -> None:
    release = replace(REQUEST, id="r2", kind=run_requests.KindName.RELEASE)

    assert STATUS.next_request == REQUEST
    assert replace(STATUS, run_request=release).next_request == release
    assert replace(STATUS, backfill=release).next_request == release
    assert not REQUEST.kind.is_release
