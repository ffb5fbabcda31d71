"""``kr8s``, which asks discovery for everything it handles."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

kr8s = pytest.importorskip("kr8s")
pytestmark = pytest.mark.filterwarnings("default")


def test_objects_are_written_watched_and_read(kubeconfig: Path, config_map: Any) -> None:
    async def use() -> tuple[list[Any], list[str], bool]:
        api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
        made = await kr8s.asyncio.objects.ConfigMap(config_map, api=api)
        await made.create()
        await made.patch({"data": {"sea": "grey"}})
        await made.label({"tier": "front"})
        listed = [
            found.raw["data"]
            async for found in api.get(
                "configmaps", namespace="default", label_selector="tier=front"
            )
        ]
        seen = []
        async with asyncio.timeout(30):
            async for event, _ in api.watch(
                "configmaps", namespace="default", label_selector="app=shop"
            ):
                seen.append(event)
                if event == "DELETED":
                    break
                await made.delete()
        return listed, seen, await made.exists()

    listed, seen, exists = asyncio.run(use())

    assert listed == [{"sky": "blue", "sea": "grey"}]
    assert seen == ["ADDED", "DELETED"]
    assert not exists


def test_a_deployment_runs_scales_and_has_logs(kubeconfig: Path, deployment: Any) -> None:
    async def use() -> tuple[int, list[str]]:
        api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
        web = await kr8s.asyncio.objects.Deployment(deployment, api=api)
        await web.create()
        await web.scale(3)
        await web.wait("condition=Available", timeout=30)
        pods = await web.pods()
        await pods[0].wait("condition=Ready", timeout=30)
        return web.replicas, [line async for line in pods[0].logs()]

    replicas, lines = asyncio.run(use())

    assert replicas == 3
    assert lines
