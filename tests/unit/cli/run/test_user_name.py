"""Who gave a command is known without `$USER` too."""

import os
import pwd

from volary.cli.run import approvals


def test_the_environment_says_who() -> None:
    assert approvals.user_name({"USER": "ana", "LOGNAME": "ben"}) == "ana"
    assert approvals.user_name({"USER": "", "LOGNAME": "ben"}) == "ben"


def test_without_a_variable_the_system_is_asked() -> None:
    number = os.getuid()
    known = {each.pw_uid: each.pw_name for each in reversed(pwd.getpwall())}
    assert approvals.user_name({}) == known.get(number, str(number))
    assert approvals.user_name({}, user=0) == known[0]


def test_a_user_without_a_name_is_a_number() -> None:
    assert approvals.user_name({}, user=3_999_999_999) == "3999999999"
