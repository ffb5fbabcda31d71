"""A lost cluster is told of once, and its return; nothing else."""

import itertools
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from fixed_clock import FixedClock
from volary.controller import notifications
from volary.model import server_settings
from volary.model.fleet import cluster_health
from volary.notifying import messages, notices, notifier

State = cluster_health.ClusterState


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
    seen = [cluster_health.ClusterHealth("eu", each, reason="why") for each in states]
    for before, after in itertools.pairwise(seen):
        notifications.cluster_changed(told, FixedClock(), before, after)

    assert [each.event.value for each in told.announced] == events
    for each in told.announced:
        assert messages.title(each).startswith("eu: the cluster is ")
        assert messages.webhook(each)["cluster"] == "eu"
        assert messages.slack(each, server_settings.Slack())["text"] == messages.title(each)
