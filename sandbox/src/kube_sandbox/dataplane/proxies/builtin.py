"""The built-in proxy of a cluster: requests to a Service's name or a router's host.

It follows the same objects that real proxies follow, at once; or endpoints at once and routes
with a lag, which is the worst of the orders in which real ones hear of changes. A request
goes where a draw by weight leads it, to the pods of that backend in turn. No other pod is
tried when one fails: what a rollout loses is to be seen.
"""

import asyncio
import random
from dataclasses import dataclass, field, replace

from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.protocols import connections, http1, listeners
from kube_sandbox.dataplane.proxies import backends
from kube_sandbox.dataplane.routes import lookup, matching, route_rules

#: The port on the cluster's gateway address.
PORT = 8080
#: Where requests without a namespace in their host go.
_HOME = "default"
_CHANGES = lookup.KINDS | {"pods"}


#: Namespace, Service, port and subset of a backend.
_Key = tuple[str, str, int | None, str]


@dataclass(slots=True)
class _Known:
    """What is known of a host until the cluster changes."""

    routes: route_rules.Routes | None
    addresses: dict[_Key, list[tuple[str, int]]] = field(default_factory=dict)


class Proxy:
    """Answers for all Services of one cluster."""

    def __init__(self, seen: view.View, *, seed: int | None, lag: float = 0.0) -> None:
        self._seen = seen
        self._lag = lag
        self._events = asyncio.get_running_loop()
        #: Changes that are known later.
        self._due: dict[int, asyncio.TimerHandle] = {}
        self._number = 0
        self._chance = random.Random(seed)
        self._pool = connections.Pool()
        self._known: dict[str, _Known] = {}
        self._turns: dict[_Key, int] = {}

    def note(self, change: storage.Change) -> None:
        """Take in a change of the cluster."""
        if change.bucket not in _CHANGES:
            return
        if not self._lag:
            self._known.clear()
            return
        for known in self._known.values():
            known.addresses.clear()
        if change.bucket in lookup.KINDS:
            routes = {host: lookup.find(self._seen, host, _HOME) for host in self._known}
            self._number += 1
            number = self._number
            self._due[number] = self._events.call_later(self._lag, self._follow, number, routes)

    def _follow(self, number: int, routes: dict[str, route_rules.Routes | None]) -> None:
        """Know from now on what was so when the change came."""
        del self._due[number]
        self._known.update({host: _Known(found) for host, found in routes.items()})

    async def close(self) -> None:
        """Break all connections."""
        for each in self._due.values():
            each.cancel()
        await self._pool.close()

    def handle(self, request: http1.Request, respond: listeners.Respond) -> None:
        """Pass a request on."""
        host = request.header("host").partition(":")[0].lower()
        known = self._known.get(host)
        if known is None:
            known = self._known[host] = _Known(lookup.find(self._seen, host, _HOME))
        if known.routes is None:
            respond(_refusal(404, f"no Service and no route for {host}"))
            return
        rule = matching.choose(known.routes, request.method, request.target, request.headers)
        if rule is None and known.routes.falls_through:
            rule = lookup.plain(*route_rules.service_of(host, _HOME)).rules[0]
        if rule is None:
            respond(_refusal(404, f"no rule of {known.routes.source} fits"))
            return
        backend = matching.draw(rule, self._chance.random())
        if backend is None:
            respond(_refusal(503, f"{known.routes.source} gives no backend a weight"))
            return
        self._copy(known, rule, request)
        self._pass(known, backend, request, respond)

    def _pass(
        self,
        known: _Known,
        backend: route_rules.Backend,
        request: http1.Request,
        respond: listeners.Respond,
    ) -> None:
        address = self._next(known, backend)
        if address is None:
            title = f"{backend.namespace}/{backend.service} {backend.subset_name}".strip()
            respond(_refusal(503, f"no ready endpoint of {title}"))
            return

        def done(result: http1.Response | connections.Failure) -> None:
            if isinstance(result, connections.Failure):
                respond(_refusal(502, f"{address[0]}:{address[1]}: {result.reason}"))
                return
            kept = [each for each in result.headers if each[0].lower() not in http1.HOP_BY_HOP]
            respond(replace(result, headers=(*kept, *backend.response_headers)))

        self._pool.send(address, _forwarded(request), done)

    def _copy(self, known: _Known, rule: route_rules.Rule, request: http1.Request) -> None:
        """Mirror a request: nobody waits for what becomes of the copy."""
        if rule.mirror is None or self._chance.random() >= rule.mirror_share:
            return
        address = self._next(known, rule.mirror)
        if address is not None:
            self._pool.send(address, _forwarded(request), lambda _: None)

    def _next(self, known: _Known, backend: route_rules.Backend) -> tuple[str, int] | None:
        key = (backend.namespace, backend.service, backend.port, backend.subset_name)
        found = known.addresses.get(key)
        if found is None:
            found = known.addresses[key] = backends.find(self._seen, backend)
        if not found:
            return None
        turn = self._turns.get(key, 0)
        self._turns[key] = turn + 1
        return found[turn % len(found)]


def _forwarded(request: http1.Request) -> http1.Request:
    kept = [each for each in request.headers if each[0].lower() not in http1.HOP_BY_HOP]
    return replace(request, headers=kept)


def _refusal(status: int, reason: str) -> http1.Response:
    return http1.Response(
        status, (("content-type", "text/plain"), ("x-refused-by", "proxy")), f"{reason}\n".encode()
    )
