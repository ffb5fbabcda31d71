"""What the server makes of its settings before anything is opened."""

from pathlib import Path

from volary.model import controller
from volary.server import hosting


def test_addresses_of_chats_are_secrets(tmp_path: Path) -> None:
    """Whoever knows the address of an incoming webhook may write to the channel."""
    for name in ("slack", "teams"):
        (tmp_path / name).write_text(f"https://{name}.example.org/hook/1234\n")
    receivers = (
        controller.Receiver("a", slack=controller.Slack(str(tmp_path / "slack"))),
        controller.Receiver(
            "b", chat=controller.Chat(controller.ChatKind.TEAMS, str(tmp_path / "teams"))
        ),
    )
    settings = controller.Settings(
        "fleet.yaml", ".", "", notifications=controller.Notifications(receivers=receivers)
    )

    assert hosting.secrets_of(settings) == (
        "https://slack.example.org/hook/1234",
        "https://teams.example.org/hook/1234",
    )
