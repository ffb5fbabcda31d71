"""``lightkube``, typed models over httpx."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

lightkube = pytest.importorskip("lightkube")
from lightkube.models import apps_v1, core_v1, meta_v1  # noqa: E402
from lightkube.resources import apps_v1 as apps  # noqa: E402
from lightkube.resources import core_v1 as core  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def client(kubeconfig: Path) -> Iterator[Any]:
    config = lightkube.KubeConfig.from_file(kubeconfig)
    found = lightkube.Client(config=config, namespace="default", field_manager="painter")
    yield found
    found.close()


def _map(**data: str) -> Any:
    metadata = meta_v1.ObjectMeta(name="colors", labels={"app": "shop"})
    return core.ConfigMap(metadata=metadata, data=data)


def test_objects_are_written_and_read(client: Any) -> None:
    client.create(_map(sky="blue"))
    client.patch(core.ConfigMap, "colors", {"data": {"sea": "grey"}})
    client.apply(_map(grass="green"), force=True)
    listed = [found.data for found in client.list(core.ConfigMap, labels={"app": "shop"})]
    client.delete(core.ConfigMap, "colors")

    assert listed == [{"sky": "blue", "sea": "grey", "grass": "green"}]
    with pytest.raises(lightkube.ApiError) as missing:
        client.get(core.ConfigMap, "colors")
    assert missing.value.status.code == 404


def test_changes_are_watched(client: Any) -> None:
    client.create(_map(sky="blue"))

    seen = []
    for event, _ in client.watch(core.ConfigMap, labels={"app": "shop"}, server_timeout=30):
        seen.append(event)
        if event == "DELETED":
            break
        client.delete(core.ConfigMap, "colors")

    assert seen == ["ADDED", "DELETED"]


def test_nodes_are_listed(client: Any) -> None:
    names = [node.metadata.name for node in client.list(core.Node)]

    assert names == ["n1", "n2", "n3"]


def test_a_deployment_runs_and_has_logs(client: Any) -> None:
    container = core_v1.Container(name="main", image="nginx:1")
    spec = apps_v1.DeploymentSpec(
        replicas=2,
        selector=meta_v1.LabelSelector(matchLabels={"app": "web"}),
        template=core_v1.PodTemplateSpec(
            metadata=meta_v1.ObjectMeta(labels={"app": "web"}),
            spec=core_v1.PodSpec(containers=[container]),
        ),
    )
    client.create(apps.Deployment(metadata=meta_v1.ObjectMeta(name="web"), spec=spec))
    client.wait(apps.Deployment, "web", for_conditions=["Available"])
    pods = [pod.metadata.name for pod in client.list(core.Pod, labels={"app": "web"})]
    client.wait(core.Pod, pods[0], for_conditions=["Ready"])

    assert len(pods) == 2
    assert pods[0] in "".join(client.log(pods[0]))
