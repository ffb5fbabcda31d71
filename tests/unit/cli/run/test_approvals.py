import pytest

from volary.cli.run import approvals
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages


def waiting(*approvers: str, count: int = 1) -> list[pipelines.Stage]:
    return [
        pipelines.Stage(
            waiting_stages.WAIT_APPROVAL.name, waiting_stages.ApprovalOptions(approvers, count)
        )
    ]


@pytest.mark.parametrize(
    ("stages", "approver", "message"),
    [
        (waiting("ana", "bo"), "", "waits for the approval of 1 of ana, bo"),
        (waiting("ana"), "eve", "eve is not one of the approvers: ana"),
        (waiting("ana", "bo", count=2), "ana", "here is only one"),
    ],
)
def test_a_run_that_nobody_here_can_approve_does_not_begin(
    stages: list[pipelines.Stage], approver: str, message: str
) -> None:
    with pytest.raises(errors.UserError, match=message):
        approvals.check(stages, approver)


def test_an_approver_may_run_it() -> None:
    approvals.check(waiting("ana", "bo"), "bo")
    approvals.check([], "")
