"""Approvals in a run that somebody watches: given beforehand, in that person's name."""

from collections.abc import Sequence

from volary.engine import events, feed, local
from volary.model import clock as clocks
from volary.model import errors, problem, stage


def check(stages: Sequence[stage.Stage], approver: str) -> None:
    """Refuse a pipeline that would wait for people who cannot be asked here.

    Raises:
        errors.UserError: A stage needs more, or other, approvers than `approver`.
    """
    found = [
        problem.Problem(_needs(each.options, approver), hint=_HINT)
        for each in stages
        if isinstance(each.options, stage.ApprovalOptions) and _needs(each.options, approver)
    ]
    if found:
        raise errors.UserError(*dict.fromkeys(found))


_HINT = (
    "pass --approve-as NAME to approve in your own name, or let `volary server` carry it out,"
    " where people approve from anywhere"
)


def _needs(options: stage.ApprovalOptions, approver: str) -> str:
    names = ", ".join(options.approvers)
    if not approver:
        return f"the pipeline waits for the approval of {options.count} of {names}"
    if approver not in options.approvers:
        return f"{approver} is not one of the approvers: {names}"
    if options.count > 1:
        return f"{options.count} of {names} have to approve, and here is only one"
    return ""


class Approver:
    """Approves whatever the run waits for, as an observer of its events."""

    def __init__(self, name: str, clock: clocks.Clock) -> None:
        self._name = name
        self._clock = clock
        #: Set once the run is about to begin.
        self.runner: local.Runner | None = None

    def notify(self, event: feed.RunEvent) -> None:
        """Answer a stage that waits."""
        if isinstance(event, feed.StageWaiting) and self.runner is not None and self._name:
            approval = events.Approve(self._clock.now(), self._name, "--approve-as")
            self.runner.submit(approval)
