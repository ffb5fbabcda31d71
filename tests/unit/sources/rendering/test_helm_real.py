"""Charts rendered by the real helm program, where there is one on PATH."""

import shutil
from collections.abc import Callable, Mapping

import pytest

from volary.manifests import objects
from volary.model import applications, errors
from volary.sources.rendering import programs, renderers
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]

pytestmark = pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not on PATH")

FILES = {
    "apps/shop/volary.yaml": "",
    "apps/shop/production.yaml": "replicas: 3\nfeature: {enabled: yes}\n",
    "apps/shop/motd.txt": "hello, fleet\n",
    "apps/chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
    "apps/chart/values.yaml": "replicas: 1\nimage: {tag: v1}\nmotd: ''\n",
    "apps/chart/crds/thing.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.dev}
""",
    "apps/chart/templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {cluster: "{{ .Capabilities.KubeVersion.Version }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: shop, image: "example/shop:{{ .Values.image.tag }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: motd}
data:
  motd: {{ .Values.motd | quote }}
  feature: {{ .Values.feature.enabled | quote }}
""",
    "apps/chart/templates/hook.yaml": """
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
""",
}


def app(**options: object) -> applications.Application:
    given = applications.Input(
        namespace="shop",
        helm_chart=applications.HelmChart("../chart"),
        helm_options=applications.HelmOptions(**options),  # type: ignore[arg-type]
    )
    return applications.Application("shop", input=given)


@pytest.fixture
def real_helm() -> renderers.Renderer:
    return renderers.Renderer(programs.Settings(tools=programs.find()))


async def test_a_chart_is_rendered_with_values_sets_files_and_versions(
    real_helm: renderers.Renderer, directory_tree: Tree
) -> None:
    described = app(
        release_name="web",
        value_files=("production.yaml",),
        set_values={"image.tag": "v2"},
        set_files={"motd": "motd.txt"},
        kube_version="1.34",
    )

    rendered = await real_helm.render(
        directory_tree(FILES), described, directory="apps/shop", target="us"
    )

    found = {item.kind: item for item in rendered.manifests}
    assert set(found) == {"CustomResourceDefinition", "Deployment", "ConfigMap"}  # no hook
    deployment = found["Deployment"].body
    assert deployment["metadata"]["name"] == "web"
    assert deployment["metadata"]["namespace"] == "shop"
    assert deployment["metadata"]["labels"]["cluster"].startswith("v1.34")
    assert deployment["spec"]["replicas"] == 3
    containers = objects.sequence(deployment, "spec", "template", "spec", "containers")
    assert containers[0]["image"] == "example/shop:v2"
    assert found["ConfigMap"].body["data"] == {"motd": "hello, fleet\n", "feature": "true"}


async def test_what_helm_says_of_a_broken_chart_is_passed_on(
    real_helm: renderers.Renderer, directory_tree: Tree
) -> None:
    broken = {**FILES, "apps/chart/templates/deployment.yaml": "{{ .Values.nothing.at.all }}"}

    with pytest.raises(errors.UserError, match=r"deployment\.yaml"):
        await real_helm.render(directory_tree(broken), app(), directory="apps/shop", target="us")
