"""An outbox in memory."""

from dataclasses import dataclass, field

from volary.notifying import outbox


@dataclass(slots=True)
class MemoryOutbox:
    contents: outbox.Contents = field(default_factory=outbox.Contents)

    async def load(self) -> outbox.Contents:
        return self.contents

    async def save(self, change: outbox.Change) -> None:
        kept = {message.id: message for message in self.contents.messages}
        kept |= {message.id: message for message in change.added if message.id not in kept}
        left = tuple(message for name, message in kept.items() if name not in change.removed)
        places = self.contents.places if change.places is None else change.places
        self.contents = outbox.Contents(left, places)
