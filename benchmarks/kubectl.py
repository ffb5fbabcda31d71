"""The candidates that start kubectl: one process per cluster, or one per object.

kubectl's discovery cache is empty at the first pass and warm at the second, as on a
machine where it is used.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import objects, serving, usage


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl, its clusters, and a home of its own."""

    program: str
    sandbox: serving.Sandbox
    home: Path
    #: Processes at once.
    parallel: int

    def apply_directory(self, namespace: str) -> usage.Usage:
        """Apply all objects to all clusters, one process per cluster."""
        directory = self.home / namespace
        _write(directory, namespace)
        names = self.sandbox.names
        return self._together(names, lambda name: self._run(name, ["-f", str(directory)]))

    def apply_each(self, namespace: str) -> usage.Usage:
        """Apply all objects to all clusters, one process per object, clusters in parallel."""
        contents = [msgspec.json.encode(item.body) for item in objects.build(namespace)]

        def one_cluster(name: str) -> float:
            return sum(self._run(name, ["-f", "-"], content=content) for content in contents)

        return self._together(self.sandbox.names, one_cluster)

    def _together(self, names: Sequence[str], act: Callable[[str], float]) -> usage.Usage:
        began = time.perf_counter()
        with futures.ThreadPoolExecutor(self.parallel) as threads:
            cpu = sum(threads.map(act, names))
        return usage.Usage(time.perf_counter() - began, cpu)

    def _run(self, name: str, arguments: Sequence[str], *, content: bytes = b"") -> float:
        file = str(self.sandbox.kubeconfig(name))
        argv = [self.program, "--kubeconfig", file, "apply", "--server-side", *arguments]
        environment = {"HOME": str(self.home), "PATH": os.environ.get("PATH", "")}
        return usage.run(argv, environment=environment, content=content).cpu


def _write(directory: Path, namespace: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number, item in enumerate(objects.build(namespace)):
        (directory / f"{number:03}.json").write_bytes(msgspec.json.encode(item.body))
