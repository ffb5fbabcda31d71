"""A secret is one line of a file, read in one way wherever a file is named for it."""

from pathlib import Path

import pytest

from volary import secret_files
from volary.model import errors


def test_white_space_around_a_secret_is_no_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" s3cret word\n\n")

    assert secret_files.read(str(file)) == "s3cret word"


def test_a_path_may_begin_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "token").write_text("abc")

    assert secret_files.read("~/token") == "abc"


def test_the_largest_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("x" * 64 * 1024)

    assert secret_files.read(str(file)) == "x" * 64 * 1024


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: no such file or directory"),
        (b"", "holds no secret: it is empty or too large"),
        (b" \n", "holds no secret: it is empty or too large"),
        (b"s3cret" * 11_000, "holds no secret: it is empty or too large"),
        (b"s3cret\xff", "is not text"),
        (b"s3cret\nX-Other: second", "holds no secret: a secret is one line of text"),
    ],
)
def test_what_is_no_secret_is_refused_without_repeating_it(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(errors.UserError) as caught:
        secret_files.read(str(file))

    assert str(caught.value) == f"{file} {said}"


def test_a_key_has_several_lines(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("-----BEGIN\nabc\n-----END\n")

    assert secret_files.read_text(str(file)) == "-----BEGIN\nabc\n-----END"


def test_a_directory_of_ours_is_for_its_owner_only(tmp_path: Path) -> None:
    fresh, there = tmp_path / "a/b/data", tmp_path / "there"
    there.mkdir(mode=0o755)

    assert [secret_files.make_private_directory(path) for path in (fresh, there, there)] == [
        *(False, True),
        False,
    ]
    assert [path.stat().st_mode & 0o777 for path in (fresh, there)] == [0o700, 0o700]


def test_a_directory_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.UserError, match="cannot be made for its owner only"):
        secret_files.make_private_directory(tmp_path / "file")
    with pytest.raises(errors.UserError, match="cannot be made for its owner only"):
        secret_files.make_private_directory(tmp_path / "file/data")
