"""In whose name a run is started and approved: `--approve-as`, and the user of this process."""

import getpass
import os
from collections.abc import Sequence

from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import deadlines, events, sightings
from volary.model import clocks, errors, identities
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages


def check(stages: Sequence[pipelines.Stage], approver: str) -> None:
    """Refuse a pipeline that would wait for people who cannot be asked here.

    Raises:
        errors.UserError: A stage needs more, or other, approvers than `approver`.
    """
    problems = [
        errors.Problem(_needs(stage.options, approver), hint=_HINT)
        for stage in stages
        if isinstance(stage.options, waiting_stages.ApprovalOptions)
        and _needs(stage.options, approver)
    ]
    if problems:
        raise errors.UserError(*dict.fromkeys(problems))


_HINT = (
    "pass --approve-as NAME to approve in your own name, or let `volary server` carry it out,"
    " where people approve from anywhere"
)


def _needs(options: waiting_stages.ApprovalOptions, approver: str) -> str:
    names = ", ".join(options.approvers)
    if not approver:
        return f"the pipeline waits for the approval of {options.count} of {names}"
    if not identities.is_among(approver, options.approvers):
        return f"{approver} is not one of the approvers: {names}"
    if options.count > 1:
        return f"{options.count} of {names} have to approve, and here is only one"
    return ""


class Approver:
    """Approves whatever the run waits for, once each, as an observer of its events."""

    def __init__(self, name: str, clock: clocks.Clock) -> None:
        self._name = name
        self._clock = clock
        self._runner: runners.AnyRunner | None = None
        #: What was approved last.
        self._seen: state.Sighting | None = None

    def follow(self, runner: runners.AnyRunner) -> None:
        """Answer a run that is about to begin, or to go on where it waits already."""
        self._runner = runner
        self._approve()

    def notify(self, event: feed.RunEvent) -> None:
        """Answer a stage that waits, anew when the run has changed before it was heard."""
        if isinstance(event, feed.StageWaiting | feed.RunChanged | feed.RequestRefused):
            self._approve()

    def _approve(self) -> None:
        if self._runner is None or not self._name:
            return
        run = self._runner.run
        seen = sightings.of_run(run)
        if deadlines.waiting_group(run) is None or seen == self._seen:
            return
        self._seen = seen
        now = self._clock.now()
        self._runner.submit(events.Approve(now, self._name, "--approve-as", seen=seen))


def user_name() -> str:
    """Return the user's name: of the environment, else as the system knows it, else the number.

    A cron job, a container and many a CI runner set no ``USER``, and a container's user
    often has no name at all.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the first before Python 3.13
        return str(os.getuid())
