"""Files that hold secrets: those of users, with one each, and our own, which nobody else may read.

They are read whenever the secret is needed, so that one that was replaced counts at once.
"""

import errno
import os
import stat
from pathlib import Path

from volary.model import errors

_LARGEST = 64 * 1024
#: Bytes of a file of our own.
_LARGEST_PRIVATE = 16 * 1024 * 1024


def read_bytes(path: str | Path, most: int) -> bytes:
    """Return what a file holds, never waiting for somebody to write it, and no more than `most`.

    Raises:
        OSError: It cannot be read, is larger, or is no regular file: a pipe would be waited for,
            and a device may never end.
    """
    try:
        # A pipe that nobody writes to opens at once, and is refused then.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file can be called so") from error
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, "it is too large")
    return data


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
        text = read_bytes(Path(path).expanduser(), _LARGEST).decode().strip()
    except UnicodeDecodeError:
        raise errors.user_error(f"{path} is not text") from None
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise errors.user_error(f"{path} holds no secret: it is empty or too large") from None
        cause = (getattr(error, "strerror", None) or str(error)).lower()
        raise errors.user_error(f"{path} cannot be read: {cause}") from None
    if not text:
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
    return read_bytes(path, _LARGEST_PRIVATE)


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
