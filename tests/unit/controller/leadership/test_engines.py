"""Which engine the settings ask for, and what they need for it."""

import importlib.util
from datetime import timedelta

import pytest

from volary.agents.orders import keys
from volary.controller.agents import run_orders
from volary.controller.leadership import engines
from volary.model import errors, server_settings

SILENCE = timedelta(seconds=30)
ASKED = server_settings.Engine(server_settings.Temporal("127.0.0.1:1"))
APART = run_orders.ApartTasks(lambda: keys.read(keys.generate()))
SILENCE = timedelta(seconds=30)


async def test_without_settings_runs_are_carried_out_here() -> None:
    engines.check(server_settings.Engine())

    async with engines.opened(server_settings.Engine(), APART, SILENCE) as engine:
        assert isinstance(engine, engines.LocalEngine)


def test_an_engine_that_is_not_installed_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(errors.UserError, match=r"temporalio is not installed[\s\S]*hint: install"):
        engines.check(ASKED)


async def test_a_file_of_the_connection_that_cannot_be_read_is_named() -> None:
    pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
    tls = server_settings.TemporalTls(ca_file="/nowhere/ca.pem")
    engine = server_settings.Engine(server_settings.Temporal("t.example:7233", tls=tls))

    with pytest.raises(errors.UserError, match=r"/nowhere/ca\.pem"):
        async with engines.opened(engine, APART, SILENCE):
            pass


async def test_a_service_that_does_not_answer_may_answer_later() -> None:
    pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

    with pytest.raises(errors.TemporaryError, match=r"does not answer at 127\.0\.0\.1:1"):
        async with engines.opened(ASKED, APART, SILENCE):
            pass
