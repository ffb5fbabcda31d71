"""Objects the tests of this folder share."""

import copy
from typing import Any

from hypothesis import settings

from kube_sandbox.apimachinery.scheme import decoding, defaults, schema

#: For property tests: enough examples to matter, no deadline on a busy machine.
BOUNDED = settings(max_examples=60)

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"

_DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "main", "image": "nginx:1", "ports": [{"containerPort": 80}]}
                ]
            },
        },
    },
}


def kind(api_version: str, name: str) -> schema.Schema:
    group, _, version = api_version.rpartition("/")
    found = schema.builtin(group, version, name)
    assert found is not None
    return found


def deployment(**spec: Any) -> dict[str, Any]:
    body = copy.deepcopy(_DEPLOYMENT)
    body["spec"].update(spec)
    return body


def containers(*given: dict[str, Any]) -> dict[str, Any]:
    body = deployment()
    body["spec"]["template"]["spec"]["containers"] = list(given)
    return body


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def of(body: dict[str, Any]) -> schema.Schema:
    return kind(body["apiVersion"], body["kind"])


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the server would keep it, without managers."""
    sent = of(body)
    return defaults.apply(sent, decoding.decode(sent, body).body)
