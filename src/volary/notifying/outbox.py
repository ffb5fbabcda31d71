"""Messages to be delivered, and where they survive a restart."""

from typing import Protocol

import msgspec

from volary.model import json


class OutboxMessage(msgspec.Struct, frozen=True):
    """One delivery to one receiver."""

    #: Unique; receivers can tell repetitions by it.
    id: str
    receiver: str
    body: json.JsonObject
    #: A newer message of the same topic takes the place of one that waits; empty: it does not.
    topic: str = ""
    #: Said below the topic's message, so that it reaches people; such a message has no body.
    reply: str = ""


class Contents(msgspec.Struct, frozen=True):
    """What is kept."""

    #: Not delivered yet, in order.
    messages: tuple[OutboxMessage, ...] = ()
    #: By receiver and topic, where the message is that can be edited.
    places: dict[str, str] = msgspec.field(default_factory=dict)


class Outbox(Protocol):
    """Keeps what is on its way. Nothing here may fail a run: errors are logged."""

    async def load(self) -> Contents:
        """Return what was saved last; nothing when there is nothing to be read.

        Raises:
            errors.TemporaryError: It cannot be read now.
        """
        ...

    async def save(self, contents: Contents) -> None:
        """Keep `contents` in the place of what was there.

        Raises:
            errors.VolaryError: It cannot be written now, or by this process.
        """
        ...
