"""What can be asked for, before a server is."""

from pathlib import Path
from typing import Any

import pytest

import server_world
from volary.cli import forms
from volary.cli.remote import client, login, queries
from volary.model import errors
from volary.store import records


@pytest.mark.parametrize(
    ("noun", "status", "hint"),
    [
        ("clusters", "notready", "did you mean notReady?"),
        ("apps", "sync", "did you mean synced?"),
        ("runs", "rolledback", "did you mean rolled_back?"),
    ],
)
async def test_a_status_that_nothing_can_have_is_refused(
    noun: forms.Noun, status: str, hint: str
) -> None:
    """An empty list would say that nothing is like that."""
    async with client.Client.open(login.Target("http://127.0.0.1:9", "")) as nobody:
        with pytest.raises(errors.UserError, match=f"{status} is no status of {noun}") as refused:
            await queries.get(nobody, noun, forms.Form.TEXT, status=status)

    assert refused.value.problems[0].hint == hint


@pytest.mark.parametrize(
    ("sought", "names"),
    [
        ({}, ["web"]),
        ({"with_removed": True}, ["pay", "web"]),
        ({"status": "removed"}, ["pay"]),
    ],
)
async def test_applications_whose_file_went_away_are_listed_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sought: dict[str, Any], names: list[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        gone = records.ApplicationRecord(
            "pay", "shop", "pay/volary.yaml", status="removed", removed=world.clock.now()
        )
        await world.service.store.applications.keep(gone, fence=None)
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")
        target = login.Target(world.url, token)

        async with client.Client.open(target) as server:
            await queries.get(server, "apps", forms.Form.TEXT, **sought)

    listed = capsys.readouterr().out.splitlines()[1:]
    assert [each.split()[0] for each in listed] == names
