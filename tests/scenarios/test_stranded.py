"""An error that nobody expects ends neither the controller nor what others ask of it."""

from pathlib import Path

import pytest

import command_world
from controller_world import ANA, SPEED, controlled
from volary.controller import refusals
from volary.controller.api.commands import command_handler

V1, V2 = "example/simple:v1", "example/simple:v2"


async def test_a_request_that_meets_a_bug_is_refused_and_ends_no_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> str:
        raise AttributeError("a bug")

    monkeypatch.setattr(command_handler, "pause_application", broken)
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        store = f"sqlite:{tmp_path / 'volary.db'}"
        async with controlled(world, store=store) as given:
            await given.until_application(lambda known: known.status == "synced")
            with pytest.raises(refusals.Conflict, match=r"^internal error \(AttributeError\)"):
                await given.service.ask_application("pause", "simple", ANA, reason="a rest")

        async with controlled(world, store=store) as given:
            await given.synced(given.push(V1, V2))
