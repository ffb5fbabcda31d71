"""``volary encrypt``: a value for ``spec.encryption`` of an application file."""

import getpass
import os
import re
import sys
from collections.abc import Mapping

from volary import secret_files
from volary.cli import console, exit_codes
from volary.model import errors
from volary.server import hosting
from volary.sources.decryption import ciphertexts, keys

_LARGEST = 1 << 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HINT = (
    "make a key pair: openssl genrsa -out private.pem 4096;"
    " openssl rsa -in private.pem -pubout -out public.pem"
)


def run(name: str, *, key_file: str, config: str, keeps_line_end: bool) -> int:
    """Encrypt what standard input holds, write it out, and say where it belongs.

    Args:
        name: What templates call it.
        key_file: The public key; empty: that of the settings, or of the environment.
        config: Settings of a server; empty: none.
        keeps_line_end: Whether a last line end is part of the value.

    Raises:
        errors.UserError: There is no key, or nothing to encrypt.
    """
    file = key_file or _of_settings(config, os.environ)
    try:
        key = ciphertexts.read_public_key(secret_files.read_text(file))
    except ciphertexts.CiphertextError as error:
        raise errors.user_error(f"{file} {error}", hint=_HINT) from None
    value = _value()
    if not keeps_line_end:
        value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        raise errors.user_error("there is nothing to encrypt", hint="write it to standard input")
    console.write(ciphertexts.encrypt(value, key))
    reference = f".encryptedSecrets.{name}"
    if not _NAME.fullmatch(name):
        reference = f'index .encryptedSecrets "{name}"'
    console.messages().print(
        f"spec.encryption.encryptedSecrets.{name} is its place in the application file;"
        f" {{{{ {reference} }}}} stands for it in the files of spec.encryption.decryptionTargets",
        markup=False,
    )
    return exit_codes.Exit.DONE


def _of_settings(config: str, variables: Mapping[str, str]) -> str:
    """Return the file with the public key, or with the private one, which has it as well."""
    given = variables.get(keys.PRIVATE_KEY_VARIABLE, "")
    if config:
        pair = hosting.read_settings(config).secrets.key_pair
        given = pair.public_key_file or pair.private_key_file
    if not given:
        what = f"{config} names no key pair" if config else "no key is named"
        raise errors.user_error(
            f"{what}", hint=f"--public-key FILE, or --config FILE of the server; {_HINT}"
        )
    return given


def _value() -> str:
    """Return the value: asked for on a terminal, where it is not shown, else all of the input."""
    if sys.stdin.isatty():
        return getpass.getpass("value: ")
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise errors.user_error(f"more than {_LARGEST >> 20} MiB cannot be encrypted")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise errors.user_error("what is to be encrypted is not UTF-8 text") from None
