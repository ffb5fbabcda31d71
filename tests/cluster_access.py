"""Given clusters that may be somebody's: namespaces of our own in them, kubectl, and repositories.

Nothing here knows whether a cluster is a sandbox of the test or one that somebody named
(`make test-clusters CONTEXTS=a,b,c`): all there is are contexts of a kubeconfig. Names are random,
a namespace that is there already is never taken, and what was made is removed, whatever became of
the test.
"""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import command_world
import process_time
from kube_sandbox import fleet as kube_sandbox_fleet
from kube_sandbox.crds import definitions as crd_definitions

#: Contexts of somebody's clusters, separated by commas; without, sandbox clusters are started.
CONTEXTS = "VOLARY_TEST_CONTEXTS"
#: Two images that run without settings; another cluster may need those of a mirror.
IMAGES = "VOLARY_TEST_IMAGES"
_WEB = "nginx:1.27-alpine,nginx:1.29-alpine"
#: On what these tests make for a whole cluster or to put things in. It is removed by this label,
#: so that nothing else is, whatever it is called.
OURS = {"volary.dev/tests": secrets.token_hex(4)}
_REMOVE = (
    "delete",
    "namespaces,customresourcedefinitions",
    *(f"--selector={key}={value}" for key, value in OURS.items()),
)
#: How long a namespace may take to go with all that is in it.
_TO_END = "5m"
_PREFIX = "volary-test"
_KUBECTL = shutil.which("kubectl", path=sysconfig.get_path("scripts")) or shutil.which("kubectl")


@dataclass(frozen=True, slots=True)
class Answer:
    """What kubectl said."""

    code: int
    out: str
    err: str


@dataclass
class Clusters:
    """Clusters, and what was made in them."""

    base: Path
    contexts: tuple[str, ...]
    environment: dict[str, str]
    images: tuple[str, str]

    @property
    def first(self) -> str:
        return self.contexts[0]

    @property
    def bad_image(self) -> str:
        """One that cannot be pulled."""
        return f"{self.images[0].rpartition(':')[0]}:bad"

    def require_two(self) -> None:
        if len(self.contexts) < 2:
            pytest.skip("needs two clusters")

    async def require_kind(self, definition: str) -> None:
        """Skip where a cluster lacks a definition of custom resources."""
        for context in self.contexts:
            if (await self.kubectl(context, "get", "crd", definition, check=False)).code:
                pytest.skip(f"{context} has no {definition}")

    async def kubectl(
        self, context: str, *words: str, text: str = "", check: bool = True
    ) -> Answer:
        """Run stock kubectl with `text` as its input."""
        if _KUBECTL is None:
            pytest.skip("kubectl is not installed")
        process = await asyncio.create_subprocess_exec(
            _KUBECTL,
            f"--context={context}",
            *words,
            env=self.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(process_time.HANG):
                out, err = await process.communicate(text.encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        answer = Answer(process.returncode or 0, out.decode(), err.decode())
        assert not check or answer.code == 0, f"kubectl {' '.join(words)}: {answer}"
        return answer

    async def everywhere(self, *words: str, text: str = "") -> None:
        """Run kubectl against all clusters at once."""
        await asyncio.gather(
            *(self.kubectl(context, *words, text=text) for context in self.contexts)
        )

    async def namespace(self) -> str:
        """Make a namespace of the same, random name in all clusters."""
        name = f"{_PREFIX}-{secrets.token_hex(4)}"
        metadata = {"name": name, "labels": OURS}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        await self.everywhere("create", "-f", "-", text=json.dumps(body))
        return name

    async def application(self, namespace: str, *, name: str = "", text: str = "") -> "Application":
        """Make a repository of an application that goes to a namespace of ours."""
        # Of nobody's name, also if names were all that tells applications apart.
        name = name or f"{_PREFIX}-{secrets.token_hex(4)}"
        directory = self.base / f"app-{secrets.token_hex(2)}"
        made = Application(directory, self.environment, self, name, namespace)
        made.write(
            {
                "volary.yaml": made.described(text),
                "web.yaml": _DEPLOYMENT.replace("IMAGE", self.images[0]),
                "service.yaml": _SERVICE,
                "settings.yaml": config_map("settings", greeting="hello"),
                # Two with the same content and date would be one commit.
                "README.md": str(directory),
            },
            message="Deploy v1",
        )
        return made

    async def find(self, context: str, kind: str, name: str, namespace: str) -> Any:
        """An object as it is; None: it is not there."""
        answer = await self.kubectl(
            context, "get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found"
        )
        return json.loads(answer.out) if answer.out else None

    async def names(self, context: str, kind: str, namespace: str) -> set[str]:
        """The names of a kind's objects, but for those that clusters make themselves."""
        answer = await self.kubectl(context, "get", kind, "-n", namespace, "-o", "name")
        names = {line.rpartition("/")[2] for line in answer.out.splitlines()}
        return {name for name in names if name != "kube-root-ca.crt"}

    async def written(self, namespace: str) -> dict[str, str]:
        """What was written in a namespace: the uid and generation or version of its objects."""
        written: dict[str, str] = {}
        for context in self.contexts:
            answer = await self.kubectl(
                context, "get", "deployments,services,configmaps", "-n", namespace, "-o", "json"
            )
            for body in json.loads(answer.out)["items"]:
                metadata = body["metadata"]
                # A Deployment's version changes with its status.
                version = metadata.get("generation") or metadata["resourceVersion"]
                title = f"{context} {body['kind']} {metadata['name']}"
                written[title] = f"{metadata['uid']} {version}"
        return written

    async def remove(self) -> None:
        """Remove what was made; that it is gone is waited for with `remove_all`."""
        await self.everywhere(*_REMOVE, "--wait=false")


@dataclass
class Application(command_world.Repository):
    """An application in a repository of its own, and a shell in it."""

    clusters: Clusters
    name: str
    namespace: str

    def described(self, text: str = "") -> str:
        """Return its application file, with more lines of its specification."""
        return _APPLICATION.format(name=self.name, namespace=self.namespace) + text

    async def volary_on_all(self, command: str, *words: str) -> command_world.Ended:
        """``volary COMMAND . --contexts …``."""
        contexts = ",".join(self.clusters.contexts)
        return await self.volary(command, ".", "--contexts", contexts, *words)

    async def plan(self, *words: str) -> command_world.Ended:
        return await self.volary_on_all("plan", *words)

    async def run(self, *words: str) -> command_world.Ended:
        return await self.volary_on_all("run", *words)

    async def deployed(self) -> None:
        """Given: what is committed runs everywhere."""
        ended = await self.run("--strategy", "quick")
        assert ended.code == 0, ended

    async def find(self, context: str, kind: str, name: str) -> Any:
        return await self.clusters.find(context, kind, name, self.namespace)

    async def images(self) -> dict[str, str]:
        """What its Deployment runs in each cluster, as ``image ready/wanted``."""
        images = {}
        for context in self.clusters.contexts:
            body = await self.find(context, "deployment", "web")
            assert body is not None, f"{context} has no Deployment web"
            image = body["spec"]["template"]["spec"]["containers"][0]["image"]
            ready = body.get("status", {}).get("readyReplicas", 0)
            images[context] = f"{image} {ready}/{body['spec']['replicas']}"
        return images


def config_map(name: str, annotations: dict[str, str] | None = None, **data: str) -> str:
    """Return the text of a ConfigMap."""
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


@contextlib.asynccontextmanager
async def sandbox(base: Path) -> AsyncIterator[Clusters]:
    """Start clusters of the test's own: what is made in them goes with them."""
    settings = kube_sandbox_fleet.Settings(
        speed=command_world.SPEED, seed=1, crds=crd_definitions.istio()
    )
    async with kube_sandbox_fleet.start(
        ("us", "eu"), directory=base / "fleet", settings=settings
    ) as running:
        (base / "tmp").mkdir()
        files = (str(cluster.kubeconfig_path) for cluster in running.clusters.values())
        environment = command_world.environment(base, KUBECONFIG=os.pathsep.join(files))
        yield Clusters(base, tuple(running.clusters), environment, _images())


@contextlib.asynccontextmanager
async def named(base: Path, contexts: str) -> AsyncIterator[Clusters]:
    """Use clusters that somebody named, and have what was made in them removed."""
    # Credentials may come from programs that need the user's home and environment.
    environment = {**os.environ, "XDG_STATE_HOME": str(base / "state")}
    clusters = Clusters(base, tuple(contexts.split(",")), environment, _images())
    try:
        yield clusters
    finally:
        await clusters.remove()


def remove_all(contexts: str) -> None:
    """Remove what is left and wait until it is gone; many namespaces end in the time of one."""
    for context in contexts.split(","):
        words = (f"--context={context}", *_REMOVE, f"--timeout={_TO_END}")
        subprocess.run([str(_KUBECTL), *words], check=True, stdout=subprocess.DEVNULL)


def _images() -> tuple[str, str]:
    first, second = (os.environ.get(IMAGES) or _WEB).split(",")
    return first, second


_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
spec:
  input: {{namespace: {namespace}}}
  service: {{kind: Service, name: web}}
  workloads: [{{kind: Deployment, name: web}}]
  quickSync: {{prune: true}}
"""
#: More of its specification: its pipeline.
PIPELINE = """\
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_PRIMARY_ROLLOUT, with: {prune: true}}
    - {name: K8S_CANARY_CLEAN}
"""
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web, pipecd.dev/variant: primary}
  template:
    metadata:
      labels: {app: web, pipecd.dev/variant: primary}
    spec:
      containers:
      - {name: web, image: "IMAGE"}
"""
_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web, pipecd.dev/variant: primary}
  ports: [{port: 80}]
"""
