"""`volary run` says whom it does not tell."""

from volary.cli import running
from volary.model import application


def test_receivers_of_alerts_are_named_once() -> None:
    app = application.Application(
        "shop",
        alerts=(
            application.Alert("a", "on-call"),
            application.Alert("b", "team"),
            application.Alert("c", "team"),
        ),
    )

    [found] = running.untold(app)

    assert found.message == (
        "on-call, team will hear nothing of this run: notifications are sent by `volary server`"
    )
    assert running.untold(application.Application("shop")) == []
