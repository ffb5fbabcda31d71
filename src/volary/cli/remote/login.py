"""Which server, and with which token: option, then environment, then the login file.

``VOLARY_SERVER`` and ``VOLARY_TOKEN`` win over the file ``$XDG_CONFIG_HOME/volary/login.json``
(mode 0600). The file's token is only ever sent to the file's server.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib import parse

import msgspec

from volary import secret_files
from volary.model import addresses, errors, json


@dataclass(frozen=True, slots=True)
class Target:
    """A server and how to get in."""

    #: Without a slash at the end; empty: none is known.
    server: str = ""
    token: str = field(default="", repr=False)


def find(option: str, environment: Mapping[str, str]) -> Target:
    """Return the server to connect to.

    Raises:
        errors.UserError: None is named, its address is none, or a token would be sent in clear.
    """
    kept = read(path(environment))
    server = (option or environment.get("VOLARY_SERVER", "") or kept.server).rstrip("/")
    if not server:
        raise errors.user_error(
            "no server is named", hint="pass --server URL, set VOLARY_SERVER, or volary login"
        )
    token = environment.get("VOLARY_TOKEN", "")
    if not token and server == kept.server:
        token = kept.token
    return check(Target(server, token))


def check(target: Target) -> Target:
    """Return the target when its address is one and its token stays secret on the way.

    Raises:
        errors.UserError: It is not, or it does not.
    """
    try:
        address = parse.urlsplit(target.server)
        host = address.hostname
    except ValueError:
        host, address = None, parse.urlsplit("")
    if address.scheme not in ("http", "https") or not host or "@" in address.netloc:
        raise errors.user_error(
            "the server's address is not a URL", hint="such as https://volary.example.org"
        )
    if address.scheme == "http" and target.token and not addresses.is_loopback(host):
        raise errors.user_error(
            f"the token would be sent to {host} without encryption", hint="use https"
        )
    return target


def path(environment: Mapping[str, str]) -> Path:
    """Return where the login is kept."""
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(
        environment.get("HOME", ""), ".config"
    )
    return Path(base) / "volary" / "login.json"


def read(file: Path) -> Target:
    """Return the login that is kept; an empty one when there is none.

    Raises:
        errors.UserError: Others may read it, or it cannot be read.
    """
    try:
        return json.decode(secret_files.read_private(file), Target)
    except FileNotFoundError:
        return Target()
    except (OSError, *json.UNREADABLE) as error:
        raise errors.user_error(
            f"the login in {file} cannot be read", hint="remove it, and volary login again"
        ) from error


def write(file: Path, target: Target) -> None:
    """Keep a login.

    Raises:
        errors.UserError: It cannot be written.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret_files.write_private(file, msgspec.json.encode(target))
    except OSError as error:
        raise errors.user_error(f"{file} cannot be written: {error.strerror}") from error
