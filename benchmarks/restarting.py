"""A restart of everything: until the controller knows again how everything stands.

One process releases every application everywhere and ends. Another begins on the same database and
the same mirror, with nothing in memory: it is *current* when it has every object of every
application again, from lists of each cluster that a watch follows, and has compared each
application in each cluster with Git once. The clusters are a sandbox in a process of its own that
goes on meanwhile, as clusters do.
"""

import asyncio
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks import serving, usage, watching

_APPLICATION = """apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  input: {{manifests: [objects.yaml]}}
"""
_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: first}}\n"
_IDLE = 20.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a restart used."""

    applications: int
    clusters: int
    #: Of the release of everything, before it: runs carried out, and bytes in the database.
    released: usage.Usage
    stored: int
    #: Requests of that, by verb.
    release_requests: Mapping[str, int]
    #: From the beginning of the new process until it is current.
    restarted: usage.Usage
    #: Requests of the restart, by verb.
    requests: Mapping[str, int]
    fetches: int
    #: Of so many seconds afterwards in which nothing happened.
    idle: usage.Usage
    #: Of the machine at the end, over a minute: the higher, the less wall times say.
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def placements(self) -> int:
        """Applications in clusters."""
        return self.applications * self.clusters

    @property
    def idle_per_minute(self) -> float:
        """Seconds of CPU of a minute in which nothing happens."""
        return self.idle.cpu / self.idle.wall * 60


def measure(applications: int, clusters: int, *, idle: float = _IDLE) -> Measured:
    """Measure one size, each part in processes of its own."""
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        base = Path(made)
        with serving.running(base / "sandbox", clusters) as sandbox:
            argv = [sys.executable, "-m", "benchmarks.restarting", str(sandbox.fleet_file), made]
            argv += [str(applications), str(clusters), str(idle)]
            first = json.loads(usage.output([*argv, "release"]))
            stored = sum(file.stat().st_size for file in base.glob("volary.db*"))
            release_requests = sandbox.requests()
            again = json.loads(usage.output([*argv, "restart"]))
            requests = sandbox.requests()
    return Measured(
        applications,
        clusters,
        usage.Usage(**first["used"]),
        stored,
        release_requests,
        usage.Usage(**again["used"]),
        requests,
        again["fetches"],
        usage.Usage(**again["idle"]),
    )


def _names(number: int) -> Sequence[str]:
    return [f"app-{each:05}" for each in range(number)]


def _import() -> None:
    """Have every module, so that what follows is work."""
    for name in ("controller.composition", "gitops.watcher", "config.fleet.fleet_files"):
        importlib.import_module(f"volary.{name}")


async def _release(fleet_file: Path, base: Path, number: int) -> dict[str, object]:
    author = watching.Author(base / "repository.git")
    files = {
        name: {
            "volary.yaml": _APPLICATION.format(name=name),
            "objects.yaml": _OBJECT.format(name=name),
        }
        for name in _names(number)
    }
    first = author.commit(files, "first")
    _import()
    meter = usage.Meter()
    async with watching.controller(fleet_file, base) as given:
        await given.until_applications(number, lambda each: each.running_commit == first)
        used = meter.read()
    return {"used": asdict(used)}


async def _restart(
    fleet_file: Path, base: Path, number: int, clusters: int, idle: float
) -> dict[str, object]:
    from volary.sources.git import libgit2_remote

    with watching.counting(libgit2_remote.Libgit2Remote, "fetch") as fetched:
        _import()
        meter = usage.Meter()
        async with watching.controller(fleet_file, base) as given:
            await _until_current(given, number, clusters)
            used, fetches = meter.read(), fetched.total()
            meter = usage.Meter()
            await asyncio.sleep(idle)
            rest = meter.read()
    return {"used": asdict(used), "fetches": fetches, "idle": asdict(rest)}


async def _until_current(given: watching.Watched, number: int, clusters: int) -> None:
    """Wait until everything is known and compared again.

    Raises:
        RuntimeError: It takes too long.
    """
    from volary.store import records

    live, comparer = given.service.live.live, given.service.drift.comparer
    left: set[tuple[str, str]] = set()
    cursor = ""
    while True:
        page = await given.service.store.applications.list(
            records.ApplicationFilter(), cursor=cursor, limit=500
        )
        left |= {(each.project, each.name) for each in page.items}
        cursor = page.cursor
        if not cursor:
            break
    if len(left) != number:
        raise RuntimeError(f"{len(left)} of {number} applications are known")
    for _ in range(4800):
        left = {key for key in left if comparer.last(*key) is None}
        if not left and all(map(live.is_current, serving.names(clusters))):
            return
        await asyncio.sleep(0.25)
    raise RuntimeError(f"{len(left)} applications were not compared")


if __name__ == "__main__":
    _, _fleet, _base, _number, _clusters, _rest, _what = sys.argv
    work = (
        _release(Path(_fleet), Path(_base), int(_number))
        if _what == "release"
        else _restart(Path(_fleet), Path(_base), int(_number), int(_clusters), float(_rest))
    )
    print(json.dumps(asyncio.run(work)))
