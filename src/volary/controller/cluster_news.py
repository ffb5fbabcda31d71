"""Tells people when a cluster is lost, and when it is back."""

from volary.model import attendance
from volary.model import clock as clocks
from volary.notifying import notices, notifier

_State = attendance.ClusterState
_BAD = (_State.NOT_READY, _State.UNREACHABLE)


def tell(
    to: notifier.Notifier,
    clock: clocks.Clock,
    before: attendance.Attendance,
    after: attendance.Attendance,
) -> None:
    """Tell of a change of a cluster's state, if it is worth telling.

    That a cluster is seen for the first time is not; nor is how a lost one fails.
    """
    name, lost = after.cluster, before.state in _BAD
    if after.state in _BAD and not lost:
        event, reason = notices.Event.CLUSTER_LOST, after.reason
    elif after.state is _State.READY and lost:
        since = f" since {before.since:%Y-%m-%d %H:%M:%S}" if before.since else ""
        event, reason = notices.Event.CLUSTER_READY, f"it was {before.state.value}{since}"
    else:
        return
    subject = notices.Subject("", targets=(name,))
    to.announce(event, subject, clock.now(), f"{name} is {after.state.value}: {reason}")
