"""The floor: the requests and nothing else, one pooled session per cluster.

No discovery, no order, no retries, no look at what is there and no check of the answer
but its status: less than this cannot be sent, and nothing can be known.
"""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec
import yaml

from benchmarks import objects
from volary.clusters.client import client_pool
from volary.model import json

_PLURALS = {
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Service": "services",
    "Deployment": "deployments",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "PodDisruptionBudget": "poddisruptionbudgets",
}
_QUERY = "fieldManager=raw&fieldValidation=Strict&force=false"
_APPLY = {"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"}

Pass = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Cluster:
    session: aiohttp.ClientSession
    url: str
    slots: asyncio.Semaphore

    async def apply(self, path: str, body: json.JsonObject, *, dry_run: bool = False) -> None:
        url = f"{self.url}{path}?{_QUERY}{'&dryRun=All' if dry_run else ''}"
        content = msgspec.json.encode(body)
        async with (
            self.slots,
            self.session.patch(url, data=content, headers=_APPLY) as answer,
        ):
            read = await answer.read()
            if answer.status >= 400:
                raise RuntimeError(f"{answer.status} for {path}: {read[:500]!r}")
            msgspec.json.decode(read)

    async def list(self, path: str) -> int:
        """Return how many objects a collection has."""
        async with self.slots, self.session.get(f"{self.url}{path}") as answer:
            return len(msgspec.json.decode(await answer.read())["items"])


@contextlib.asynccontextmanager
async def opened(fleet_file: Path, namespace: str, *, tries: bool) -> AsyncIterator[Pass]:
    """Yield one pass that applies every object; with `tries` after a dry run of all."""
    bodies = [item.body for item in objects.build(namespace)]
    paths = [_path(body, namespace) for body in bodies]
    async with connected(fleet_file) as clusters:

        async def apply_all(cluster: Cluster, *, dry_run: bool) -> None:
            async with asyncio.TaskGroup() as group:
                for path, body in zip(paths, bodies, strict=True):
                    group.create_task(cluster.apply(path, body, dry_run=dry_run))

        async def apply_to(cluster: Cluster) -> None:
            if tries:
                await apply_all(cluster, dry_run=True)
            await apply_all(cluster, dry_run=False)

        async def act() -> None:
            async with asyncio.TaskGroup() as group:
                for cluster in clusters:
                    group.create_task(apply_to(cluster))

        yield act


@contextlib.asynccontextmanager
async def namespace(fleet_file: Path, name: str) -> AsyncIterator[Pass]:
    """Yield one pass that makes the namespace in every cluster."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    async with connected(fleet_file) as clusters:

        async def act() -> None:
            async with asyncio.TaskGroup() as group:
                for cluster in clusters:
                    group.create_task(cluster.apply(f"/api/v1/namespaces/{name}", body))

        yield act


@contextlib.asynccontextmanager
async def lists(fleet_file: Path, namespace: str) -> AsyncIterator[Pass]:
    """Yield one pass that lists every kind of the set."""
    paths = {_path(item.body, namespace).rpartition("/")[0] for item in objects.build(namespace)}
    async with connected(fleet_file) as clusters:

        async def act() -> None:
            counts = await asyncio.gather(
                *(cluster.list(path) for cluster in clusters for path in paths)
            )
            if sum(counts) < objects.TOTAL * len(clusters):
                raise RuntimeError(f"{sum(counts)} objects")

        yield act


def _path(body: json.JsonObject, namespace: str) -> str:
    version = body["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = _PLURALS[body["kind"]]
    return f"{base}/namespaces/{namespace}/{plural}/{body['metadata']['name']}"


@contextlib.asynccontextmanager
async def connected(fleet_file: Path) -> AsyncIterator[Sequence[Cluster]]:
    """Yield a pooled session to each cluster."""
    members = yaml.safe_load(fleet_file.read_text())["clusters"]
    async with contextlib.AsyncExitStack() as stack:
        clusters = []
        together = client_pool.concurrency(len(members))
        for member in members:
            config = yaml.safe_load((fleet_file.parent / member["kubeconfig"]).read_text())
            entry, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
            authority = base64.b64decode(entry["certificate-authority-data"]).decode()
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    ssl=ssl.create_default_context(cadata=authority),
                    keepalive_timeout=60,
                ),
                headers={"Authorization": f"Bearer {user['token']}"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            await stack.enter_async_context(session)
            clusters.append(Cluster(session, entry["server"], asyncio.Semaphore(together)))
        yield clusters
