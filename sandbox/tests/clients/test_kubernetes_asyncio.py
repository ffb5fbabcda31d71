"""``kubernetes_asyncio``, the official client's twin for event loops."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import process_time

kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")
pytestmark = pytest.mark.filterwarnings("default")


async def _client(kubeconfig: Path) -> Any:
    return await kubernetes_asyncio.config.new_client_from_config(config_file=str(kubeconfig))


def test_objects_are_written_and_read(kubeconfig: Path, config_map: Any, applied: Any) -> None:
    async def use() -> Any:
        async with await _client(kubeconfig) as client:
            core = kubernetes_asyncio.client.CoreV1Api(client)
            await core.create_namespaced_config_map("default", config_map)
            await core.patch_namespaced_config_map(
                "colors",
                "default",
                applied,
                field_manager="painter",
                _content_type="application/apply-patch+yaml",
            )
            listed = await core.list_namespaced_config_map("default", label_selector="app=shop")
            await core.delete_namespaced_config_map("colors", "default")
            left = await core.list_namespaced_config_map("default", label_selector="app=shop")
            return [found.data for found in listed.items], left.items

    assert asyncio.run(use()) == ([{"sky": "blue", "grass": "green"}], [])


def test_changes_are_watched(kubeconfig: Path, config_map: Any) -> None:
    async def use() -> list[str]:
        seen = []
        async with await _client(kubeconfig) as client:
            core = kubernetes_asyncio.client.CoreV1Api(client)
            await core.create_namespaced_config_map("default", config_map)
            watch = kubernetes_asyncio.watch.Watch()
            stream = watch.stream(
                core.list_namespaced_config_map,
                "default",
                label_selector="app=shop",
                timeout_seconds=int(process_time.HANG),
            )
            async with stream:
                async for event in stream:
                    seen.append(event["type"])
                    if event["type"] == "DELETED":
                        break
                    await core.delete_namespaced_config_map("colors", "default")
        return seen

    assert asyncio.run(use()) == ["ADDED", "DELETED"]


def test_pods_have_logs(kubeconfig: Path, deployment: Any) -> None:
    async def use() -> tuple[str, str]:
        async with asyncio.timeout(process_time.HANG), await _client(kubeconfig) as client:
            core = kubernetes_asyncio.client.CoreV1Api(client)
            apps = kubernetes_asyncio.client.AppsV1Api(client)
            await apps.create_namespaced_deployment("default", deployment)
            web = await apps.read_namespaced_deployment("web", "default")
            while not web.status.ready_replicas:
                await asyncio.sleep(0.05)
                web = await apps.read_namespaced_deployment("web", "default")
            pods = await core.list_namespaced_pod("default", label_selector="app=web")
            ready = [pod for pod in pods.items if pod.status.phase == "Running"]
            name = ready[0].metadata.name
            return name, await core.read_namespaced_pod_log(name, "default")

    name, log = asyncio.run(use())

    assert name in log
