"""What `volary run` remembers of analyses between runs, on this machine.

Beside the last success, and like it: a machine that has forgotten loses only what the strategy
PREVIOUS would compare with.
"""

import json as text
import logging
from dataclasses import dataclass
from pathlib import Path

from volary.controller import last_success
from volary.model import json
from volary.stages import memory

_LOG = logging.getLogger(__name__)
_FILE = "analyses.json"


@dataclass(slots=True)
class LocalKeeper(memory.InProcess):
    """Keeps tasks' memories for as long as the process lives, and those of applications longer."""

    #: Below which an application on a set of clusters is remembered.
    key: str = ""

    async def recall(self, subject: memory.Subject) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        found = last_success.read(_path(), self._name(subject))
        try:
            body = text.loads(found) if found else {}
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    async def keep(self, subject: memory.Subject, document: json.JsonObject) -> None:
        """Keep the document for later runs; not being able to is no failure of the release."""
        try:
            last_success.write(_path(), self._name(subject), text.dumps(document))
        except OSError as error:
            _LOG.warning("the analysis could not be remembered: %s", error.strerror)

    def _name(self, subject: memory.Subject) -> str:
        return "\n".join((self.key, subject.application, subject.target, subject.name))


def _path() -> Path:
    return last_success.path().with_name(_FILE)
