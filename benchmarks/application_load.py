"""A controller with many applications in one repository.

Run it by ``python -m benchmarks.application_load FLEET APPS``.

Each application is a ConfigMap on one cluster. Measured: from a commit that changes all of them
until a run of each is planned (tried on the cluster and kept), how often the repository was
fetched for it, and the CPU time of the controller once nothing happens any more.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import serving, usage, watching

if TYPE_CHECKING:
    from volary.store import stores

_APPLICATION = """apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  input: {{manifests: [config.yaml]}}
"""
_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: '{text}'}}\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a controller with so many applications used."""

    applications: int
    #: From the commit to the last run that is planned.
    planned: usage.Usage
    #: From the commit until what it says runs everywhere.
    done: usage.Usage
    fetches: int
    #: Of one minute in which nothing happened.
    idle: usage.Usage
    #: Seconds that were measured for it.
    idle_seconds: float

    @property
    def idle_per_minute(self) -> float:
        """Seconds of CPU per minute."""
        return self.idle.cpu / self.idle_seconds * 60


def measure(applications: int, *, idle_seconds: float) -> Measured:
    """Measure with a sandbox and a controller in processes of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="volary-bench-") as directory,
        serving.running(Path(directory), 1) as sandbox,
    ):
        argv = [sys.executable, "-m", "benchmarks.application_load", str(sandbox.fleet_file)]
        found = json.loads(usage.output([*argv, str(applications), str(idle_seconds)]))
    used = {name: usage.Usage(**found[name]) for name in ("planned", "done", "idle")}
    return Measured(applications, fetches=found["fetches"], idle_seconds=idle_seconds, **used)


def _files(names: Sequence[str], text: str) -> dict[str, dict[str, str]]:
    return {
        name: {
            "volary.yaml": _APPLICATION.format(name=name),
            "config.yaml": _OBJECT.format(name=name, text=text),
        }
        for name in names
    }


async def _work(
    fleet_file: Path, number: int, idle_seconds: float, base: Path
) -> dict[str, object]:
    from volary.sources.git import libgit2_remote

    names = [f"app-{each:05}" for each in range(number)]
    author = watching.Author(base / "repository.git")
    first = author.commit(_files(names, "first"), "first")
    with watching.counting(libgit2_remote.Libgit2Remote, "fetch") as fetched:
        async with watching.controller(fleet_file, base) as given:
            await given.until_applications(number, lambda each: each.running_commit == first)
            fetched.clear()
            second = author.commit(_files(names, "second"), "second")
            meter = usage.Meter()
            given.request_refresh()
            await _until_runs(given.service.store, second, number)
            planned = meter.read()
            await given.until_applications(number, lambda each: each.running_commit == second)
            done, fetches = meter.read(), fetched.total()
            await asyncio.sleep(5)  # what is written behind
            meter = usage.Meter()
            await asyncio.sleep(idle_seconds)
            idle = meter.read()
    return {
        "planned": asdict(planned),
        "done": asdict(done),
        "fetches": fetches,
        "idle": asdict(idle),
    }


async def _until_runs(store: "stores.Store", commit: str, number: int) -> None:
    """Wait until there is a run of every application to a commit."""
    from volary.store import records

    found = 0
    for _ in range(1200):
        cursor, found = "", 0
        while True:
            page = await store.runs.list(records.RunFilter(commit=commit), cursor=cursor, limit=500)
            found += len(page.items)
            cursor = page.cursor
            if not cursor:
                break
        if found >= number:
            return
        await asyncio.sleep(0.5)
    raise RuntimeError(f"only {found} of {number} were planned")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        work = _work(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(made))
        print(json.dumps(asyncio.run(work)))
