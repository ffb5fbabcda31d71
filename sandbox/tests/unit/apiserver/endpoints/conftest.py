"""A cluster without controllers behind a real socket."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import users
from kube_sandbox.apiserver.registry import registry as registry_registry
from kube_sandbox.apiserver.storage import verbs

READER = users.Account("reader-token", verbs.User("reader"))
#: What the reader may do, in namespace ``a`` alone.
READING = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reading"},
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
        ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "reading"},
        "subjects": [{"kind": "User", "name": "reader"}],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": "reading",
        },
    },
)


@dataclass(frozen=True)
class Api:
    """Requests to the cluster, as its administrator unless a token is named."""

    session: aiohttp.ClientSession
    server: server.Server

    @property
    def registry(self) -> registry_registry.Registry:
        return self.server.registry

    def request(self, method: str, path: str, *, token: str = "admin-token", **options: Any) -> Any:
        headers = {"User-Agent": "test/1", **options.pop("headers", {})}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.session.request(
            method, self.server.url + path, headers=headers, ssl=False, **options
        )

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Return status and body of an answer."""
        async with self.request(method, path, **options) as response:
            text = await response.text()
            if response.content_type == "application/json":
                return response.status, json.loads(text)
            return response.status, text

    async def watch(self, path: str, count: int, **options: Any) -> list[Any]:
        """Return the first `count` events of a watch."""
        async with self.request("GET", path, **options) as response:
            return [json.loads(await response.content.readline()) for _ in range(count)]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    cluster = registry_registry.Registry(
        FixedClock(), registry_registry.Settings(history=8, seed=1)
    )
    cluster.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    for body in READING:
        cluster.create(cluster.kind_of(body), "a", body)
    settings = server.Settings(
        name="test", users=(users.administrator("admin-token"), READER), tls=False
    )
    running = await server.start(cluster, settings)
    try:
        async with aiohttp.ClientSession() as session:
            yield Api(session, running)
    finally:
        await running.stop()
