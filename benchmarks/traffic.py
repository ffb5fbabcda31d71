"""``python -m benchmarks.traffic``: what becomes of requests in releases, by proxy, counted.

Sandbox clusters in real time, pods that answer, and real proxies as they are by default. Users
come all the time: short requests at a fixed rate, and beside them slow answers, streams,
WebSockets and calls of gRPC of ten seconds each. Half of the traffic goes to canary, which is
taken back; then a release goes to its end. Everything is counted: with pods as ``volary lint``
asks for them, and with pods that it warns of. Writes ``traffic.md``.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kube_sandbox import proxies
from kube_sandbox.dataplane import load

if TYPE_CHECKING:
    import long_requests

_ROOT = Path(__file__).parents[1]
_PAGE = Path(__file__).with_name("traffic.md")
#: Short requests in a second.
_RATE = 100.0
#: Seconds that a long one takes, through a proxy of ours, which gives up after ten, and of
#: Kubernetes' grace period where nothing is said.
_LASTING, _LASTING_OWN, _GRACE = 10.0, 5.0, 30.0
#: Seconds that all have for going on, before anything is changed back or on.
_HALF_TIME = 5.0
_SHORT, _SLOW = "short", "slow"
_NAMES = {
    _SHORT: "short requests",
    _SLOW: "answers after {:g} s",
    "stream": "streams of {:g} s",
    "websocket": "WebSockets of {:g} s",
    "call": "gRPC calls of {:g} s",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One proxy with one kind of route."""

    proxy: str
    route: str
    routing: "long_requests.Routing"
    #: Seconds that a long request takes.
    lasting: float = _LASTING


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one kind of users in one release."""

    asked: int
    lost: int


_TEXT = """\
# What becomes of requests in a release

Written by `python -m benchmarks.traffic`, on a machine with a load of {load} before it began: a
sandbox cluster in real time, one proxy before it as it is by default (Traefik looks at changes
every two seconds; Envoy repeats what Istio has it repeat), Volary's own `drainDelay`. Two pods of
version 1; users ask all the time, 100 short requests a second, and three of each long kind are
begun in a second. A canary gets half of the traffic and is taken back; another is promoted, and
cleaned up. Lost is every request without a whole, good answer, but for WebSockets that are told
that the server goes away. The sandbox's own proxy knows no WebSockets and never asks twice. What
`volary lint` says of pods: [let pods end
well](../docs/how-to/route-traffic.md#let-pods-end-well).

| Proxy | Route | Pods, by lint | Users want | Taken back: asked | lost | Promoted: asked | lost |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
"""


#: By kind of users: while a release is taken back, and while one goes to its end.
Found = Mapping[str, tuple[Counts, Counts]]


def cases() -> tuple[Case, ...]:
    """Return what is measured."""
    import long_requests
    from long_requests import CALLS, MESH, WEB, Readers

    envoy, traefik, built_in = "Envoy", "Traefik 3", "the sandbox's own"

    def behind_own(routing: long_requests.Routing) -> long_requests.Routing:
        return replace(routing, proxy=proxies.Kind.BUILT_IN, users=Readers)

    return (
        Case(envoy, "VirtualService", MESH),
        Case(traefik, "HTTPRoute", WEB),
        Case(traefik, "GRPCRoute", CALLS),
        Case(built_in, "VirtualService", behind_own(MESH), _LASTING_OWN),
        Case(built_in, "HTTPRoute", behind_own(WEB), _LASTING_OWN),
    )


def pods_by_what_is_said(routing: "long_requests.Routing") -> "dict[str, long_requests.Pods]":
    """Return how pods end, by what ``volary lint`` says of it."""
    from long_requests import Pods

    late = routing.application.traffic_routing.patience.total_seconds()
    return {
        "as it asks": Pods(late, _GRACE),
        "no `preStop` hook": Pods(0, _GRACE),
        "a grace period shorter than requests": Pods(late, late + 1),
    }


async def measure(case: Case, pods: "long_requests.Pods") -> Found:
    """Return what became of requests in two releases."""
    import long_requests

    async with long_requests.deployed(case.routing, pods, speed=1.0, drain=0.0) as (given, url):
        counted = []
        for last in (long_requests.ROLLBACK, long_requests.PROMOTION):
            async with _asking(case, url) as users, given.one_run():
                await long_requests.carry_out(given, long_requests.HALF_TO_CANARY)
                await asyncio.sleep(_HALF_TIME)
                await long_requests.carry_out(given, last)
            counted.append(users)
    back, on = (each.counts() for each in counted)
    return {kind: (back[kind], on[kind]) for kind in on}


@dataclass(frozen=True, slots=True)
class _Everybody:
    """Users of both sorts."""

    #: None: of gRPC, who all ask for long.
    short: load.Load | None
    long: "long_requests.Users"

    def counts(self) -> dict[str, Counts]:
        """Count what became of them."""
        lost = [each.partition(":")[0] for each in self.long.lost]
        found = {} if self.short is None else {_SHORT: _of(self.short.tally)}
        for kind in self.long.wants:
            failed = lost.count(kind)
            found[kind] = Counts(self.long.served[kind] + failed, failed)
        return found


def _of(tally: load.Tally) -> Counts:
    assert not tally.skipped, f"{tally.skipped} requests were not sent: the machine is too busy"
    return Counts(tally.sent, tally.failed)


@contextlib.asynccontextmanager
async def _asking(case: Case, url: str) -> AsyncIterator[_Everybody]:
    """Have users ask for as long as the block lasts; when it is over they have their answers."""
    import long_requests

    async with contextlib.AsyncExitStack() as stack:
        coming = long_requests.coming(case.routing, url, lasting=case.lasting)
        users = _Everybody(None, await stack.enter_async_context(coming))
        if _SLOW in users.long.wants:
            users = replace(users, short=load.Load(load.Aim(url, case.routing.host), rate=_RATE))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(users.short.run()) if users.short else None
            yield users
            if task:
                task.cancel()


def page(found: Sequence[tuple[Case, str, Found]], at: float) -> str:
    """Return the page; `at` is the machine's load before it began."""
    rows = []
    for case, said, kinds in found:
        for kind, both in kinds.items():
            name = _NAMES[kind].format(case.lasting)
            told = " | ".join(f"{each.asked:,} | {each.lost}" for each in both)
            rows.append(f"| {case.proxy} | {case.route} | {said} | {name} | {told} |")
    return _TEXT.format(rows="\n".join(rows), load=f"{at:.1f}")


async def _measure() -> list[tuple[Case, str, Found]]:
    found: list[tuple[Case, str, Found]] = []
    for case in cases():
        if reason := proxies.missing(case.routing.proxy):
            print(reason, file=sys.stderr)
            continue
        for said, pods in pods_by_what_is_said(case.routing).items():
            counted = await measure(case, pods)
            print(case.proxy, case.route, said, counted, file=sys.stderr, flush=True)
            found.append((case, said, counted))
    return found


def main() -> None:
    """Measure, and write the page."""
    # The users and the clusters are those of the tests.
    sys.path += [str(_ROOT / "tests"), str(_ROOT / "sandbox/tests")]
    at = os.getloadavg()[0]
    _PAGE.write_text(page(asyncio.run(_measure()), at))


if __name__ == "__main__":
    main()
