"""What it costs to be ready for the tasks of many clusters with Temporal, while there are none.

A cluster that others than the server work beside has a queue, and the process that works beside it
a worker for it: this is such a process of many clusters.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks import families, temporal, usage


@dataclass(frozen=True, slots=True)
class Measured:
    """What so many clusters used, while nothing happened."""

    clusters: int
    #: Resident memory of the process before and with its workers, in MiB.
    without: float
    memory: float
    threads: int
    #: Seconds of CPU in a minute.
    process: float
    service: float
    #: Of Temporal, in MiB.
    service_memory: float
    #: Of the machine at the end, over a minute.
    load: float = field(default_factory=lambda: os.getloadavg()[0])


def measure(clusters: int, *, settle: float = 20.0, seconds: float = 20.0) -> Measured:
    """Measure with a server and a worker in processes of their own."""
    with temporal.running() as server:
        argv = [sys.executable, "-m", "benchmarks.queues", server.address, str(server.pid)]
        found = json.loads(usage.output([*argv, str(clusters), str(settle), str(seconds)]))
    return Measured(**found)


async def _work(address: str, pid: int, clusters: int, settle: float, seconds: float) -> Measured:
    from volary.engine.temporal import connections, documents, engine_hosts, hosted_runs

    connection = await connections.connect(connections.Connection(address))
    known, family = hosted_runs.HostedRuns(), families.Family(pid)
    without = usage.memory_of(os.getpid())
    async with contextlib.AsyncExitStack() as stack:
        for number in range(clusters):
            queue = documents.Queues().cluster(f"cluster-{number:04}")
            worker = engine_hosts.task_worker(connection, queue, known, time.monotonic)
            await stack.enter_async_context(worker)
        await asyncio.sleep(settle)
        with families.watched([family]):
            meter = usage.Meter()
            await asyncio.sleep(seconds)
            used = meter.read()
        memory = usage.memory_of(os.getpid())
        threads = len(list(Path("/proc/self/task").iterdir()))
    a_minute = 60 / used.wall
    return Measured(
        clusters, without, memory, threads, used.cpu * a_minute, family.cpu * a_minute, family.peak
    )


if __name__ == "__main__":
    _, _address, _pid, _clusters, _settle, _seconds = sys.argv
    work = _work(_address, int(_pid), int(_clusters), float(_settle), float(_seconds))
    print(json.dumps(asdict(asyncio.run(work))))
