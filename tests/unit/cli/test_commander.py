"""Who gave a command is known without `$USER` too."""

import os
import pwd

from volary.cli import commander


def test_the_environment_says_who() -> None:
    assert commander.name({"USER": "ana", "LOGNAME": "ben"}) == "ana"
    assert commander.name({"USER": "", "LOGNAME": "ben"}) == "ben"


def test_without_a_variable_the_system_is_asked() -> None:
    number = os.getuid()
    known = {each.pw_uid: each.pw_name for each in reversed(pwd.getpwall())}
    assert commander.name({}) == known.get(number, str(number))
    assert commander.name({}, user=0) == known[0]


def test_a_user_without_a_name_is_a_number() -> None:
    assert commander.name({}, user=3_999_999_999) == "3999999999"
