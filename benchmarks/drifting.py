"""What drift costs: applications on sandbox clusters in a process of their own, and a controller.

Run by `benchmarks.livestate`. The same controller compares in both ways, one after the other: from
what its watches tell, and by asking the cluster for every object, as it does where it cannot watch.
And once with many applications of one object, by watches alone, where releasing them first is most
of what it takes.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import serving, usage, watching

if TYPE_CHECKING:
    from volary.clusters.client import clients
    from volary.controller.status import application_state
    from volary.livestate import live_state

CLUSTERS = 2
SIZES = (10, 40)
#: Applications and clusters of a fleet.
FLEET = (1000, 4)
#: Applications that are changed by hand, at most.
_CHANGED = 10
_IDLE = 60.0
#: Seconds after which a change is compared at once: longer than the gap between two comparisons.
_REST = 16.0
HEADING = "\n## What drift costs\n"
_APPLICATION = """apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  input: {{manifests: [objects.yaml]}}
"""
_CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{text: "as Git says"}}
"""
_SERVICE = """---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80}}]}}
"""


@dataclass(frozen=True, slots=True)
class Way:
    """What one way of comparing used."""

    #: Requests, and milliseconds of CPU, for an application in one cluster where nothing changed.
    quiet_requests: float
    quiet_cpu: float
    #: Requests for each object that was changed, in a way that is no drift and in one that is.
    changed: float
    drifted: float
    #: Seconds from a change until it is written down that it is drift: the median, and the worst.
    told: float
    last_told: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What so many applications cost."""

    applications: int
    #: Requests of a minute in which nothing happened, but for those that ask whether clusters are
    #: there.
    idle: int
    watched: Way
    asked: Way


@dataclass(frozen=True, slots=True)
class Fleet:
    """What many applications cost, compared by watches."""

    applications: int
    clusters: int
    #: Of a minute in which nothing happened: requests, and seconds of the controller's CPU.
    idle: int
    idle_cpu: float
    #: Requests for each object that drifted, and seconds until it was told.
    drifted: float
    told: float
    last_told: float
    #: MiB of the controller, at most.
    peak: float
    #: Of the machine in the end.
    load: float


def measure(applications: int) -> Measured:
    """Measure in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.drifting", str(applications)]
    found = json.loads(usage.output(argv))
    return Measured(
        found["applications"], found["idle"], Way(**found["watched"]), Way(**found["asked"])
    )


def measure_fleet(applications: int, clusters: int) -> Fleet:
    """Measure many applications in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.drifting", str(applications), str(clusters)]
    return Fleet(**json.loads(usage.output(argv)))


def render(found: Sequence[Measured], fleet: Fleet) -> str:
    """Return the section of the page."""
    rows = [
        (f"| {each.applications} | {name} |")
        + f" {way.quiet_requests:.1f} | {way.quiet_cpu:.2f} ms | {way.changed:.1f}"
        + f" | {way.drifted:.1f} | {way.told:.2f} s | {way.last_told:.2f} s |"
        for each in found
        for name, way in (("by watches", each.watched), ("by asking", each.asked))
    ]
    idle = ", ".join(str(each.idle) for each in found)
    table = "\n".join(rows)
    return f"""{HEADING}
Each application has two ConfigMaps and a Service in each of {CLUSTERS} clusters. *By watches* is
how a controller compares where it can watch; *by asking* how it does where it cannot: by lists and
gets of every object. An application in a cluster where nothing changed, and one object that
somebody changed, in a way that is no drift (a label of theirs) and in one that is; then the time
until it is written down as out of sync. Requests are counted by the clusters. Times depend on the
machine and on what else it does (its load average was {os.getloadavg()[0]:.0f} on \
{os.cpu_count()} cores), requests do not.

| Applications | compared | requests, nothing changed | CPU | requests, a change | requests, drift \
| until told (median) | worst |
| --- | --- | --- | --- | --- | --- | --- | --- |
{table}

Requests of {_IDLE:.0f} seconds in which nothing happened, but for those that ask whether a cluster
is there: {idle}. By watches a change costs what its object does, the read and the dry run where it
drifts, and does not grow with what there is beside it. By asking it grows with the objects of the
application and with its clusters.

{fleet.applications:,} applications of one ConfigMap on {fleet.clusters} clusters each, compared by
watches: a minute in which nothing happened took {fleet.idle} requests and {fleet.idle_cpu:.2f} s of
the controller's CPU. Of {_CHANGED} objects that somebody changed at once, each took
{fleet.drifted:.1f} requests, and was told after {fleet.told:.2f} s (median; {fleet.last_told:.2f} s
the last). The controller had {fleet.peak:.0f} MiB at most, the release of everything included. The
machine's load average was {fleet.load:.0f}.
"""


def _files(names: Sequence[str], *, more: bool = True) -> dict[str, dict[str, str]]:
    """Return the files of applications; with `more` objects than one."""
    return {
        name: {
            "volary.yaml": _APPLICATION.format(name=name),
            "objects.yaml": _CONFIG.format(name=name)
            + ("---\n" + _CONFIG.format(name=f"{name}-more") + _SERVICE.format(name=name)) * more,
        }
        for name in names
    }


@contextmanager
def _by_asking(live: "live_state.LiveState") -> Iterator[None]:
    """Have nothing known of clusters for the block but that something changed."""
    live.known_objects = lambda _cluster, _owner: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del live.known_objects


class _Bench:
    """A controller that has released everything, and its sandbox."""

    def __init__(
        self,
        given: watching.Watched,
        sandbox: serving.Sandbox,
        names: Sequence[str],
        meddler: "clients.Client",
    ) -> None:
        self._given = given
        self._meddler = meddler
        self._sandbox = sandbox
        self._names = names
        self._comparer = given.service.drift.comparer
        self._round = 0
        #: Seconds between two looks at what was told: seldom where each reads many.
        self._look = max(0.02, len(names) / 5000)

    def count(self) -> int:
        """Return the requests since the last call, but for those that ask who is there."""
        found = self._sandbox.requests()
        return sum(number for verb, number in found.items() if verb not in ("discover", "watch"))

    async def states(self) -> "list[application_state.ApplicationState]":
        from volary.controller.status import application_state, application_statuses
        from volary.store import records

        found: list[records.ApplicationRecord] = []
        cursor = ""
        while True:
            page = await self._given.service.store.applications.list(
                records.ApplicationFilter(), cursor=cursor, limit=500
            )
            found += page.items
            cursor = page.cursor
            if not cursor:
                break
        return [
            application_state.ApplicationState(one, application_statuses.of_record(one))
            for one in found
        ]

    async def settle(self) -> None:
        """Wait until every application was compared and is in sync, and for a while."""
        for _ in range(600):
            states = await self.states()
            last = [self._comparer.last(one.record.project, one.record.name) for one in states]
            if all(one is not None and one.status.value == "inSync" for one in last) and not any(
                one.status.drift.clusters for one in states
            ):
                break
            await asyncio.sleep(0.5)
        else:
            raise RuntimeError("not every application was compared and is in sync")
        await asyncio.sleep(_REST)

    async def way(self) -> Way:
        """Measure the way in which is compared now."""
        from datetime import timedelta

        await self.settle()
        self.count()
        meter = usage.Meter()
        states = await self.states()
        for state in states:
            await self._comparer.compare(state, memory=timedelta(0))
        each = len(states) * CLUSTERS
        quiet, cpu = self.count() / each, meter.read().cpu / each * 1000
        await asyncio.sleep(_REST)
        some = self._names[:_CHANGED]
        changed = await self._changed(some)
        await asyncio.sleep(_REST)
        drifted, took = await self.drifted(some)
        return Way(quiet, cpu, changed, drifted, took[len(took) // 2], took[-1])

    async def _write(self, name: str, metadata: dict[str, object], text: str) -> None:
        """Write an object as somebody does with kubectl."""
        client = self._meddler
        kind = (await client.discover()).find("", "ConfigMap")
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": client.namespace, **metadata},
            "data": {"text": text},
        }
        await client.apply(kind, body, field_manager="meddler", force=True)

    async def _changed(self, names: Sequence[str]) -> float:
        """Return the requests for each object that somebody has labelled."""
        self._round += 1
        self.count()
        for name in names:
            await self._write(name, {"labels": {"theirs": str(self._round)}}, "as Git says")
        await asyncio.sleep(_REST)
        return self.count() / len(names) - 1

    async def drifted(self, names: Sequence[str]) -> tuple[float, list[float]]:
        """Return the requests for each object that drifts, and how long it took to be told."""
        loop = asyncio.get_running_loop()
        self.count()
        began: dict[str, float] = {}
        for name in names:
            began[name] = loop.time()
            await self._write(name, {}, "as somebody says")
        took: dict[str, float] = {}
        while len(took) < len(names):
            for state in await self.states():
                name = state.record.name
                if name in began and name not in took and state.status.drift.clusters:
                    took[name] = loop.time() - began[name]
            await asyncio.sleep(self._look)
        requests = self.count() / len(names) - 1
        for name in names:
            await self._write(name, {}, "as Git says")
        return requests, sorted(took.values())


@asynccontextmanager
async def _meddler(sandbox: serving.Sandbox) -> "AsyncIterator[clients.Client]":
    """Yield a client of somebody else, in the first cluster."""
    from volary.clusters.client import client_pool
    from volary.controller import system_clock
    from volary.model.fleet import fleets

    name = sandbox.names[0]
    members = fleets.Fleet((fleets.Cluster(name, kubeconfig=(str(sandbox.kubeconfig(name)),)),))
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as pool:
        client = await pool.client(name)
        if isinstance(client, client_pool.Unavailable):
            raise RuntimeError(client.reason)
        yield client


async def _work(number: int) -> Measured:
    names = [f"app-{each:05}" for each in range(number)]
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        base = Path(made)
        author = watching.Author(base / "repository.git")
        first = author.commit(_files(names), "first")
        with serving.running(base / "sandbox", CLUSTERS) as sandbox:
            async with (
                watching.controller(sandbox.fleet_file, base) as given,
                _meddler(sandbox) as meddler,
            ):
                await given.until_applications(number, lambda each: each.running_commit == first)
                bench = _Bench(given, sandbox, names, meddler)
                await bench.settle()
                bench.count()
                await asyncio.sleep(_IDLE)
                idle = bench.count()
                watched = await bench.way()
                await bench.settle()
                with _by_asking(given.service.live.live):
                    asked = await bench.way()
    return Measured(number, idle, watched, asked)


async def _work_fleet(number: int, clusters: int) -> Fleet:
    names = [f"app-{each:05}" for each in range(number)]
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        base = Path(made)
        author = watching.Author(base / "repository.git")
        first = author.commit(_files(names, more=False), "first")
        with serving.running(base / "sandbox", clusters) as sandbox:
            async with (
                watching.controller(sandbox.fleet_file, base) as given,
                _meddler(sandbox) as meddler,
            ):
                await given.until_applications(number, lambda each: each.running_commit == first)
                bench = _Bench(given, sandbox, names, meddler)
                await bench.settle()
                bench.count()
                meter = usage.Meter()
                await asyncio.sleep(_IDLE)
                used, idle = meter.read(), bench.count()
                drifted, took = await bench.drifted(names[:_CHANGED])
    return Fleet(
        number,
        clusters,
        idle,
        used.cpu,
        drifted,
        took[len(took) // 2],
        took[-1],
        usage.own_peak(),
        os.getloadavg()[0],
    )


if __name__ == "__main__":
    _sizes = [int(each) for each in sys.argv[1:]]
    _found = asyncio.run(_work_fleet(*_sizes) if len(_sizes) > 1 else _work(*_sizes))
    print(json.dumps(asdict(_found)))
