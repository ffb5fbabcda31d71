"""Where the tasks of one stage meet, on all clusters on which it is carried out.

Present at a rendezvous is who is being carried out in this moment: a cluster that has ended,
waits for its turn or belongs to a later wave is waited for by nobody. What somebody said before
leaving stays said. Nothing here is durable: after a restart the tasks run again, and say from
their state what they had said.
"""

import asyncio
import contextlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

#: Topics kept; older ones are dropped, so that a stage of weeks stays small.
_MOST_TOPICS = 200


@dataclass(frozen=True, slots=True)
class Word:
    """Something that was said."""

    topic: str
    target: str
    value: object
    #: Of the rendezvous when it was said.
    number: int


class Rendezvous:
    """The tasks of one stage that are carried out together."""

    def __init__(self) -> None:
        #: With the number of their arrival.
        self._present: dict[str, int] = {}
        self._said: OrderedDict[str, dict[str, Word]] = OrderedDict()
        #: The number of what was said last about each topic, in their order.
        self._latest: dict[str, int] = {}
        #: The number of what somebody did last: came, said something, left.
        self._did: dict[str, int] = {}
        self._listeners: list[Callable[[Rendezvous], None]] = []
        #: Of this place: another one knows nothing of what was said here.
        self.id = uuid.uuid4().hex
        #: Grows with everything that happens here.
        self.number = 0
        self._changed = asyncio.Event()

    @property
    def members(self) -> tuple[str, ...]:
        """Who is present, in order of arrival; the first one may speak for all."""
        return tuple(self._present)

    @property
    def arrivals(self) -> Mapping[str, int]:
        """Who is present, with the number of when they came: whoever comes again has another."""
        return dict(self._present)

    def join(self, target: str) -> None:
        """Be present; a second call changes nothing."""
        if target in self._present:
            return
        for said in self._said.values():
            said.pop(target, None)
        self._present[target] = self.number + 1
        self._wake(target)

    def leave(self, target: str) -> None:
        """Be waited for no more; done for every task that ends, however it does."""
        if target in self._present:
            del self._present[target]
            self._wake(target)

    def post(self, target: str, topic: str, value: object) -> None:
        """Say something about a topic; a second value takes the place of the first."""
        said = self._said.setdefault(topic, {})
        said[target] = Word(topic, target, value, self.number + 1)
        self._latest[topic] = self.number + 1
        self._said.move_to_end(topic)
        while len(self._said) > _MOST_TOPICS:
            del self._latest[self._said.popitem(last=False)[0]]
        self._wake(target)

    def said(self, topic: str) -> Mapping[str, object]:
        """Return what was said about a topic so far, by target."""
        said = self._said.get(topic, {})
        return {target: word.value for target, word in said.items()}

    def said_since(self, number: int) -> list[Word]:
        """Return what was said after that number, as far as it is still known, oldest topic first.

        Whoever knows what was said until then knows all of it with this.
        """
        found: list[list[Word]] = []
        # Ordered by what was said last about each, so that most of it is not looked at.
        for topic, said in reversed(self._said.items()):
            if self._latest[topic] <= number:
                break
            found.append([word for word in said.values() if word.number > number])
        return [word for words in reversed(found) for word in words]

    def has_news(self, number: int, besides: Collection[str]) -> bool:
        """Say whether anybody else has come, said something or left after that number."""
        return any(did > number for target, did in self._did.items() if target not in besides)

    def said_by(self, target: str) -> Mapping[str, object]:
        """Return what somebody has said so far, by topic."""
        return {topic: said[target].value for topic, said in self._said.items() if target in said}

    @property
    def topics(self) -> tuple[str, ...]:
        """What something was said about, the oldest first."""
        return tuple(self._said)

    @contextlib.contextmanager
    def telling(self, listener: Callable[["Rendezvous"], None]) -> Iterator[None]:
        """Have somebody told of everything that happens here while the block lasts."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

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

    def _wake(self, target: str) -> None:
        self.number += 1
        self._did[target] = self.number
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for listener in tuple(self._listeners):
            listener(self)
