"""``volary encrypt`` writes what a server with the private key decrypts, and says where it goes."""

import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from volary.sources.decryption import ciphertexts

KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    file = tmp_path / "private.pem"
    file.write_bytes(
        KEY.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file


@pytest.fixture
def public(tmp_path: Path) -> Path:
    file = tmp_path / "public.pem"
    file.write_bytes(
        KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return file


def encrypt(value: bytes, *words: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "volary", "encrypt", *words],
        input=value,
        capture_output=True,
        check=False,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), **variables},
    )


def test_with_the_public_key_of_a_file(public: Path) -> None:
    ended = encrypt(b"correct-horse\n", "password", "--public-key", str(public))

    assert ended.returncode == 0, ended
    assert ciphertexts.decrypt(ended.stdout.decode(), KEY) == "correct-horse"
    said = ended.stderr.decode()
    assert "spec.encryption.encryptedSecrets.password is its place" in said
    assert "{{ .encryptedSecrets.password }} stands for it" in said
    assert "horse" not in said


def test_with_the_key_pair_of_the_settings_or_the_environment(
    private: Path, tmp_path: Path
) -> None:
    (tmp_path / "server.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\n"
        "repositories: [{name: a, url: /a}]\nsecrets: {keyPair: {privateKeyFile: private.pem}}\n"
    )
    by_settings = encrypt(b"x-y\n", "a-b", "--config", str(tmp_path / "server.yaml"))
    by_variable = encrypt(b"x\n", "a", "--keep-line-end", VOLARY_PRIVATE_KEY_FILE=str(private))

    assert ciphertexts.decrypt(by_settings.stdout.decode(), KEY) == "x-y"
    assert b'{{ index .encryptedSecrets "a-b" }}' in by_settings.stderr
    assert ciphertexts.decrypt(by_variable.stdout.decode(), KEY) == "x\n"


def test_what_is_missing_is_said(public: Path, tmp_path: Path) -> None:
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
