"""The controller's key: made once in the data directory, or the file that is named."""

from pathlib import Path

import pytest

from volary.agents.orders import keys
from volary.controller.agents import signing_key
from volary.model import errors


def test_it_is_made_once_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    first = signing_key.SigningKeyFile("", str(tmp_path)).public()
    again = signing_key.SigningKeyFile("", str(tmp_path)).public()
    [file] = tmp_path.iterdir()

    assert first == again
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_named_is_not_made(tmp_path: Path) -> None:
    named = signing_key.SigningKeyFile(str(tmp_path / "key.pem"), str(tmp_path))

    with pytest.raises(errors.UserError, match="cannot be used: no such file"):
        named.read()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"words", 0o600, "no private key"),
        (keys.generate_opening(), 0o600, "no private key of Ed25519"),
        (keys.generate(), 0o644, "can be read by others"),
    ],
)
def test_a_file_that_is_not_as_it_has_to_be_is_refused(
    tmp_path: Path, content: bytes, mode: int, why: str
) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(content)
    file.chmod(mode)

    with pytest.raises(errors.UserError, match=why):
        signing_key.SigningKeyFile(str(file), str(tmp_path)).read()
