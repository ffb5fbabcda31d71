"""Where tasks of a stage meet that are carried out in several processes.

The place is that of the leader. Who works elsewhere has a mirror of it: what the others say comes
there, and what is said here goes to the leader. After another process has become the leader its
place is empty, so all that was said is said again.

A process hears with one request for all of its tasks, which the server answers once there is
something new for any of them, and a second one for those that have begun meanwhile. What its tasks
say goes with one request at a time. So the connections to a server do not grow with the tasks.
"""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from volary.agents.tasks import meeting_values, remote_state, services
from volary.concurrency import background_tasks, retries
from volary.engine import executor
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.stages.runtime import rendezvouses

#: Seconds that leaving may take; who does not say so is missed after a while anyway.
_FAREWELL = 5.0
#: Seconds in which what tasks say is gathered, so that it is said together.
_GATHERED = 0.01
#: Seconds that an answer with something new is waited for; of tasks that have just begun, so that
#: those that begin meanwhile are heard for soon.
_WAIT, _SHORT_WAIT = 10.0, 1.0
#: Seconds until it is asked again where some stages were not open in the server.
_AGAIN = 0.5
#: Bytes that are said with one request, unless one task alone says more.
_MOST_SAID = 2**20
#: Numbers of what was heard that are kept before those are forgotten that nobody needs.
_MOST_HEARD = 10_000
#: For the log.
_HEARING = "what tasks hear of other clusters"


class Meetings:
    """The meetings of all tasks that one process carries out."""

    def __init__(self, server: services.Services) -> None:
        self._server = server
        self._rooms: dict[tuple[str, str], _Room] = {}
        #: Those that are heard for; when there are others as well.
        self._heard_for: set[_Room] = set()
        self._begun = asyncio.Event()
        #: Held until the last of them has left.
        self._hearing: asyncio.Task[None] | None = None
        self._waiting: deque[_Saying] = deque()
        self._sending: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def shared(
        self, here: rendezvouses.Rendezvous, task: executor.TaskContext
    ) -> AsyncIterator[None]:
        """Have a rendezvous of this process be that of the stage, wherever its tasks are.

        Those of stages that have nothing to say to each other are left alone.

        Raises:
            errors.PermanentError: The server refuses.
        """
        if not _meets(task.stage):
            yield
            return
        key = (task.run_id, task.stage_id)
        room = self._rooms.setdefault(key, _Room(*key))
        mirror = _Mirror(here, task.target)
        room.mirrors.append(mirror)
        try:
            with here.telling(mirror.wake):
                # Those that are there already have to be seen before the first word.
                await self._say(room, mirror)
                self._hear_others()
                async with (
                    background_tasks.in_background(self._keep_saying(room, mirror)),
                    background_tasks.in_background(mirror.until_failed()),
                ):
                    yield
        finally:
            room.mirrors.remove(mirror)
            if not room.mirrors and self._rooms.get(key) is room:
                del self._rooms[key]
            if not self._rooms and self._hearing is not None:
                self._hearing.cancel()
                self._hearing = None
            await self._leave(room, mirror)

    async def _say(self, room: "_Room", mirror: "_Mirror") -> None:
        """Say what is new in a mirror, and hear what is new there."""
        place, said, new = room.place, *mirror.news()
        written = {topic: meeting_values.write(value) for topic, value in new.items()}
        known = {topic: text for topic, text in written.items() if text is not None}
        met = await retries.until_available(
            lambda: self._exchange(_Saying(room, mirror.target, known)),
            room.run,
            remote_state.SERVER,
        )
        if met.place == room.place:
            mirror.is_there = True
            if place == met.place or len(new) == len(said):
                mirror.told = said

    async def _keep_saying(self, room: "_Room", mirror: "_Mirror") -> None:
        """Say what is new in a mirror as soon as it is said, until cancelled."""
        while True:
            mirror.woken.clear()
            if not mirror.is_there or mirror.news()[1]:
                await self._say(room, mirror)
            else:
                await mirror.woken.wait()

    async def _leave(self, room: "_Room", mirror: "_Mirror") -> None:
        """Say that a task is there no more."""
        if any(other.target == mirror.target for other in room.mirrors):
            return  # the next attempt at it is there already
        with contextlib.suppress(errors.VolaryError, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await self._exchange(_Saying(room, mirror.target, None))

    async def _exchange(self, saying: "_Saying") -> services.Met:
        """Have something said with what others say in this moment.

        Raises:
            errors.TemporaryError: Nobody takes it now.
            errors.PermanentError: It is refused.
        """
        self._waiting.append(saying)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())  # noqa: TID251 (held here)
        return await saying.answered

    async def _send(self) -> None:
        """Say what waits to be said; one request at a time, so that it comes in order."""
        await asyncio.sleep(_GATHERED)
        while self._waiting:
            batch = self._next()
            if not batch:
                continue
            asked = [
                room.meeting({one.target: one.said for one in said}) for room, said in batch.items()
            ]
            try:
                met = await self._server.meet(asked)
                for room, meeting, answer in zip(batch, asked, met, strict=True):
                    room.take(meeting, answer)
            except Exception as error:  # noqa: BLE001 (whoever said it is told)
                for saying in itertools.chain(*batch.values()):
                    saying.fail(error)
                continue
            for answer, said in zip(met, batch.values(), strict=True):
                for saying in said:
                    saying.end(answer)

    def _next(self) -> "dict[_Room, list[_Saying]]":
        """Take what is said next, by room; of each cluster one thing, so that it is in order."""
        batch: dict[_Room, list[_Saying]] = {}
        size = 0
        while self._waiting:
            saying = self._waiting[0]
            known = batch.get(saying.room, [])
            size += saying.size
            is_next = any(one.target == saying.target for one in known)
            is_full = size > _MOST_SAID or len(batch) >= services.MOST_MEETINGS
            if is_next or (batch and is_full):
                break
            self._waiting.popleft()
            if not saying.answered.cancelled():
                batch.setdefault(saying.room, []).append(saying)
        return batch

    def _hear_others(self) -> None:
        """Hear for the tasks that are there now."""
        self._begun.set()
        if self._hearing is None or self._hearing.done():
            hearing = asyncio.create_task(self._keep_hearing())  # noqa: TID251 (held here)
            self._hearing = hearing
            self._hearing.add_done_callback(self._after_hearing)

    def _after_hearing(self, hearing: "asyncio.Task[None]") -> None:
        """Have every task fail that would hear nothing any more."""
        if not hearing.cancelled() and (error := hearing.exception()) is not None:
            for room in self._rooms.values():
                room.fail(error)

    async def _keep_hearing(self) -> None:
        """Hear what is new there, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_hearing_for_all())
            group.create_task(self._keep_hearing_for_new_ones())

    async def _keep_hearing_for_all(self) -> None:
        while True:
            self._heard_for = set(itertools.islice(self._rooms.values(), services.MOST_MEETINGS))
            await self._hear(list(self._heard_for), _WAIT)

    async def _keep_hearing_for_new_ones(self) -> None:
        while True:
            self._begun.clear()
            new = [room for room in self._rooms.values() if room not in self._heard_for]
            if new:
                await self._hear(new[: services.MOST_MEETINGS], _SHORT_WAIT)
            else:
                await self._begun.wait()

    async def _hear(self, rooms: "list[_Room]", seconds: float) -> None:
        """Hear what is new in some rooms, once there is something, or that there is nothing."""

        async def hear() -> None:
            asked = [room.meeting({}) for room in rooms]
            met = await self._server.meet(asked, wait=seconds)
            for room, meeting, answer in zip(rooms, asked, met, strict=True):
                room.take(meeting, answer)
            if any(answer.trouble for answer in met):
                await asyncio.sleep(_AGAIN)

        try:
            await retries.until_available(hear, _HEARING, remote_state.SERVER)
        except errors.VolaryError as error:
            for room in rooms:
                room.fail(error)
            await asyncio.sleep(_AGAIN)


def _meets(stage: pipelines.Stage) -> bool:
    return stage.kind.meets or stage.beside is not None


@dataclass(slots=True, eq=False)
class _Mirror:
    """What one task of this process has of a place."""

    here: rendezvouses.Rendezvous
    target: str
    #: The place has this task among those that are there, as far as is known.
    is_there: bool = False
    #: It has been told all that was said before it came.
    is_complete: bool = False
    #: What the place was told, by topic.
    told: Mapping[str, object] = field(default_factory=dict)
    #: What was heard last, by topic and cluster, and when each cluster came: by numbers.
    heard: dict[tuple[str, str], int] = field(default_factory=dict)
    most_heard: int = _MOST_HEARD
    arrivals: dict[str, int] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    #: Why the task may not meet others any more.
    error: BaseException | None = None
    failed: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self, _: rendezvouses.Rendezvous | None = None) -> None:
        """Have a look whether there is something to say."""
        self.woken.set()

    async def until_failed(self) -> None:
        """Wait until the task may not meet others any more, and raise why."""
        await self.failed.wait()
        if self.error is not None:
            raise self.error

    def news(self) -> tuple[Mapping[str, object], Mapping[str, object]]:
        """Return what was said here so far, and what of it the place was not told."""
        said = self.here.said_by(self.target)
        return said, {
            topic: value for topic, value in said.items() if self.told.get(topic) is not value
        }

    def begin_again(self, *, is_new_place: bool) -> None:
        """Say all of it again, to a place that has not heard it."""
        if is_new_place:
            self.heard, self.arrivals = {}, {}
        self.told, self.is_there = {}, False
        self.wake()

    def see(self, arrivals: Mapping[str, int]) -> None:
        """Have those be here that are there, and no others."""
        for member in self.here.members:
            if member != self.target and member not in arrivals:
                self.here.leave(member)
        for member, number in arrivals.items():
            if member == self.target:
                continue
            if self.arrivals.get(member, number) != number:
                # It was away meanwhile, and what it had said counts no more.
                self.here.leave(member)
            self.here.join(member)
        self.arrivals = dict(arrivals)

    def hear(self, word: services.Word) -> None:
        """Have something be said here that was said there."""
        key = (word.topic, word.target)
        if word.target == self.target or self.heard.get(key, 0) >= word.number:
            return
        self.heard[key] = word.number
        value = meeting_values.read(word.value)
        if value is not None:
            self.here.post(word.target, word.topic, value)

    def forget(self) -> None:
        """Forget what is not known here any more."""
        topics = set(self.here.topics)
        self.heard = {key: number for key, number in self.heard.items() if key[0] in topics}
        self.most_heard = max(_MOST_HEARD, 2 * len(self.heard))


@dataclass(slots=True, eq=False)
class _Room:
    """What this process has of a place: a mirror for each of its tasks there."""

    run: str
    stage: str
    mirrors: list[_Mirror] = field(default_factory=list)
    #: Of the place that is mirrored, and up to which number all of it has been heard.
    place: str = ""
    seen: int = 0

    def meeting(self, said: "Mapping[str, Mapping[str, Any] | None]") -> services.Meeting:
        """Return what some say, None: it leaves; and what all want to hear."""
        is_complete = all(mirror.is_complete for mirror in self.mirrors)
        return services.Meeting(
            self.run,
            self.stage,
            {target: words for target, words in said.items() if words is not None},
            tuple(target for target, words in said.items() if words is None),
            tuple({mirror.target for mirror in self.mirrors}),
            self.place,
            self.seen if is_complete else 0,
        )

    def take(self, asked: services.Meeting, met: services.Met) -> None:
        """Have what is there be here as well."""
        if met.is_refused:
            self.fail(errors.PermanentError(met.trouble))
        is_overtaken = met.place == asked.place and asked.place != self.place
        if met.trouble or is_overtaken:
            return
        is_new_place = met.place != self.place
        is_newest = is_new_place or met.number >= self.seen
        if is_new_place:
            is_first = not self.place
            self.place, self.seen = met.place, 0
            for mirror in self.mirrors if not is_first else ():
                mirror.begin_again(is_new_place=True)
        for mirror in self.mirrors:
            self._show(mirror, met, is_newest=is_newest)
            if asked.seen == 0 or is_new_place:
                mirror.is_complete = True
        self.seen = max(self.seen, met.number)

    def _show(self, mirror: _Mirror, met: services.Met, *, is_newest: bool) -> None:
        if is_newest:
            if mirror.is_there and mirror.target not in met.members:
                mirror.begin_again(is_new_place=False)
            mirror.see(met.members)
        for word in met.said:
            mirror.hear(word)
        if len(mirror.heard) > mirror.most_heard:
            mirror.forget()

    def fail(self, error: BaseException) -> None:
        """Have every task fail that is here."""
        for mirror in self.mirrors:
            mirror.error = error
            mirror.failed.set()


@dataclass(slots=True, eq=False)
class _Saying:
    """What one task says, and who waits for it to be heard."""

    room: _Room
    target: str
    #: By topic; None: it leaves.
    said: Mapping[str, Any] | None
    answered: "asyncio.Future[services.Met]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        return len(msgspec.json.encode(self.said)) if self.said else 0

    def fail(self, error: Exception) -> None:
        """Say that it was not heard."""
        if not self.answered.done():
            self.answered.set_exception(error)

    def end(self, met: services.Met) -> None:
        """Say that it was heard, or why it was not."""
        if met.is_refused:
            self.fail(errors.PermanentError(met.trouble))
        elif met.trouble:
            self.fail(errors.TemporaryError(met.trouble))
        elif not self.answered.done():
            self.answered.set_result(met)
