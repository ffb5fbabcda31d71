"""Decrypts files with the program sops: what comes back stays in memory.

The program gets the encrypted file, in a private directory, and the keys that are named; what it
writes is read from a pipe. It has no home of ours and, unless credentials of a key service are
named, no network.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from volary import subprocesses
from volary.isolation import isolated_programs
from volary.model import errors
from volary.sources.decryption import keys, sops_files
from volary.sources.trees import trees

_TIMEOUT = timedelta(seconds=30)
_LIMITS = isolated_programs.Limits(
    time=_TIMEOUT, processor_time=_TIMEOUT, output=trees.LARGEST_FILE
)
_MISSING = "install volary with the extra `sops`, or sops 3.9 or later on PATH"
_NO_KEY = (
    "name the keys under secrets.sops of the server's settings; for `volary run`, set"
    " SOPS_AGE_KEY_FILE or what else sops reads"
)
#: What stands in its messages, and what that means.
_CAUSES = (
    ("MAC mismatch", "its MAC is wrong: it was changed by hand, or by somebody without the key"),
    ("cannot decrypt MAC", "its MAC cannot be read: it was changed by hand"),
    ("MAC file corrupted", "its MAC cannot be read: it was changed by hand"),
    ("no matching creation rules", "it names no key"),
    ("Failed to get the data key", "none of the keys that are named opens it"),
    ("Could not decrypt with AES_GCM", "a value in it was changed by hand"),
    ("message authentication failed", "a value in it was changed by hand"),
    ("Input string", "a value in it was changed by hand"),
)


def find() -> str:
    """Return the path of the program, on PATH or beside Python; empty: there is none."""
    places = (os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent))
    return shutil.which("sops", path=os.pathsep.join(filter(None, places))) or ""


async def decrypt(file: sops_files.EncryptedFile, known: keys.Keys) -> bytes:
    """Return what the file holds.

    Raises:
        errors.UserError: There is no program or no key, or the file is not as it was encrypted;
            names the file, and repeats nothing of it.
    """
    where = errors.Location(file.path)
    program = find()
    if not program:
        raise errors.user_error(
            "the file is encrypted with SOPS, and the program sops was not found",
            hint=_MISSING,
            where=where,
        )
    if not known.has_sops:
        opened_by = ", ".join(sops_files.key_kinds(file)) or "keys"
        raise errors.user_error(
            f"the file is encrypted with SOPS ({opened_by}), and no key is named",
            hint=_NO_KEY,
            where=where,
        )
    environment = known.sops_environment()
    _check_services(file, environment.get("VAULT_ADDR", ""))
    with tempfile.TemporaryDirectory(prefix="volary-sops-") as name:
        home, encrypted = Path(name, "home"), Path(name, "encrypted")
        home.mkdir()
        encrypted.write_bytes(file.content)
        private = subprocesses.private_environment(program, home)
        if known.may_ask_services:
            for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
                private.pop(proxy)
                if proxy in known.variables:
                    private[proxy] = known.variables[proxy]
        form = file.form.value
        finished = await isolated_programs.run(
            [
                *(program, "decrypt", "--input-type", form, "--output-type", form),
                str(encrypted),
            ],
            environment=private | environment,
            directory=home,
            limits=_LIMITS,
            # What it does is known; only what it reads is somebody else's.
            required=False,
            reach=_reach(known, environment),
        )
    if finished.code != 0:
        raise _refusal(file, finished)
    return finished.output


def _reach(known: keys.Keys, environment: Mapping[str, str]) -> isolated_programs.Reach:
    """Return what sops has to connect to for the keys that are named."""
    if known.may_ask_services:
        return isolated_programs.Reach.NETWORK
    if "GNUPGHOME" in environment:
        return isolated_programs.Reach.LOCAL_SOCKETS  # gpg asks its agent
    return isolated_programs.Reach.NOTHING


def _check_services(file: sops_files.EncryptedFile, vault: str) -> None:
    foreign = sops_files.foreign_services(file, vault)
    if foreign:
        raise errors.user_error(
            f"the file names a key service that is not allowed: {', '.join(foreign)}",
            hint="a Vault is asked when VAULT_ADDR is among secrets.sops.environment and is the"
            " same; of Azure only its own vaults",
            where=errors.Location(file.path),
        )


def _refusal(
    file: sops_files.EncryptedFile, finished: subprocesses.ProcessResult
) -> errors.UserError:
    cause = next((cause for sign, cause in _CAUSES if sign in finished.complaint), "")
    opened_by = ", ".join(sops_files.key_kinds(file)) or "keys that cannot be told"
    if "opens it" in cause or not cause:
        cause = cause or f"sops ended with code {finished.code}"
        hint = f"it is encrypted for {opened_by}; {_NO_KEY}"
    else:
        hint = "encrypt it again: sops edit FILE"
    return errors.user_error(
        f"the file cannot be decrypted: {cause}", hint=hint, where=errors.Location(file.path)
    )
