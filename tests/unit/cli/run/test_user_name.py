"""Who gave a command is known without `$USER` too."""

import os
import pwd

import pytest

from volary.cli.run import approvals


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", ["USER", "LOGNAME"])
def test_the_environment_says_who(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "ana")
    assert approvals.user_name() == "ana"


def test_without_a_variable_the_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {each.pw_uid: each.pw_name for each in reversed(pwd.getpwall())}
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert approvals.user_name() == known[0]


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)
    assert approvals.user_name() == "3999999999"
