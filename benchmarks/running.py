"""Whole runs of ``volary run``: a quick sync of the same objects, first and unchanged.

A process for each run, so start-up, planning and the running commit's tracing are in it.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import objects, serving, usage

_NAMESPACE = "whole"
_APPLICATION = f"""\
apiVersion: volary.dev/v1
kind: Application
metadata:
  name: {objects.APPLICATION}
spec:
  input:
    autoCreateNamespace: true
    namespace: {_NAMESPACE}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What two runs one after the other used."""

    clusters: int
    first: usage.Usage
    unchanged: usage.Usage


def measure(clusters: int, say: Callable[[str], None]) -> Measured:
    """Run on a sandbox of its own."""
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        place = Path(directory)
        opened = place / "opened"
        _write(opened)
        with serving.running(place / "sandbox", clusters) as sandbox:
            first, unchanged = (_run(opened, sandbox, place) for _ in range(2))
    for name, used in (("first", first), ("unchanged", unchanged)):
        say(f"volary run, {clusters} clusters, {name}: {used.wall:.2f} s, {used.peak:.0f} MiB")
    return Measured(clusters, first, unchanged)


def _run(opened: Path, sandbox: serving.Sandbox, home: Path) -> usage.Usage:
    usage.wait_until_quiet(sandbox.pid)
    argv = [sys.executable, "-m", "volary", "run", str(opened)]
    argv += ["--fleet", str(sandbox.fleet_file), "--strategy", "quick", "--running", "none"]
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return usage.run(argv, environment=environment)


def _write(opened: Path) -> None:
    opened.mkdir()
    (opened / "volary.yaml").write_text(_APPLICATION)
    for number, item in enumerate(objects.plain(_NAMESPACE)):
        (opened / f"{number:03}.json").write_bytes(msgspec.json.encode(item))
