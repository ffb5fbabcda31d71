"""Files that hold secrets: those of users, with one each, and our own, which nobody else may read.

They are read whenever the secret is needed, so that one that was replaced counts at once.
"""

import os
from pathlib import Path

from volary.model import errors

_LARGEST = 64 * 1024


def read(path: str) -> str:
    """Return the secret in a file: one line, without white space around it.

    Raises:
        UserError: It cannot be read or is no secret; never repeats what is in it.
    """
    secret = read_text(path)
    if not secret.isprintable():
        raise errors.user_error(f"{path} holds no secret: a secret is one line of text")
    return secret


def read_text(path: str) -> str:
    """Return what a file holds, also several lines such as a key has, as `read` does.

    Raises:
        UserError: It cannot be read, is empty or too large; never repeats what is in it.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(_LARGEST + 1)
        text = data.decode().strip()
    except UnicodeDecodeError:
        raise errors.user_error(f"{path} is not text") from None
    except (OSError, RuntimeError) as error:
        cause = (getattr(error, "strerror", None) or str(error)).lower()
        raise errors.user_error(f"{path} cannot be read: {cause}") from None
    if not text or len(data) > _LARGEST:
        raise errors.user_error(f"{path} holds no secret: it is empty or too large")
    return text


def read_private(path: Path) -> bytes:
    """Return what is in a file of our own.

    Raises:
        FileNotFoundError: There is none.
        OSError: It cannot be read.
        errors.UserError: Others may read it.
    """
    check_private(path)
    return path.read_bytes()


def check_private(path: Path) -> os.stat_result:
    """Return how a file of our own stands in its directory.

    Raises:
        FileNotFoundError: There is none.
        OSError: It cannot be looked at.
        errors.UserError: Others may read or change it.
    """
    status = path.stat()
    if status.st_mode & 0o077:
        raise errors.user_error(f"{path} can be read by others", hint=f"chmod 600 {path}")
    return status


def make_private_directory(path: Path) -> bool:
    """Make a directory of our own, or close one that others may enter; say whether it was open.

    Raises:
        errors.UserError: It cannot be made, or cannot be closed.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_open = bool(path.stat().st_mode & 0o077)
        if is_open:
            path.chmod(0o700)
    except OSError as error:
        raise errors.user_error(
            f"the directory {path} cannot be made for its owner only: {error.strerror}",
            hint=f"chmod 700 {path}, or name a directory in it that need not be there yet",
        ) from error
    return is_open


def write_private(path: Path, content: bytes) -> None:
    """Replace a file of our own, whole or not at all; it has the mode 0600 from its beginning.

    Raises:
        OSError: It cannot be written.
    """
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
