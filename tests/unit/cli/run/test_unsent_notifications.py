"""`volary run` says whom it does not tell."""

from volary.cli.run import local_run
from volary.model import applications


def test_receivers_of_alerts_are_named_once() -> None:
    app = applications.Application(
        "shop",
        alerts=(
            applications.Alert("a", "on-call"),
            applications.Alert("b", "team"),
            applications.Alert("c", "team"),
        ),
    )

    [found] = local_run.unsent_notifications(app)

    assert found.message == (
        "on-call, team is not notified of this run: only `volary server` sends notifications"
    )
    assert local_run.unsent_notifications(applications.Application("shop")) == []
