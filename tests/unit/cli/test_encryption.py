"""``volary encrypt`` writes what a server with the private key decrypts, and says where it goes."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from volary import main
from volary.sources.decryption import ciphertexts


@dataclass(frozen=True)
class Ended:
    """What the command said."""

    returncode: int
    stdout: bytes
    stderr: bytes


class Encrypt(Protocol):
    """Types ``volary encrypt`` with a value on its standard input."""

    def __call__(self, value: bytes, *words: str, **variables: str) -> Ended: ...


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture
def encrypt(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Encrypt:
    """Without a process of its own: that commands start from nothing is shown elsewhere."""
    monkeypatch.delenv("VOLARY_PRIVATE_KEY_FILE", raising=False)

    def run(value: bytes, *words: str, **variables: str) -> Ended:
        with monkeypatch.context() as patch:
            for name, content in variables.items():
                patch.setenv(name, content)
            patch.setattr("sys.argv", ["volary", "encrypt", *words])
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(value)))
            with pytest.raises(SystemExit) as left:
                main.main()
        code = left.value.code or 0
        assert isinstance(code, int)
        return Ended(code, *capsysbinary.readouterr())

    return run


@pytest.fixture
def private(key: rsa.RSAPrivateKey, tmp_path: Path) -> Path:
    file = tmp_path / "private.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file


@pytest.fixture
def public(key: rsa.RSAPrivateKey, tmp_path: Path) -> Path:
    file = tmp_path / "public.pem"
    file.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return file


def test_with_the_public_key_of_a_file(
    encrypt: Encrypt, key: rsa.RSAPrivateKey, public: Path
) -> None:
    ended = encrypt(b"correct-horse\n", "password", "--public-key", str(public))

    assert ended.returncode == 0, ended
    assert ciphertexts.decrypt(ended.stdout.decode(), key) == "correct-horse"
    said = ended.stderr.decode()
    assert "spec.encryption.encryptedSecrets.password is its place" in said
    assert "{{ .encryptedSecrets.password }} stands for it" in said
    assert "horse" not in said


def test_with_the_key_pair_of_the_settings_or_the_environment(
    encrypt: Encrypt, key: rsa.RSAPrivateKey, private: Path, tmp_path: Path
) -> None:
    (tmp_path / "server.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\n"
        "repositories: [{name: a, url: /a}]\nsecrets: {keyPair: {privateKeyFile: private.pem}}\n"
    )
    by_settings = encrypt(b"x-y\n", "a-b", "--config", str(tmp_path / "server.yaml"))
    by_variable = encrypt(b"x\n", "a", "--keep-line-end", VOLARY_PRIVATE_KEY_FILE=str(private))

    assert ciphertexts.decrypt(by_settings.stdout.decode(), key) == "x-y"
    assert b'{{ index .encryptedSecrets "a-b" }}' in by_settings.stderr
    assert ciphertexts.decrypt(by_variable.stdout.decode(), key) == "x\n"


def test_what_is_missing_is_said(encrypt: Encrypt, public: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("hunter2")
    for value, words, said in (
        (b"x", (), "no key is named"),
        (b"x", ("--public-key", str(tmp_path / "absent")), "cannot be read"),
        (b"x", ("--public-key", str(tmp_path / "other.txt")), "is not a public key in PEM"),
        (b"\n", ("--public-key", str(public)), "there is nothing to encrypt"),
        (b"\xff", ("--public-key", str(public)), "is not UTF-8 text"),
    ):
        ended = encrypt(value, "a", *words)

        assert (ended.returncode, ended.stdout) == (2, b""), ended
        assert said in ended.stderr.decode()
        assert b"hunter2" not in ended.stderr
