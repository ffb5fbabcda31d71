"""When API tokens were used last: kept in memory, and now and then in a file beside them.

Coarse on purpose: a request never waits for a file. Two servers with the same tokens each know
of the requests that came to them.
"""

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from volary import secret_files
from volary.model import json

_LOG = logging.getLogger(__name__)
FILE_NAME = "token-uses.json"
#: How exact it is, and how often the file is written at most.
INTERVAL = timedelta(minutes=5)
#: Tokens whose use is remembered, the last used ones; more than there can be.
_MOST = 2000
#: Bytes of the file.
_LARGEST = 4 * 1024 * 1024


class _File(msgspec.Struct, frozen=True):
    #: By the id of the token.
    uses: dict[str, datetime] = {}


class TokenUses:
    """When the tokens of a data directory were used last."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._uses = _read(self._path)
        self._is_changed = False

    def all(self) -> Mapping[str, datetime]:
        """Return the last use by the token's id, to the minute and up to `INTERVAL` old."""
        return dict(self._uses)

    def note(self, token: str, now: datetime) -> None:
        """Remember that the token of this id was used; touches no file."""
        known = self._uses.get(token)
        if known is None or now - known >= INTERVAL:
            self._uses.pop(token, None)
            self._uses[token] = now.replace(second=0, microsecond=0)
            while len(self._uses) > _MOST:
                del self._uses[next(iter(self._uses))]
            self._is_changed = True

    def write(self) -> None:
        """Write what is new; what cannot be written now is with the next time."""
        if not self._is_changed:
            return
        self._is_changed = False
        try:
            secret_files.write_private(self._path, msgspec.json.encode(_File(self._uses)))
        except OSError as error:
            self._is_changed = True
            _LOG.warning("%s cannot be written: %s", self._path, error.strerror)

    async def keep_writing(self) -> None:
        """Write again and again until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(INTERVAL.total_seconds())
                await asyncio.to_thread(self.write)
        finally:
            self.write()


def _read(path: Path) -> dict[str, datetime]:
    """Return what was kept; a file that cannot be read is begun anew, for nothing hangs on it."""
    try:
        return json.decode(secret_files.read_bytes(path, _LARGEST), _File).uses
    except FileNotFoundError:
        return {}
    except (OSError, *json.UNREADABLE) as error:
        _LOG.warning("%s cannot be read: %s", path, type(error).__name__)
        return {}
