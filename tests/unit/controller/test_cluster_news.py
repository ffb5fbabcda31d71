"""A lost cluster is told of once, and its return; nothing else."""

import itertools
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from fixed_clock import FixedClock
from volary.controller import cluster_news
from volary.model import attendance, controller
from volary.notifying import messages, notices, notifier

State = attendance.ClusterState


@dataclass
class Told(notifier.Notifier):
    """Remembers what is announced instead of sending it."""

    announced: list[notices.Notice] = field(default_factory=list)

    def announce(
        self, event: notices.Event, subject: notices.Subject, at: datetime, reason: str = ""
    ) -> None:
        self.announced.append(notices.Notice(event, at, subject, notices.Progress(), reason))


@pytest.mark.parametrize(
    ("states", "events"),
    [
        ([State.UNKNOWN, State.READY, State.SUSPENDED, State.UNKNOWN, State.READY], []),
        (
            [State.READY, State.UNREACHABLE, State.NOT_READY, State.READY],
            ["CLUSTER_LOST", "CLUSTER_READY"],
        ),
        ([State.UNKNOWN, State.UNREACHABLE], ["CLUSTER_LOST"]),
    ],
)
def test_what_is_worth_telling(states: list[State], events: list[str]) -> None:
    told = Told()
    seen = [attendance.Attendance("eu", each, reason="why") for each in states]
    for before, after in itertools.pairwise(seen):
        cluster_news.tell(told, FixedClock(), before, after)

    assert [each.event.value for each in told.announced] == events
    for each in told.announced:
        assert messages.title(each).startswith("eu: the cluster is ")
        assert messages.webhook(each)["cluster"] == "eu"
        assert messages.slack(each, controller.Slack())["text"] == messages.title(each)
