"""The files of the web UI: read once at the start, and answered from memory.

What is not among them does not exist, so that no path leads out of their folder. The build gives
files of ``assets`` the hash of their content as a name, and puts compressed twins beside them.
"""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import volary
from volary.model import errors

INDEX = "index.html"
#: Its files never change: another content has another name.
_HASHED = "assets/"
#: Endings of compressed twins by what HTTP calls them, the smallest first.
_ENCODINGS: Mapping[str, str] = MappingProxyType({"br": ".br", "gzip": ".gz"})
#: More than any build of ours has; bytes are those of all together.
_MOST_FILES, _MOST_BYTES = 2000, 64 * 1024 * 1024
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ico": "image/x-icon",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".webmanifest": "application/manifest+json",
        ".woff2": "font/woff2",
    }
)


@dataclass(frozen=True, slots=True)
class WebFile:
    """One file, in each of its encodings."""

    content: bytes = field(repr=False)
    media_type: str
    #: Changes with the content.
    tag: str
    #: Whether its name has the hash of its content.
    is_immutable: bool
    #: By what HTTP calls them.
    encoded: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def best(self, accepted: str) -> tuple[str, bytes]:
        """Return the smallest form that a browser takes: its encoding (empty: none), and it."""
        known = _accepted(accepted)
        for encoding, content in self.encoded.items():
            if encoding in known:
                return encoding, content
        return "", self.content


@dataclass(frozen=True, slots=True)
class WebFiles:
    """A build of the web UI; without files there is none."""

    files: Mapping[str, WebFile] = field(default_factory=dict)

    @property
    def index(self) -> WebFile | None:
        """The page that all screens are in; None: the UI was not built."""
        return self.files.get(INDEX)

    def find(self, path: str) -> WebFile | None:
        """Return the file at a path, without a slash before it; None: there is none."""
        return self.files.get(path)


def directory() -> Path | None:
    """Return where the UI is, in an installed package or in a checkout; None: it was not built."""
    package = Path(volary.__file__).parent
    for base in (package / "web", package.parents[1] / "web" / "dist"):
        if (base / INDEX).is_file():
            return base
    return None


def load(base: Path | None) -> WebFiles:
    """Read a build.

    Raises:
        errors.UserError: It cannot be read, or is none: too many files, or too large.
    """
    if base is None:
        return WebFiles()
    try:
        read = _read(base)
    except OSError as error:
        raise errors.user_error(
            f"the web UI in {base} cannot be read: {error.strerror}",
            hint="make web builds it anew; volary server --no-ui goes without it",
        ) from error
    twins = tuple(_ENCODINGS.values())
    return WebFiles(
        {
            name: _file(name, content, read)
            for name, content in read.items()
            if not (name.endswith(twins) and name.rpartition(".")[0] in read)
        }
    )


def _read(base: Path) -> dict[str, bytes]:
    """Return the contents of a folder by their paths; what is hidden is not for browsers."""
    found: dict[str, bytes] = {}
    size = 0
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        is_hidden = any(part.startswith(".") for part in path.relative_to(base).parts)
        if is_hidden or path.is_symlink() or not path.is_file():
            continue
        size += path.stat().st_size
        if len(found) >= _MOST_FILES or size > _MOST_BYTES:
            raise errors.user_error(
                f"{base} is no build of the web UI: it has too many files, or too large ones",
                hint="make web builds it anew",
            )
        found[name] = path.read_bytes()
    return found


def _file(name: str, content: bytes, read: Mapping[str, bytes]) -> WebFile:
    media_type = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    return WebFile(
        content,
        media_type or "application/octet-stream",
        hashlib.blake2b(content, digest_size=12).hexdigest(),
        name.startswith(_HASHED),
        {
            encoding: read[name + ending]
            for encoding, ending in _ENCODINGS.items()
            if name + ending in read
        },
    )


def _accepted(header: str) -> frozenset[str]:
    """Return the encodings of an Accept-Encoding header, without those it rules out."""
    accepted = set()
    for entry in header[:500].lower().split(","):
        name, _, quality = (part.strip() for part in entry.partition(";"))
        if not (quality.startswith("q=") and not quality[2:].strip("0.")):
            accepted.add(name)
    return frozenset(accepted)
