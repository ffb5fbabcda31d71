"""Given sandbox clusters and a Git repository; when somebody types `volary …`; then look.

The command runs in a process of its own, with a home of its own; the clusters live in the
test's process, so that it can look at them and break them.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2

import process_time
import warm_processes
from kube_sandbox import fleet as kube_sandbox_fleet
from kube_sandbox.crds import definitions as crd_definitions

EXAMPLES = Path(__file__).parents[1] / "examples"
AUTHOR = pygit2.Signature("Ana", "ana@example.com", 1_700_000_000, 60)
#: Pods are ready within tens of milliseconds.
SPEED = 30.0
#: Objects that clusters write by themselves, and what is remembered about them.
_OWN = ("Event", "Lease")
_TIMEOUT = process_time.HANG


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of ``--output json``."""
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


@dataclass
class Started:
    """A command under way."""

    process: warm_processes.Process
    #: What it has written to stderr so far.
    said: str = ""

    async def until(self, text: str) -> None:
        """Wait until it has said something that matches `text`."""
        async with asyncio.timeout(_TIMEOUT):
            while not re.search(text, self.said):
                chunk = await self.process.stderr.readline()
                assert chunk, f"it ended without saying {text!r}:\n{self.said}"
                self.said += chunk.decode()

    def interrupt(self, which: signal.Signals = signal.SIGINT) -> None:
        """Send it a signal, as Ctrl-C does."""
        self.process.send_signal(which)

    async def ended(self, *, within: float = _TIMEOUT) -> Ended:
        """Wait for its end."""
        async with asyncio.timeout(within):
            out, err = await self.process.communicate()
        return Ended(await self.process.wait(), out.decode(), self.said + err.decode())


@dataclass
class Shell:
    """A directory to type commands in."""

    directory: Path
    environment: dict[str, str]

    @contextlib.asynccontextmanager
    async def start(self, *words: str, **environment: str) -> AsyncIterator[Started]:
        """Run ``volary …`` beside the test; it is killed at the end of the block."""
        async with warm_processes.volary(
            *words, directory=self.directory, environment={**self.environment, **environment}
        ) as process:
            yield Started(process)

    async def volary(self, *words: str, **environment: str) -> Ended:
        """Run ``volary …`` to its end."""
        async with self.start(*words, **environment) as started:
            return await started.ended()


@dataclass
class Repository(Shell):
    """A repository, and a shell in it."""

    def write(self, files: Mapping[str, str], *, message: str = "") -> str:
        """Write files of the repository; with a `message` commit everything."""
        for name, content in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return commit(self.directory, message) if message else ""

    def edit(self, name: str, old: str, new: str, *, message: str = "Change it") -> str:
        """Change the first place in a file and commit it; returns the commit."""
        text = (self.directory / name).read_text()
        assert old in text, f"{name} has no {old!r}"
        return self.write({name: text.replace(old, new, 1)}, message=message)


@dataclass
class World(Repository):
    """Clusters, a repository, and a shell in it."""

    running: kube_sandbox_fleet.Fleet

    @property
    def fleet(self) -> str:
        """The fleet file."""
        return str(self.running.path)

    async def run(self, *words: str, **environment: str) -> Ended:
        """``volary run . --fleet …``."""
        return await self.volary("run", ".", "--fleet", self.fleet, *words, **environment)

    async def deployed(self) -> None:
        """Given: what is committed runs everywhere."""
        ended = await self.run("--strategy", "quick")
        assert ended.code == 0, ended

    def find(self, target: str, kind: str, name: str, namespace: str = "default") -> Any:
        return self.running.clusters[target].view.get(kind, namespace, name)

    def images(self, target: str, name: str = "simple", kind: str = "Deployment") -> str:
        """What a workload runs, as ``image ready/wanted``."""
        body = self.find(target, kind, name)
        assert body is not None, f"{target} has no {kind} {name}"
        image = body["spec"]["template"]["spec"]["containers"][0]["image"]
        return (
            f"{image} {body.get('status', {}).get('readyReplicas', 0)}/{body['spec']['replicas']}"
        )

    def versions(self) -> dict[str, str]:
        """The resourceVersion of everything in all clusters."""
        return {
            f"{name} {kind.name} {_title(body)}": body["metadata"]["resourceVersion"]
            for name, cluster in self.running.clusters.items()
            for kind in cluster.registry.served
            if kind.name not in _OWN
            for body in cluster.registry.objects(kind)
        }

    async def settled(self) -> dict[str, str]:
        """Wait until the controllers have nothing to do, and return `versions`."""
        async with asyncio.timeout(process_time.HANG):
            before = self.versions()
            while True:
                await asyncio.sleep(0.15)
                now = self.versions()
                if now == before:
                    return now
                before = now


def _title(body: Mapping[str, Any]) -> str:
    metadata = body["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def commit(directory: Path, message: str) -> str:
    """Commit everything in `directory`, a new repository if it is none; returns the hash."""
    if not (directory / ".git").exists():
        pygit2.init_repository(str(directory), initial_head="main")
    repository = pygit2.Repository(str(directory))
    repository.index.add_all()
    repository.index.write()
    parents = [] if repository.head_is_unborn else [repository.head.target]
    made = repository.create_commit(
        "HEAD", AUTHOR, AUTHOR, message, repository.index.write_tree(), parents
    )
    return str(made)


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a command sees of this machine: a home of its own, and where programs are."""
    return {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PATH": os.environ["PATH"],
        "TMPDIR": str(home / "tmp"),
        **more,
    }


@contextlib.asynccontextmanager
async def world(
    base: Path,
    *names: str,
    example: str = "simple",
    git: bool = True,
    istio: bool = False,
    definitions: Sequence[Mapping[str, Any]] = (),
    labels: Mapping[str, Mapping[str, str]] | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """Start clusters, and put an example into a new repository."""
    chosen = kube_sandbox_fleet.Settings(
        **{"speed": SPEED, "tls": False, "seed": 1, **settings},
        crds=(*(crd_definitions.istio() if istio else ()), *map(dict, definitions)),
        labels=labels or {},
    )
    directory = base / "app"
    shutil.copytree(EXAMPLES / example, directory)
    if git:
        commit(directory, "Deploy v1")
    (base / "tmp").mkdir()
    async with kube_sandbox_fleet.start(
        names, directory=base / "fleet", settings=chosen
    ) as running:
        yield World(directory, environment(base), running)


def cure(cluster: kube_sandbox_fleet.Cluster) -> None:
    """Have pods be ready from now on, also those that have started and never would be."""
    cluster.faults.images.clear()
    kind = cluster.registry.kind("v1", "Pod")
    for pod in cluster.view.list("Pod", "default"):
        cluster.registry.delete(kind, "default", pod["metadata"]["name"])
