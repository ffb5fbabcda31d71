"""What the server makes of its settings before anything is opened."""

from pathlib import Path

import pytest

from volary.controller import inputs
from volary.model import errors, server_settings
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


@pytest.mark.parametrize("place", ["checkout", "volary-data/mirrors/shop.git", "absent"])
async def test_a_server_does_not_begin_with_keys_where_they_cannot_stay(
    place: str, tmp_path: Path
) -> None:
    file = tmp_path / place / "age.txt"
    if place != "absent":
        file.parent.mkdir(parents=True)
        file.write_text("AGE-SECRET-KEY-1CANARY\n")
    (tmp_path / "fleet.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us, kubeconfig: k}]\n"
    )
    settings = server_settings.Settings(
        str(tmp_path / "fleet.yaml"),
        str(tmp_path / "volary-data"),
        "memory:",
        repositories=(server_settings.Repository("shop", f"file://{tmp_path}/checkout"),),
        secrets=server_settings.Secrets(server_settings.Sops(age_key_file=str(file))),
    )

    with pytest.raises(errors.UserError) as raised:
        await hosting.run(settings, clock=inputs.SystemClock())

    said = "does not exist" if place == "absent" else "is in the repository"
    assert f"the key {file} {said}" in str(raised.value)
    assert "CANARY" not in str(raised.value)
