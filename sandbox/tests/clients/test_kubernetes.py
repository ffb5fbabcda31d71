"""The official Python client, ``kubernetes``."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import process_time

kubernetes = pytest.importorskip("kubernetes")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def client(kubeconfig: Path) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(config_file=str(kubeconfig)) as found:
        yield found


def test_objects_are_written_and_read(client: Any, config_map: Any, applied: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)

    core.create_namespaced_config_map("default", config_map)
    core.patch_namespaced_config_map("colors", "default", {"data": {"sea": "grey"}})
    core.patch_namespaced_config_map(
        "colors",
        "default",
        applied,
        field_manager="painter",
        _content_type="application/apply-patch+yaml",
    )
    listed = core.list_namespaced_config_map("default", label_selector="app=shop").items
    core.delete_namespaced_config_map("colors", "default")

    assert [found.data for found in listed] == [{"sky": "blue", "sea": "grey", "grass": "green"}]
    managers = {entry.manager for entry in listed[0].metadata.managed_fields}
    assert "painter" in managers
    with pytest.raises(kubernetes.client.ApiException) as missing:
        core.read_namespaced_config_map("colors", "default")
    assert missing.value.status == 404


def test_changes_are_watched(client: Any, config_map: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    watch = kubernetes.watch.Watch()
    core.create_namespaced_config_map("default", config_map)

    seen = []
    for event in watch.stream(
        core.list_namespaced_config_map,
        "default",
        label_selector="app=shop",
        timeout_seconds=int(process_time.HANG),
    ):
        seen.append(event["type"])
        if event["type"] == "ADDED":
            core.patch_namespaced_config_map("colors", "default", {"data": {"sky": "red"}})
        elif event["type"] == "MODIFIED":
            core.delete_namespaced_config_map("colors", "default")
        else:
            watch.stop()

    assert seen == ["ADDED", "MODIFIED", "DELETED"]


def test_a_deployment_runs_scales_and_has_logs(client: Any, deployment: Any) -> None:
    core, apps = kubernetes.client.CoreV1Api(client), kubernetes.client.AppsV1Api(client)

    apps.create_namespaced_deployment("default", deployment)
    apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 3}})
    until = time.monotonic() + process_time.HANG
    while apps.read_namespaced_deployment_status("web", "default").status.ready_replicas != 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    (pod, *others) = core.list_namespaced_pod("default", label_selector="app=web").items
    log = core.read_namespaced_pod_log(pod.metadata.name, "default")

    assert len(others) == 2
    assert pod.metadata.name in log
