"""What is stored and cannot be read: it is set aside with its reason, and left as it is.

It stops nobody else. Nothing of it is written over or deleted unless a person says so.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass

from volary.model import errors

_LOG = logging.getLogger(__name__)

#: Rows that are remembered as logged; the oldest are forgotten, and logged once more.
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that cannot be read."""

    #: What it is, such as ``request``.
    what: str
    #: Which one.
    key: str
    #: A clause without a word of what is stored: that may be secret.
    reason: str

    def __str__(self) -> str:
        return f"{self.what} {self.key} cannot be read: {self.reason}"


class UnreadableError(errors.UserError):
    """What was asked for is stored, and cannot be read."""

    def __init__(self, row: UnreadableRow) -> None:
        hint = "it is left as it is; compare the database with a backup"
        super().__init__(errors.Problem(str(row), hint=hint))
        self.row = row


class SetAside:
    """Logs what cannot be read, once each."""

    def __init__(self) -> None:
        self._logged: OrderedDict[UnreadableRow, None] = OrderedDict()

    def note(self, row: UnreadableRow) -> None:
        """Log a row, unless that was done."""
        if row in self._logged:
            return
        self._logged[row] = None
        while len(self._logged) > _MOST:
            self._logged.popitem(last=False)
        _LOG.error("%s; it is set aside and left as it is", row)
