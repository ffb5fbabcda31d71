"""Asks the servers what tasks need: whichever answers first, and the next one where it does not."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import msgspec

from volary.agents.tasks import meeting_values, services
from volary.analysis.metering import meters
from volary.http_client import answers
from volary.model import analysis, errors, json
from volary.stages.runtime import task_states

Value = TypeVar("Value")
#: Below the address of a server.
PATH = "/api/v1/agent"
_PATIENCE = aiohttp.ClientTimeout(total=30, connect=5)
#: Bytes of an answer; artifacts are the longest.
_LARGEST = 80 * 2**20
_OK, _MULTIPLE = 200, 300
#: Who asks is not known: not any more, or not yet. A person has to act, or has done so just now.
_UNKNOWN = (401, 403)
#: Seconds of such answers after which it is no rotation that is on its way.
_ROTATION = 60.0
_LATER = (408, 429)
_BROKEN = 500
_LONGEST_REASON = 500


@dataclass(slots=True)
class ServerServices:
    """See `services.Services`."""

    session: aiohttp.ClientSession
    #: The token to show, as it is now.
    token: Callable[[], str] = field(repr=False)
    #: The addresses of the servers, as they are known now.
    servers: Callable[[], Sequence[str]]
    #: Seconds of being refused after which who asks is not known any more.
    rotation: float = _ROTATION
    #: That answered last.
    _last: str = field(default="", init=False)
    #: That had something open last at which tasks meet.
    _leader: str = field(default="", init=False)
    #: When it was first said that who asks is not known, since it was; None: it is.
    _unknown_since: float | None = field(default=None, init=False)
    _is_unknown: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def until_unknown(self) -> None:
        """Return when servers have said for so long that who asks is not known."""
        await self._is_unknown.wait()

    async def artifact(self, digest: str, target: str) -> bytes:
        """Return the bytes of an artifact for a cluster."""
        return await self._ask("artifact", {"digest": digest, "target": target})

    async def admit(self, place: task_states.TaskAttempt) -> None:
        """Agree that a task is carried out."""
        await self._ask("admit", {"place": place})

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        """Return what was saved last."""
        return await self._read("state/load", {"place": place}, dict[str, Any])

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document."""
        await self._ask("state/save", {"place": place, "document": document})

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before."""
        return await self._read("state/found", {"place": place}, list[dict[str, Any]])

    async def recall(self, run: str, target: str, name: str) -> json.JsonObject:
        """Return what an earlier run kept."""
        asked = {"run": run, "target": target, "name": name}
        return await self._read("state/recall", asked, dict[str, Any])

    async def keep(self, run: str, target: str, name: str, document: json.JsonObject) -> None:
        """Keep the document for later runs."""
        asked = {"run": run, "target": target, "name": name, "document": document}
        await self._ask("state/keep", asked)

    async def report(self, reports: Sequence[services.Report]) -> Sequence[str]:
        """Keep what tasks said."""
        plain = meeting_values.finite(msgspec.to_builtins(reports))
        return await self._read("report", {"reports": plain}, list[str])

    async def measure(
        self, run: str, questions: Sequence[meters.Question]
    ) -> Sequence[analysis.Measurement]:
        """Ask a system of metrics."""
        document = meeting_values.finite(services.write_questions(questions))
        answer = await self._ask("measure", {"run": run, "asked": document})
        try:
            # Not strict: NaN and infinities are texts.
            return json.convert(json.decode(answer), list[analysis.Measurement], strict=False)
        except json.UNREADABLE as error:
            raise errors.PermanentError("the server's answer cannot be read") from error

    async def meet(
        self, meetings: Sequence[services.Meeting], *, wait: float = 0.0
    ) -> Sequence[services.Met]:
        """Say something to the other tasks of stages, and hear what they say.

        Each is answered by the first server that has it open: while another one begins to lead,
        these may be several. Then nobody waits, so that what one has to say is heard.
        """
        met: dict[int, services.Met] = {}
        open_at: set[int] = set()
        why: errors.TemporaryError | None = None
        for address in self._addresses(self._leader):
            rest = [each for each in range(len(meetings)) if each not in open_at]
            asked = [meetings[each] for each in rest]
            seconds = 0.0 if open_at else wait
            text = msgspec.json.encode({"meetings": asked, "wait": seconds})
            try:
                answer = _read(await self._ask_one(address, "meet", text), list[services.Met])
            except errors.TemporaryError as error:
                why = errors.TemporaryError(f"{address}: {error}")
                continue
            met |= zip(rest, answer, strict=True)
            here = {each for each in rest if met[each].is_refused or not met[each].trouble}
            if here and not open_at:
                self._leader = address
            open_at |= here
            if len(open_at) == len(meetings):
                break
        if not met:
            raise why or errors.TemporaryError("no server is known")
        return [met[each] for each in range(len(meetings))]

    async def _read(self, path: str, body: Any, kind: type[Value]) -> Value:
        return _read(await self._ask(path, body), kind)

    async def _ask(self, path: str, body: Any) -> bytes:
        """Return the answer of the first server that gives one.

        Raises:
            errors.PermanentError: It refuses.
            errors.TemporaryError: None answers now.
        """
        text = msgspec.json.encode(body)
        why = "no server is known"
        for address in self._addresses(self._last):
            try:
                answer = await self._ask_one(address, path, text)
            except errors.TemporaryError as error:
                why = f"{address}: {error}"
                continue
            self._last = address
            return answer
        raise errors.TemporaryError(why)

    def _addresses(self, first: str) -> list[str]:
        return sorted(self.servers(), key=lambda address: address != first)

    async def _ask_one(self, address: str, path: str, text: bytes) -> bytes:
        try:
            async with self.session.post(
                f"{address.rstrip('/')}{PATH}/{path}",
                data=text,
                headers={
                    "content-type": "application/json",
                    "authorization": f"Bearer {self.token()}",
                },
                timeout=_PATIENCE,
                allow_redirects=False,
            ) as answer:
                body = await answers.read_whole(answer, _LARGEST)
                status = answer.status
        except errors.UserError as error:  # the token cannot be read now
            raise errors.TemporaryError(str(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError, answers.TooLargeError) as error:
            raise errors.TemporaryError(f"cannot be reached ({type(error).__name__})") from error
        if _OK <= status < _MULTIPLE:
            self._unknown_since = None
            return body
        if status in _UNKNOWN:
            self._note_unknown()
        reason = _reason(body) or f"HTTP {status}"
        if status >= _BROKEN or status in (*_LATER, *_UNKNOWN):
            raise errors.TemporaryError(reason)
        raise errors.PermanentError(f"the server refuses: {reason}")

    def _note_unknown(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._unknown_since is None:
            self._unknown_since = now
        if now - self._unknown_since >= self.rotation:
            self._is_unknown.set()


def _read(answer: bytes, kind: type[Value]) -> Value:
    try:
        return json.decode(answer, kind)
    except json.UNREADABLE as error:
        raise errors.PermanentError("the server's answer cannot be read") from error


def _reason(body: bytes) -> str:
    try:
        problem = json.decode(body)
    except json.UNREADABLE:
        return ""
    detail = problem.get("detail") if isinstance(problem, dict) else None
    return str(detail)[:_LONGEST_REASON] if detail else ""
