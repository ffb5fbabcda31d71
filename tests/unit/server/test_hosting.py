"""What the server makes of its settings before anything is opened."""

import asyncio
from pathlib import Path

import pytest

import process_time
from volary.model import server_settings
from volary.server import hosting


def test_addresses_of_chats_are_secrets(tmp_path: Path) -> None:
    """Whoever knows the address of an incoming webhook may write to the channel."""
    for name in ("slack", "teams"):
        (tmp_path / name).write_text(f"https://{name}.example.org/hook/1234\n")
    receivers = (
        server_settings.Receiver("a", slack=server_settings.Slack(str(tmp_path / "slack"))),
        server_settings.Receiver("b", msteams=server_settings.Chat(str(tmp_path / "teams"))),
    )
    settings = server_settings.Settings(
        "fleet.yaml", ".", "", notifications=server_settings.Notifications(receivers=receivers)
    )

    assert hosting.secrets_of(settings) == (
        "https://slack.example.org/hook/1234",
        "https://teams.example.org/hook/1234",
    )


async def test_a_data_directory_that_is_opened_is_closed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        keeping = group.create_task(hosting.keep_private(data, interval=0.01))
        data.chmod(0o755)
        while data.stat().st_mode & 0o077:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        keeping.cancel()

    assert data.stat().st_mode & 0o777 == 0o700
    assert "could be entered by others; it is closed again" in caplog.text
