"""An operator written with ``kopf``: it watches a custom resource and patches it."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import process_time
from kube_sandbox import fleet

pytestmark = pytest.mark.filterwarnings("default")

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.fixture(scope="module")
def kopf() -> Any:
    """Imported by whoever runs these tests, not by all who collect them: it takes a second."""
    return pytest.importorskip("kopf")


def _operator(kopf: Any) -> Any:
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**options: Any) -> Any:
        return kopf.login_with_kubeconfig(**options)

    @kopf.on.create("example.com", "v1", "widgets", registry=registry)
    def made(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["parts"] = spec["size"] * 2

    @kopf.on.update("example.com", "v1", "widgets", field="spec.size", registry=registry)
    def resized(new: Any, patch: Any, **_: Any) -> None:
        patch.status["parts"] = new * 2

    @kopf.on.delete("example.com", "v1", "widgets", registry=registry)
    def gone(**_: Any) -> None:
        """Hold the object with a finalizer until it was told."""

    return registry


def test_an_operator_keeps_its_resources(
    kopf: Any,
    cluster: fleet.Cluster,
    kubeconfig: Path,
    widgets: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    asyncio.run(_use(kopf, cluster, widgets))


async def _use(kopf: Any, cluster: fleet.Cluster, widgets: Any) -> None:
    headers = {"Authorization": f"Bearer {cluster.token}"}
    connector = aiohttp.TCPConnector(ssl=False)
    async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as api:

        async def ask(method: str, path: str, **options: Any) -> Any:
            async with api.request(method, path, **options) as response:
                return {"code": response.status, **await response.json()}

        async def parts(wanted: int) -> None:
            widget = await ask("GET", f"{WIDGETS}/w")
            while widget.get("status", {}).get("parts") != wanted:
                await asyncio.sleep(0.05)
                widget = await ask("GET", f"{WIDGETS}/w")

        await ask("POST", CRDS, json=widgets)
        stop, ready = asyncio.Event(), asyncio.Event()
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
            group.create_task(
                kopf.operator(
                    registry=_operator(kopf),
                    settings=settings,
                    namespaces=["default"],
                    standalone=True,
                    stop_flag=stop,
                    ready_flag=ready,
                )
            )
            await ready.wait()
            widget = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 2}}
            await ask("POST", WIDGETS, json={**widget, "metadata": {"name": "w"}})
            await parts(4)
            merge = {"Content-Type": "application/merge-patch+json"}
            change = b'{"spec": {"size": 5}}'
            await ask("PATCH", f"{WIDGETS}/w", data=change, headers=merge)
            await parts(10)
            await ask("DELETE", f"{WIDGETS}/w")
            left = await ask("GET", f"{WIDGETS}/w")
            while left["code"] != 404:
                await asyncio.sleep(0.05)
                left = await ask("GET", f"{WIDGETS}/w")
            stop.set()
