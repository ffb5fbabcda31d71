"""Where the tasks of one stage meet, on all clusters on which it is carried out.

Present at a rendezvous is who is being carried out in this moment: a cluster that has ended,
waits for its turn or belongs to a later wave is waited for by nobody. What somebody said before
leaving stays said. Nothing here is durable: after a restart the tasks run again, and say from
their state what they had said.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Mapping

#: Topics kept; older ones are dropped, so that a stage of weeks stays small.
_MOST_TOPICS = 200


class Rendezvous:
    """The tasks of one stage that are carried out together."""

    def __init__(self) -> None:
        self._present: dict[str, None] = {}
        self._said: OrderedDict[str, dict[str, object]] = OrderedDict()
        #: Of this place: another one knows nothing of what was said here.
        self.id = uuid.uuid4().hex
        #: Grows with everything that happens here.
        self.number = 0
        self._changed = asyncio.Event()

    @property
    def members(self) -> tuple[str, ...]:
        """Who is present, in order of arrival; the first one may speak for all."""
        return tuple(self._present)

    def join(self, target: str) -> None:
        """Be present; a second call changes nothing."""
        if target in self._present:
            return
        for said in self._said.values():
            said.pop(target, None)
        self._present[target] = None
        self._wake()

    def leave(self, target: str) -> None:
        """Be waited for no more; done for every task that ends, however it does."""
        if target in self._present:
            del self._present[target]
            self._wake()

    def post(self, target: str, topic: str, value: object) -> None:
        """Say something about a topic; a second value takes the place of the first."""
        self._said.setdefault(topic, {})[target] = value
        self._said.move_to_end(topic)
        while len(self._said) > _MOST_TOPICS:
            self._said.popitem(last=False)
        self._wake()

    def said(self, topic: str) -> Mapping[str, object]:
        """Return what was said about a topic so far, by target."""
        return dict(self._said.get(topic, {}))

    def said_by(self, target: str) -> Mapping[str, object]:
        """Return what somebody has said so far, by topic."""
        return {topic: said[target] for topic, said in self._said.items() if target in said}

    @property
    def topics(self) -> tuple[str, ...]:
        """What something was said about, the oldest first."""
        return tuple(self._said)

    async def changed(self, number: int) -> None:
        """Return once more has happened than up to that number."""
        while self.number <= number:
            await self._changed.wait()

    async def gather(self, target: str, topic: str) -> Mapping[str, object]:
        """Wait until all who are present have spoken, and return what was said, by target.

        `target`, who asks, is not waited for. The answer holds what those said who have left
        since. It does not end by itself: whoever asks limits the time, and heeds the stop flag.
        """
        # Those that were started in the same moment shall have had their first turn.
        await asyncio.sleep(0)
        while self._silent(target, topic):
            # A new one each time: whoever speaks wakes all who wait now, and nobody later.
            await self._changed.wait()
        return self.said(topic)

    def _silent(self, target: str, topic: str) -> bool:
        said = self._said.get(topic, {})
        return any(
            other_target != target and other_target not in said for other_target in self._present
        )

    def _wake(self) -> None:
        self.number += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
