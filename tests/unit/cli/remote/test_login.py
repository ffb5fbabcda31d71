from pathlib import Path

import pytest

from volary.cli.remote import login
from volary.model import errors


def _home(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), **more}


def test_what_is_kept_is_private_and_found_again(tmp_path: Path) -> None:
    file = login.path(_home(tmp_path))
    login.write(file, login.Target("https://one.example", "secret"))

    assert file.stat().st_mode & 0o777 == 0o600
    assert login.find("", _home(tmp_path)) == login.Target("https://one.example", "secret")


def test_the_token_of_one_server_is_not_sent_to_another(tmp_path: Path) -> None:
    login.write(login.path(_home(tmp_path)), login.Target("https://one.example", "secret"))

    assert login.find("https://two.example/", _home(tmp_path)).token == ""


def test_the_environment_comes_before_the_file_and_the_option_before_both(tmp_path: Path) -> None:
    login.write(login.path(_home(tmp_path)), login.Target("https://one.example", "secret"))
    home = _home(tmp_path, VOLARY_SERVER="https://two.example", VOLARY_TOKEN="other")

    assert login.find("", home) == login.Target("https://two.example", "other")
    assert login.find("https://three.example", home).server == "https://three.example"


@pytest.mark.parametrize(
    ("server", "token", "said"),
    [
        ("", "", "no server is named"),
        ("example.org", "", "address is not a URL"),
        ("ftp://example.org", "", "address is not a URL"),
        ("https://ana:pass@example.org", "", "address is not a URL"),
        ("http://[", "", "address is not a URL"),
        ("http://example.org", "t", "without encryption"),
    ],
)
def test_servers_that_cannot_be_meant(tmp_path: Path, server: str, token: str, said: str) -> None:
    with pytest.raises(errors.UserError, match=said):
        login.find(server, _home(tmp_path, VOLARY_TOKEN=token))


def test_a_login_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    file = login.path(_home(tmp_path))
    login.write(file, login.Target("https://one.example", "secret"))
    file.chmod(0o644)

    with pytest.raises(errors.UserError, match="can be read by others"):
        login.find("", _home(tmp_path))


def test_a_token_does_not_show_when_a_target_is_printed() -> None:
    assert "secret" not in repr(login.Target("https://one.example", "secret"))
