"""Sending recorded requests to a cluster, in a namespace of their own."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from truth import compare

Json = dict[str, Any]

#: The recordings were made with a client whose field manager is ``Python``.
_AGENT = "Python/3 recorded"
#: Objects every namespace of the sandbox has; the recorded cluster ran no publisher of them.
_FURNITURE = ("kube-root-ca.crt",)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    content_type: str
    warnings: list[str]
    body: Any

    def as_recorded(self) -> Json:
        """Return it in the form of a recording."""
        told: Json = {"status": self.status, "body": self.body}
        if self.warnings:
            told["warnings"] = self.warnings
        if self.content_type != "application/json":
            told["contentType"] = self.content_type
        return told


class Player:
    """Plays recorded exchanges to one cluster."""

    def __init__(self, url: str, token: str, namespace: str) -> None:
        self._url = url
        self._token = token
        self.namespace = namespace
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Player"]:
        connector = aiohttp.TCPConnector(ssl=False)
        async with aiohttp.ClientSession(connector=connector) as session:
            self._session = session
            yield self

    @property
    def session(self) -> aiohttp.ClientSession:
        assert self._session is not None
        return self._session

    def headers(self, request: Json) -> dict[str, str]:
        found = {"User-Agent": _AGENT, "Accept": request.get("accept", "application/json")}
        if request.get("authenticated", True):
            found["Authorization"] = f"Bearer {self._token}"
        headers = request.get("headers") or {}
        for name, value in headers.items():
            found[name] = str(value).replace("{ns}", self.namespace)
        if "contentType" in request:
            found["Content-Type"] = request["contentType"]
        return found

    def address(self, request: Json) -> str:
        return self._url + str(request["path"]).replace("{ns}", self.namespace)

    async def send(self, request: Json) -> Answer:
        """Send a recorded request."""
        body = request.get("body")
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        async with self.session.request(
            request["method"],
            self.address(request),
            params=request.get("query"),
            headers=self.headers(request),
            data=None if text is None else text.replace("{ns}", self.namespace),
        ) as response:
            raw = await response.text()
            return Answer(
                response.status,
                response.content_type,
                response.headers.getall("Warning", []),
                self.read(raw, response.content_type, watch=_is_watch(request)),
            )

    def read(self, raw: str, content_type: str, *, watch: bool) -> Any:
        """Read a body as the recordings have it: the namespace masked, events as a list."""
        raw = raw.replace(self.namespace, "<ns>")
        if content_type != "application/json":
            return raw
        if watch:
            return [
                each for line in raw.splitlines() if not _is_furniture(each := json.loads(line))
            ]
        body = json.loads(raw)
        if isinstance(body.get("items"), list):
            body["items"] = [each for each in body["items"] if not _is_furniture({"object": each})]
        return body

    async def settle(
        self, request: Json, matches: Callable[[Answer], bool], seconds: float
    ) -> Answer:
        """Repeat a reading request until its answer is the recorded one, or time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        answer = await self.send(request)
        while not matches(answer) and loop.time() < deadline:
            await asyncio.sleep(0.05)
            answer = await self.send(request)
        return answer

    async def watch(
        self, request: Json, during: Callable[[], AsyncIterator[None]], count: int, quiet: float
    ) -> list[Json]:
        """Watch from now while `during` runs; return `count` events, or what came until quiet."""
        listing = await self.send({**request, "method": "GET"})
        version = listing.body["metadata"]["resourceVersion"]
        query = {**(request.get("query") or {}), "watch": "1", "resourceVersion": version}
        events: list[Json] = []
        async with self.session.get(
            self.address(request), params=query, headers=self.headers(request)
        ) as response:
            async for _ in during():
                pass
            try:
                while len(events) < count:
                    async with asyncio.timeout(quiet):
                        line = await response.content.readline()
                    if not line:
                        break
                    events.append(json.loads(line.decode().replace(self.namespace, "<ns>")))
            except TimeoutError:
                pass
        return events


def _is_watch(request: Json) -> bool:
    return (request.get("query") or {}).get("watch") in ("1", "True", "true")


def _is_furniture(event: Json) -> bool:
    name = (event["object"].get("metadata") or {}).get("name", "")
    return name in _FURNITURE


def found_differences(
    recorded: Json, answer: Answer, *, managed: bool = False, racing: bool = False
) -> list[compare.Difference]:
    """Compare an answer with the recorded one."""
    expected = {key: value for key, value in recorded.items() if value is not None}
    if expected.get("contentType") == "application/json":
        del expected["contentType"]
    actual = answer.as_recorded()
    if isinstance(expected["body"], list):
        # A recorded watch was cut off after its last event.
        actual["body"] = actual["body"][: len(expected["body"])]
    if racing and answer.status < 300:
        expected["body"] = compare.without_races(expected["body"])
        actual["body"] = compare.without_races(actual["body"])
    return compare.differences(expected, actual, managed=managed)
