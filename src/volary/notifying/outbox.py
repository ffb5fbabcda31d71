"""Messages to be delivered, and where they survive a restart.

A message of a run's step is there with the step itself; every other one is written down here,
most of them a moment later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from volary.model.runs import run_records


@dataclass(frozen=True, slots=True)
class Contents:
    """What is kept."""

    #: Not delivered yet, in order.
    messages: tuple[run_records.OutboxMessage, ...] = ()
    #: By receiver and topic, where the message is that can be edited.
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from what is kept."""

    added: tuple[run_records.OutboxMessage, ...] = ()
    #: Ids of messages that were delivered, or will not be.
    removed: frozenset[str] = frozenset()
    #: None: as before.
    places: Mapping[str, str] | None = None


class Outbox(Protocol):
    """Keeps what is on its way."""

    async def load(self) -> Contents:
        """Return what is kept; nothing when there is nothing to be read.

        Raises:
            errors.TemporaryError: It cannot be read now.
        """
        ...

    async def save(self, change: Change) -> None:
        """Keep a change. A message that is kept already stays as it is.

        Raises:
            errors.VolaryError: It cannot be written now, or by this process.
        """
        ...
