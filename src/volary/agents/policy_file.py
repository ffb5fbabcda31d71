"""The policy file of an agent, read again whenever it changed: a tighter one holds at once."""

import asyncio
import logging
from pathlib import Path

from volary.config.agents import policy_files
from volary.model import agent_policies, errors

_LOG = logging.getLogger(__name__)
_LARGEST = 1024 * 1024
#: Seconds between two looks.
INTERVAL = 2.0


class PolicyFile:
    """What the file permits now.

    One that cannot be read any more permits nothing, until it can be read again: whoever made the
    mistake may have meant to permit less.

    Raises:
        errors.UserError: It cannot be read at first, or has errors; all of them at once.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._text = self._read()
        self._policy = _parse(self._text, file)

    def current(self) -> agent_policies.AgentPolicy:
        """Return what is permitted at this moment."""
        return self._policy

    async def keep_reading(self) -> None:
        """Look for changes, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            self.read_again()

    def read_again(self) -> None:
        """Take what the file says now."""
        try:
            text = self._read()
            if text == self._text:
                return
            self._policy = _parse(text, self._file)
        except errors.UserError as error:
            if self._text is not None:
                _LOG.error("nothing is permitted any more: %s", error)
            self._text, self._policy = None, agent_policies.AgentPolicy(file=self._file)
            return
        self._text = text
        _LOG.info("the policy in %s has changed and holds from now on", self._file)

    _text: str | None

    def _read(self) -> str:
        try:
            data = Path(self._file).read_bytes()
            if len(data) > _LARGEST:
                raise errors.user_error(f"the policy file {self._file} is too large")
            return data.decode()
        except (OSError, UnicodeDecodeError) as error:
            cause = (getattr(error, "strerror", None) or "it is not text").lower()
            raise errors.user_error(
                f"the policy file {self._file} cannot be read: {cause}"
            ) from error


def _parse(text: str, file: str) -> agent_policies.AgentPolicy:
    return policy_files.parse(text, file=file).require()
