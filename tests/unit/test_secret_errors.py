"""Whoever needs a secret that cannot be had says so, at once and without repeating any of it."""

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from fixed_clock import FixedClock
from fuzzing.trials import CANARY
from volary import secret_files
from volary.analysis.providers import exchange, secrets
from volary.cli.remote import login
from volary.clusters.kubeconfig import connections, kubeconfigs
from volary.clusters.transport import authenticators
from volary.config.server import settings_files
from volary.model import errors, metric_providers, server_settings
from volary.notifying import senders
from volary.server.authentication import issuers, tokens
from volary.server.routes import operations
from volary.sources.decryption import ciphertexts, keys
from volary.sources.git import git_hosts
from volary.store import factory, records

PARTS = tuple(CANARY[start : start + 8] for start in range(len(CANARY) - 7))
_NO_TIME = records.Limits(busy=timedelta(milliseconds=200))


def _kubeconfig_of(path: Path, user: dict[str, object], server: dict[str, object]) -> str:
    body = {
        "current-context": "us",
        "contexts": [{"name": "us", "context": {"cluster": "us", "user": "me"}}],
        "clusters": [{"name": "us", "cluster": {"server": "https://us", **server}}],
        "users": [{"name": "me", "user": user}],
    }
    return json.dumps(body)


def _client_key(path: Path) -> object:
    user = {"client-key": str(path), "client-certificate-data": "cGVt"}
    read = kubeconfigs.parse(_kubeconfig_of(path, user, {}), file="config")
    return kubeconfigs.resolve(read, "", name="us")


def _authorities(path: Path) -> object:
    server: dict[str, object] = {"certificate-authority": str(path)}
    read = kubeconfigs.parse(_kubeconfig_of(path, {}, server), file="config")
    return kubeconfigs.resolve(read, "", name="us")


def _kubeconfig(path: Path) -> object:
    return kubeconfigs.resolve(kubeconfigs.Reader().read(str(path)), "", name="us")


def _token_of_kubeconfig(path: Path) -> object:
    source = connections.TokenFile(str(path))
    return asyncio.run(authenticators.TokenFileAuthenticator(source, "us", FixedClock()).prove())


def _keys(path: Path, *, age: bool = False) -> keys.Keys:
    settings = server_settings.Secrets(
        server_settings.Sops(age_key_file=str(path) if age else ""),
        server_settings.KeyPair("" if age else str(path)),
    )
    return keys.Keys(settings, {})


def _private_key(path: Path) -> object:
    try:
        return ciphertexts.read_private_key(_keys(path).private_key())
    except ciphertexts.CiphertextError as error:
        raise errors.user_error(str(error)) from None


def _metric_secret(path: Path) -> object:
    return secrets.Secrets(lambda _: None).reveal(metric_providers.Secret(file=str(path)))


def _webhook(path: Path) -> object:
    provider = server_settings.WebhookProvider.GITHUB
    return operations._secret(server_settings.RepositoryWebhook(provider, str(path)))


#: Who reads a secret, by what it is for.
READERS: dict[str, Callable[[Path], object]] = {
    "a secret": lambda path: secret_files.read(str(path)),
    "a key": lambda path: secret_files.read_text(str(path)),
    "the API tokens": lambda path: tokens.TokenFile(path.parent).all(),
    "the login": login.read,
    "the issuer's keys": issuers._from_file,
    "a kubeconfig": _kubeconfig,
    "a client key": _client_key,
    "authorities": _authorities,
    "a token of a kubeconfig": _token_of_kubeconfig,
    "a token for Git": lambda path: git_hosts.login(
        server_settings.Credentials(token_file=str(path))
    ),
    "a password for Git": lambda path: git_hosts.login(
        server_settings.Credentials(username="ana", password_file=str(path))
    ),
    "a receiver of notifications": lambda path: asyncio.run(senders._read(str(path))),
    "a metric provider": _metric_secret,
    "a certificate of a metric provider": lambda path: exchange.tls_context(
        metric_providers.ProviderTls(ca_file=str(path))
    ),
    "the private key of a key pair": _private_key,
    "a webhook": _webhook,
}
#: No file is an empty one for them: there are no tokens, and nobody has logged in.
MAY_BE_MISSING = {"the API tokens", "the login"}


def _missing(path: Path) -> None:
    assert not path.exists()


def _directory(path: Path) -> None:
    path.mkdir(mode=0o700)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _huge(path: Path) -> None:
    path.write_text(CANARY)
    os.truncate(path, 1 << 36)


def _no_text(path: Path) -> None:
    path.write_bytes(CANARY.encode() + b"\xff\xfe\n" + CANARY.encode())


def _empty(path: Path) -> None:
    path.touch()


def _unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.write_text(CANARY)
    path.chmod(0)


STATES = (_missing, _directory, _pipe, _huge, _no_text, _empty, _unreadable)
#: Certificates are bytes, and an error when they are used.
HOLDS_BYTES = {"a client key", "authorities"}


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__[1:])
@pytest.mark.parametrize("reader", READERS)
def test_a_secret_that_cannot_be_had_is_an_error_that_shows_none_of_it(
    reader: str, state: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / tokens.FILE_NAME
    state(path)
    if path.is_file():
        path.chmod(0o600 if state is not _unreadable else 0)
    if (state is _missing and reader in MAY_BE_MISSING) or (
        state in (_no_text, _empty) and reader in HOLDS_BYTES
    ):
        return

    with caplog.at_level(logging.DEBUG), pytest.raises(errors.VolaryError) as caught:
        READERS[reader](path)

    _check_nothing_shows(caught.value, caplog.text)
    assert str(caught.value)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
@pytest.mark.parametrize("reader", ["the API tokens", "the login"])
def test_a_file_of_ours_that_others_may_read_is_not_used(
    reader: str, mode: int, tmp_path: Path
) -> None:
    path = tmp_path / tokens.FILE_NAME
    path.write_text(json.dumps({"token": CANARY}))
    path.chmod(mode)

    with pytest.raises(errors.UserError, match="can be read by others") as caught:
        READERS[reader](path)

    _check_nothing_shows(caught.value, "")
    assert f"chmod 600 {path}" in str(caught.value)


@pytest.mark.parametrize("reader", sorted(set(READERS) - MAY_BE_MISSING))
def test_a_name_that_no_file_can_have_is_an_error(reader: str) -> None:
    with pytest.raises(errors.VolaryError):
        READERS[reader](Path("/nowhere/\0"))


@pytest.mark.parametrize(
    "text",
    [
        "users: [{name: me, user: {password: *" + CANARY + "}}]",
        "users: [{name: me, user: {token: [" + CANARY + "]}}]",
        "users: [{name: me, user: {token: {" + CANARY + ": 1}}}]",
        "users: [{name: me, user: {client-key-data: '" + CANARY + "-', token: x}}]",
        "users: [{name: me, user: {username: a, password: " + CANARY + ", token: " + CANARY + "}}]",
        "users: [{name: me, user: {token: '" + CANARY + "\n",
        "users: [{name: me, user: " + CANARY + "}]",
    ],
)
def test_a_kubeconfig_that_is_broken_beside_its_secret(text: str) -> None:
    whole = f"{text}\ncurrent-context: us\n"
    whole += "contexts: [{name: us, context: {cluster: us, user: me}}]\n"
    whole += "clusters: [{name: us, cluster: {server: https://us}}]\n"

    with pytest.raises(errors.UserError) as caught:
        kubeconfigs.resolve(kubeconfigs.parse(whole, file="config"), "", name="us")

    _check_nothing_shows(caught.value, "")


@pytest.mark.parametrize("state", [_missing, _pipe])
def test_a_key_of_sops_that_cannot_be_had(state: Callable[[Path], None], tmp_path: Path) -> None:
    state(tmp_path / "keys.txt")

    with pytest.raises(errors.UserError, match=r"keys\.txt"):
        _keys(tmp_path / "keys.txt", age=True).sops_environment()


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ana:{CANARY}@127.0.0.1:1/volary",
        f"postgresql://ana:{CANARY}@127.0.0.1:99999/volary",
        f"postgresql://ana:{CANARY}@[::1/volary",
        f"postgresql://ana:{CANARY}@127.0.0.1:1/volary?sslmode={CANARY}",
        f"mysql://ana:{CANARY}@127.0.0.1/volary",
    ],
)
async def test_a_database_that_cannot_be_reached_shows_no_password(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.VolaryError) as caught:
        async with factory.open_store(address, clock=FixedClock(), limits=_NO_TIME):
            pass

    _check_nothing_shows(caught.value, caplog.text)


@pytest.mark.parametrize("setting", ["store: mysql://ana:{}@host/x", "store: postgres:{}"])
def test_settings_do_not_repeat_the_address_of_a_database(setting: str) -> None:
    text = f"apiVersion: volary.dev/v1\nkind: Controller\n{setting.format(CANARY)}\n"

    loaded = settings_files.parse(text, file="volary.yaml")

    assert loaded.problems
    assert not _parts_in("\n".join(map(str, loaded.problems)))


def _check_nothing_shows(error: BaseException, log: str) -> None:
    """Look at what a person is told, at the trace of `--verbose` and of a crash, and at the log."""
    for text in (str(error), "".join(traceback.format_exception(error)), log):
        assert not _parts_in(text), text


def _parts_in(text: str) -> list[str]:
    return [part for part in PARTS if part in text]
