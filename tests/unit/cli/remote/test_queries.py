"""What can be asked for, before a server is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import server_world
from volary.cli import forms
from volary.cli.remote import client, login, queries, run_status
from volary.controller.status import application_statuses, run_requests
from volary.engine.runs import state
from volary.model import errors
from volary.model.fleet import fleets
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


async def test_what_waits_behind_a_run_says_what_that_waits_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That a run has to end first hid why it does not."""
    async with server_world.served(tmp_path) as world:
        await world.keep_run("run-new", "web", ended=False)
        store = world.service.store
        requested = run_requests.RunRequest(
            "r2", "c" * 40, run_requests.KindName.RELEASE, "a commit", world.clock.now()
        )
        status = application_statuses.ApplicationStatus(
            run="run-new",
            under_way=True,
            run_request=requested,
            waiting_reason="run run-new has to end first",
        )
        known = await store.applications.get("web")
        assert known is not None
        document = application_statuses.to_document(status)
        await store.applications.keep(replace(known, document=document), fence=None)
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")

        async with client.Client.open(login.Target(world.url, token)) as server:
            run = await server.get("runs", "run-new")
            await queries.describe(server, "web", forms.Form.TEXT)
            described = capsys.readouterr().out
            await run_status.show(server, "web", wait=False, form=forms.Form.TEXT)
            shown = capsys.readouterr().err
            await queries.explain(server, "web", forms.Form.TEXT)
            explained = capsys.readouterr().out

    assert described.endswith(
        "waiting:       a commit: run run-new has to end first\n"
        f"cause:         {run['waitingReason']}\n"
        "type:          volary explain web\n"
    )
    cause = f"{run['waitingReason']}; type volary explain run-new"
    assert shown.splitlines() == [
        f"ccccccc waits: run run-new has to end first: {cause}",
        *(f"type {command}" for command in run["nextCommands"]),
    ]
    assert explained.startswith("waiting:       ccccccc: a commit\nwaits:         run run-new has")
    assert f"type:          {run['nextCommands'][0]}" in explained


@pytest.mark.parametrize(
    ("reason", "paused", "typed"),
    [
        ("cluster eu did not answer within 15 s", False, "volary cluster cordon eu --reason TEXT"),
        ("the application is paused by ana", True, "volary resume web --application"),
    ],
)
async def test_what_is_not_a_run_yet_says_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str, paused: bool, typed: str
) -> None:
    """Not that the run before succeeded."""
    async with server_world.served(tmp_path) as world:
        store, now = world.service.store, world.clock.now()
        requested = run_requests.RunRequest(
            "r2", "c" * 40, run_requests.KindName.RELEASE, "a commit", now
        )
        status = application_statuses.ApplicationStatus(
            run_request=requested,
            waiting_reason=reason,
            pause=state.Pause("ana", now) if paused else None,
        )
        known = await store.applications.get("web")
        assert known is not None
        document = application_statuses.to_document(status)
        await store.applications.keep(replace(known, document=document), fence=None)
        members = tuple(fleets.Cluster(name) for name in ("eu", "us"))
        world.service.fleet.register.members = fleets.Fleet(members)
        token = world.token("viewer")["authorization"].removeprefix("Bearer ")

        async with client.Client.open(login.Target(world.url, token)) as server:
            await queries.explain(server, "web", forms.Form.TEXT)

    assert capsys.readouterr().out.splitlines() == [
        "waiting:       ccccccc: a commit",
        f"waits:         {reason}",
        f"type:          {typed}",
    ]
