"""Addresses of Git repositories, as users write them (pure)."""

import posixpath
import re
from enum import StrEnum
from urllib import parse

#: Neither part may look like an option of ssh.
_SHORT_SSH = re.compile(r"(?:\w[\w.+-]*@)?\w[\w.-]*:(?![:/]/)[^\s-]\S*")
_PORT = re.compile(r":\d*$")
_BRANCH = re.compile(r"(?!-)[^\s~^:?*\[\\\x00-\x1f\x7f]+")
_HIDDEN = "***"


class Transport(StrEnum):
    """How a repository is reached."""

    HTTPS = "https"
    SSH = "ssh"
    FILE = "file"


def transport(url: str) -> Transport:
    """Return how `url` is reached.

    Raises:
        ValueError: It is none we fetch from; the sentence does not repeat it.
    """
    if "::" in url.partition("/")[0] or any(ord(char) < 32 for char in url):
        raise ValueError("must be https, ssh, file or a path")
    if "://" not in url:
        return Transport.SSH if _SHORT_SSH.fullmatch(url) else Transport.FILE
    try:
        parts = parse.urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError("must be an address with a host and a number as port") from error
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise ValueError("must not hold credentials; name a file with them under credentials")
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise ValueError("must be a path of this machine after file://")
    if parts.scheme != "file" and (parts.hostname or "-").startswith("-"):
        raise ValueError("names no host")
    known = {kind.value: kind for kind in Transport}
    if parts.scheme not in known:
        raise ValueError("must be https, ssh, file or a path")
    return known[parts.scheme]


def mask(text: str) -> str:
    """Return `text` with the user part of every address in it hidden."""
    return re.sub(r"(\w+://)[^/\s@]+@", rf"\1{_HIDDEN}@", text)


def is_same(one: str, other: str) -> bool:
    """Say whether two addresses are evidently those of one repository.

    Only as far as they are written alike: who else has the same repository nobody can tell.
    """
    return _plain(one) == _plain(other) != ""


def canonical(url: str) -> str:
    """Return host and path, as they are the same over every transport; empty for a local path.

    A local path says something on one machine only.
    """
    if "://" in url:
        scheme, _, rest = url.partition("://")
        if scheme == Transport.FILE:
            return ""
        host, _, path = rest.partition("/")
    elif _SHORT_SSH.fullmatch(url):
        host, _, path = url.partition(":")
    else:
        return ""
    name = _PORT.sub("", host.rpartition("@")[2]).lower()
    return f"{name}/{path.strip('/').removesuffix('.git')}"


def _plain(url: str) -> str:
    scheme, separator, rest = url.rstrip("/").removesuffix(".git").rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.lower() if separator else host}{slash}{path}"


def resolve(url: str, directory: str) -> str:
    """Return a repository's path seen from `directory`; other addresses as they are."""
    if transport(url) is not Transport.FILE or "://" in url or not directory:
        return url
    return posixpath.normpath(posixpath.join(directory, url))


def branch(name: str) -> str:
    """Check the name of a branch.

    Raises:
        ValueError: Git does not allow it.
    """
    is_bad = ".." in name or "@{" in name or "//" in name or name.endswith((".lock", "/", "."))
    if name and (is_bad or name.startswith("/") or not _BRANCH.fullmatch(name) or len(name) > 250):
        raise ValueError("must be the name of a branch, such as main")
    return name
