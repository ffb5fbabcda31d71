"""What a container answers: who it is, with the errors and the latency it was told to have.

A request may ask for more patience: ``?latency=10s`` is answered as late, ``/stream?for=10s`` says
who it is ten times a second for as long. As a WebSocket it says so once, then sends each message
back.
"""

import asyncio
import json as text
import random
from collections.abc import Callable

from kube_sandbox import errors
from kube_sandbox.controllers.kubelet import behaviours
from kube_sandbox.dataplane.protocols import http1, listeners, websocket
from kube_sandbox.dataplane.servers import counters, exposition

METRICS = "/metrics"
STREAM = "/stream"
#: Paths of probes; they are not counted, as nobody's users ask for them.
PROBES = ("/ready", "/readyz", "/health", "/healthz", "/livez")
#: An answer takes from so much to so much of the told latency.
_SPREAD = (0.75, 1.25)
_ASKED = {"latency", "for"}
#: Seconds.
_STREAM_LENGTH = 10.0
_STREAM_PERIOD = 0.1


class Answers:
    """Answers for one container of one pod."""

    def __init__(
        self,
        identity: exposition.Identity,
        behaviour: Callable[[], behaviours.Behaviour],
        chance: random.Random,
    ) -> None:
        self.identity = identity
        self.counted = counters.Counters()
        #: Asked for each request, so that a changed image rule is felt at once.
        self._behaviour = behaviour
        self._chance = chance
        self._events = asyncio.get_running_loop()
        self._headers = (
            ("content-type", "application/json"),
            ("x-version", identity.version),
            ("x-variant", identity.variant),
            ("x-pod", identity.pod),
            ("x-cluster", identity.cluster),
        )
        self._body = text.dumps(
            {
                "version": identity.version,
                "variant": identity.variant,
                "pod": identity.pod,
                "namespace": identity.namespace,
                "cluster": identity.cluster,
            }
        ).encode()

    def handle(self, request: http1.Request, respond: listeners.Respond) -> None:
        """Answer a request."""
        path = request.path
        if path == METRICS:
            body = exposition.write(self.identity, self.counted)
            respond(http1.Response(200, (("content-type", exposition.CONTENT_TYPE),), body))
            return
        behaviour = self._behaviour()
        if path in PROBES:
            respond(http1.Response(503 if behaviour.never_ready else 200, self._headers))
            return
        if websocket.is_asked_for(request):
            respond(websocket.echo(request, self._headers, self._body))
            return
        try:
            asked = {
                key: behaviours.seconds(request.query[key]) for key in _ASKED & set(request.query)
            }
        except errors.UserError as problem:
            respond(http1.Response(400, (), f"{problem}\n".encode()))
            return
        if path == STREAM:
            length = asked.get("for", _STREAM_LENGTH)
            respond(http1.Stream(200, self._headers, lambda sink: _Flow(sink, self._body, length)))
            return
        started = self._events.time()
        failed = behaviour.error_rate > 0 and self._chance.random() < behaviour.error_rate
        status = 500 if failed else 200
        if "latency" in asked or behaviour.latency:
            seconds = asked.get("latency", behaviour.latency * self._chance.uniform(*_SPREAD))
            self._events.call_later(seconds, self._answer, request.method, status, started, respond)
        else:
            self._answer(request.method, status, started, respond)

    def _answer(self, method: str, status: int, started: float, respond: listeners.Respond) -> None:
        now = self._events.time()
        self.counted.observe(method, status, now - started, now=now)
        body = self._body if status < 500 else b'{"error": "the sandbox was told to fail"}'
        respond(http1.Response(status, self._headers, body))


class _Flow:
    """Says the same again and again for so many seconds; see `http1.Exchange`."""

    def __init__(self, sink: http1.Sink, line: bytes, length: float) -> None:
        self._sink = sink
        self._line = line + b"\n"
        self._events = asyncio.get_running_loop()
        self._end = self._events.time() + length
        self._next = self._events.call_soon(self._say)

    def feed(self, data: bytes) -> None:
        """The client has nothing to say."""

    def part(self) -> None:
        """It ends by itself."""

    def lost(self) -> None:
        self._next.cancel()

    def _say(self) -> None:
        if self._events.time() >= self._end:
            self._sink.end()
            return
        self._sink.write(self._line)
        self._next = self._events.call_later(_STREAM_PERIOD, self._say)
