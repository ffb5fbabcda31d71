"""The identity of a worker, while somebody puts another one in its place."""

from dataclasses import replace
from pathlib import Path

import pytest

from volary import secret_files
from volary.agents import hellos
from volary.agents.orders import keys
from volary.agents.tasks import worker_identities
from volary.model import errors

SIGNED_BY = keys.public(keys.read(keys.generate()))


def identity(token: str) -> worker_identities.WorkerIdentity:
    told = hellos.Temporal("127.0.0.1:7233", "volary", "volary-cluster-", 30)
    opening = keys.generate_opening().decode()
    return worker_identities.WorkerIdentity(
        "hands", ("us",), ("https://volary",), told, SIGNED_BY, token, opening
    )


def put(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def public(known: worker_identities.WorkerIdentity) -> str:
    return keys.public(keys.read_opening(known.opening_key.encode()))


def test_what_is_put_in_its_place_is_shown_and_both_keys_open(tmp_path: Path) -> None:
    path, learnt = tmp_path / "worker.json", list[str]()
    first, second, third = map(identity, ("first", "second", "third"))
    put(path, worker_identities.write(first))
    file = worker_identities.IdentityFile(str(path), learnt.append)
    for newer in (second, third):
        put(path, worker_identities.write(newer))
        assert file.current == newer

    assert learnt == ["first", "second", "third"]
    assert [keys.public(key) for key in file.opened_with()] == [public(third), public(second)]


def test_one_that_comes_after_what_could_not_be_read_counts(tmp_path: Path) -> None:
    path, second = tmp_path / "worker.json", identity("second")
    put(path, worker_identities.write(identity("first")))
    file = worker_identities.IdentityFile(str(path), lambda _: None)
    put(path, "{")
    assert file.current.token == "first"

    beside = tmp_path / "new"
    put(beside, worker_identities.write(second))
    beside.rename(path)

    assert file.current == second


def test_it_is_read_again_only_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "worker.json"
    put(path, worker_identities.write(identity("first")))
    file, read = worker_identities.IdentityFile(str(path), lambda _: None), list[str]()
    real = secret_files.read_text
    monkeypatch.setattr(secret_files, "read_text", lambda name: (read.append(name), real(name))[1])

    for _ in range(3):
        assert file.current.token == "first"
    assert read == []
    put(path, worker_identities.write(identity("second")))
    for _ in range(3):
        assert file.current.token == "second"
    assert read == [str(path)]


@pytest.mark.parametrize("text", ["", "{", "{}", None])
def test_while_it_cannot_be_read_the_one_before_goes_on(tmp_path: Path, text: str | None) -> None:
    path, first = tmp_path / "worker.json", identity("first")
    put(path, worker_identities.write(first))
    file = worker_identities.IdentityFile(str(path), lambda _: None)
    if text is None:
        path.unlink()
    else:
        put(path, text)

    assert file.current == first
    assert [keys.public(key) for key in file.opened_with()] == [public(first)]


def test_one_that_cannot_be_read_at_first_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    put(path, worker_identities.write(replace(identity("x"), signing_key="none")))
    with pytest.raises(errors.UserError, match="no identity of a worker"):
        worker_identities.IdentityFile(str(path), lambda _: None)
