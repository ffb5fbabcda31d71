"""An outbox in memory."""

from dataclasses import dataclass, field

from volary.notifying import outbox


@dataclass(slots=True)
class MemoryOutbox:
    contents: outbox.Contents = field(default_factory=outbox.Contents)

    async def load(self) -> outbox.Contents:
        return self.contents

    async def save(self, contents: outbox.Contents) -> None:
        self.contents = contents
