"""Delivers messages, a queue for each receiver; no run waits for it.

What cannot be delivered is tried again with growing pauses, for about half a day. When too
much waits for one receiver the oldest goes, counted. Delivery is at least once: a message that
was delivered is removed from the outbox up to a second later, so who is killed in between has it
sent again by the next process, under the same id. What was `kept` before it was posted is never
lost; everything else is saved within that second.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.model import backoffs, errors
from volary.model.runs import run_records
from volary.notifying import outbox, senders

_LOG = logging.getLogger(__name__)

#: Places of messages that are remembered, so that they can be edited.
_MOST_PLACES = 2000
_BACKOFF = backoffs.Backoff(timedelta(seconds=1), timedelta(minutes=10))
#: How long an outbox that cannot be written is left alone.
_UNSAVED = backoffs.Backoff(timedelta(seconds=1), timedelta(seconds=30))


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is held, and how long is tried."""

    #: Messages that wait for one receiver.
    waiting: int = 500
    backoff: backoffs.Backoff = _BACKOFF
    tries: int = 80
    #: Between two edits; Slack takes about one message a second in a channel.
    pace: timedelta = timedelta(seconds=1)
    #: Between two saves.
    save: timedelta = timedelta(seconds=1)


@dataclass(slots=True)
class _ReceiverQueue:
    """What waits for one receiver."""

    messages: deque[run_records.OutboxMessage] = field(default_factory=deque)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    #: The first message is being delivered, and may not be replaced.
    busy: bool = False
    dropped: int = 0


class DeliveryQueue:
    """Takes messages at once and delivers them while `keep_delivering` runs."""

    def __init__(
        self,
        receivers: Mapping[str, senders.Sender],
        box: outbox.Outbox,
        limits: Limits | None = None,
    ) -> None:
        self._senders = dict(receivers)
        self._box = box
        self._limits = limits or Limits()
        self._lines = {name: _ReceiverQueue() for name in receivers}
        self._places: dict[str, str] = {}
        self._changed = asyncio.Event()
        #: What the outbox holds, as far as is known: ids of messages, and places.
        self._kept: set[str] = set()
        self._kept_places: dict[str, str] = {}

    @property
    def dropped(self) -> int:
        """How many messages were dropped because too many waited."""
        return sum(line.dropped for line in self._lines.values())

    @property
    def waiting(self) -> int:
        """How many messages are not delivered yet."""
        return sum(len(line.messages) for line in self._lines.values())

    def has_place(self, receiver: str, topic: str) -> bool:
        """Say whether a message of that topic is there, or on its way."""
        waits = any(message.topic == topic for message in self._lines[receiver].messages)
        return waits or _place(receiver, topic) in self._places

    async def keep(self, messages: Sequence[run_records.OutboxMessage]) -> None:
        """Keep messages, then take them.

        Raises:
            errors.VolaryError: They cannot be kept now, or by this process.
        """
        if messages:
            await self._box.save(outbox.Change(added=tuple(messages)))
        for message in messages:
            self.post(message, kept=True)

    def post(self, message: run_records.OutboxMessage, *, kept: bool = False) -> None:
        """Take a message, which the outbox may hold already (`kept`); returns at once."""
        if kept:
            self._kept.add(message.id)
            self._changed.set()
        line = self._lines.get(message.receiver)
        if line is None:
            return  # the settings no longer name it
        if kept and any(waiting.id == message.id for waiting in line.messages):
            return
        if message.reply or not message.topic or not self._replace(line, message):
            line.messages.append(message)
            self._shorten(message.receiver, line)
        line.woken.set()
        self._changed.set()

    async def keep_delivering(self) -> None:
        """Deliver until cancelled; what is left is saved then."""
        await self._load()
        try:
            async with asyncio.TaskGroup() as group:
                for name in self._lines:
                    group.create_task(self._serve(name), name=f"notify {name}")
                group.create_task(self._keep_saving(), name="save notifications")
        finally:
            saved = await self._save()
            # Whoever delivers next, maybe another process, begins with what is kept.
            for line in self._lines.values():
                left = [one for one in line.messages if not saved and one.id not in self._kept]
                line.messages = deque(left)
            self._kept.clear()
            self._places.clear()

    def _replace(self, line: _ReceiverQueue, message: run_records.OutboxMessage) -> bool:
        """Put a message in the place of one of its topic that waits; say whether there was one."""
        for index, waiting_message in enumerate(line.messages):
            if (
                waiting_message.topic != message.topic
                or waiting_message.reply
                or (line.busy and index == 0)
            ):
                continue
            line.messages[index] = message
            return True
        return False

    def _shorten(self, name: str, line: _ReceiverQueue) -> None:
        while len(line.messages) > self._limits.waiting:
            del line.messages[1 if line.busy else 0]
            line.dropped += 1
            if line.dropped == 1 or line.dropped % 100 == 0:
                _LOG.warning(
                    "receiver %s does not keep up: %d notifications were dropped so far",
                    name,
                    line.dropped,
                )

    async def _serve(self, name: str) -> None:
        line = self._lines[name]
        while True:
            line.woken.clear()
            while line.messages:
                message, line.busy = line.messages[0], True
                try:
                    await self._deliver(name, message)
                    line.messages.popleft()
                finally:
                    line.busy = False
                self._changed.set()
                if message.topic:
                    await asyncio.sleep(self._limits.pace.total_seconds())
            await line.woken.wait()

    async def _deliver(self, name: str, message: run_records.OutboxMessage) -> None:
        """Try until it is delivered, or there is no hope."""
        place = _place(name, message.topic) if message.topic else ""
        for attempt in range(1, self._limits.tries + 1):
            try:
                message_place = await self._senders[name].send(message, self._places.get(place, ""))
            except errors.TemporaryError as error:
                if attempt == 1:
                    _LOG.warning("receiver %s takes nothing now: %s; trying again", name, error)
                delay = error.delay or self._limits.backoff.after(attempt)
                await asyncio.sleep(delay.total_seconds())
                continue
            except errors.PermanentError as error:
                _LOG.warning("receiver %s did not get a notification: %s", name, error)
                return
            if attempt > 1:
                _LOG.info("receiver %s takes notifications again", name)
            self._remember(place, message_place)
            return
        _LOG.warning("receiver %s did not get a notification in time", name)

    def _remember(self, place: str, message_place: str) -> None:
        if place and message_place:
            self._places[place] = message_place
            while len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]

    async def _load(self) -> None:
        try:
            kept = await self._box.load()
        except errors.TemporaryError as error:
            _LOG.warning("undelivered notifications cannot be read: %s", error)
            return
        self._kept |= {message.id for message in kept.messages}
        self._kept_places = dict(kept.places)
        self._places = {**kept.places, **self._places}
        waiting = {message.id for line in self._lines.values() for message in line.messages}
        for message in reversed(kept.messages):
            line = self._lines.get(message.receiver)
            if line is not None and message.id not in waiting:
                line.messages.appendleft(message)

    async def _keep_saving(self) -> None:
        failures = 0
        while True:
            await self._changed.wait()
            pause = max(self._limits.save, _UNSAVED.after(failures) if failures else timedelta())
            await asyncio.sleep(pause.total_seconds())
            if await self._save():
                failures = 0
            else:
                failures += 1
                self._changed.set()  # maybe nothing else ever changes

    async def _save(self) -> bool:
        """Keep what waits; say whether that was possible."""
        self._changed.clear()
        waiting = [message for line in self._lines.values() for message in line.messages]
        added = tuple(message for message in waiting if message.id not in self._kept)
        removed = frozenset(self._kept - {message.id for message in waiting})
        places = dict(self._places)
        is_same = places == self._kept_places
        if is_same and not added and not removed:
            return True
        try:
            await self._box.save(outbox.Change(added, removed, None if is_same else places))
        except errors.VolaryError as error:
            _LOG.warning("undelivered notifications cannot be saved: %s", error)
            return False
        self._kept -= removed
        self._kept |= {message.id for message in added}
        self._kept_places = places
        return True


def _place(receiver: str, topic: str) -> str:
    return f"{receiver}\n{topic}"
