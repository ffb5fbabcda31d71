"""A cluster made of a few objects, for one look of a controller."""

from collections.abc import Sequence
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects


class MemoryView:
    """The smallest `view.View`."""

    def __init__(self, *held: json.JsonObject, moved: float = 0.0) -> None:
        self.held = list(held)
        self.moved = moved
        self.ready: dict[str, float] = {}

    def get(self, kind: str, namespace: str, name: str) -> json.JsonObject | None:
        for each in self.held:
            key = (objects.kind(each), objects.namespace(each), objects.name(each))
            if key == (kind.partition(".")[0], namespace, name):
                return each
        return None

    def list(self, kind: str, namespace: str = "") -> Sequence[json.JsonObject]:
        return [
            each
            for each in self.held
            if objects.kind(each) == kind and namespace in ("", objects.namespace(each))
        ]

    def owned(self, uid: str, kind: str = "") -> Sequence[json.JsonObject]:
        return [
            each
            for each in self.held
            if kind in ("", objects.kind(each))
            and any(
                one.get("uid") == uid for one in objects.metadata(each).get("ownerReferences") or ()
            )
        ]

    def orphans(self, kind: str, namespace: str) -> Sequence[json.JsonObject]:
        return [each for each in self.list(kind, namespace) if objects.controller(each) is None]

    def ready_since(self, pod: json.JsonObject) -> float | None:
        return self.ready.get(objects.uid(pod))

    def progressing_since(self, deployment: json.JsonObject) -> float:
        return self.moved


def deployment(replicas: int = 3, image: str = "nginx:1", **spec: Any) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "d", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            **spec,
        },
        "status": {},
    }


def template(image: str = "nginx:1") -> json.JsonObject:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def owned_by(owner: json.JsonObject) -> list[json.JsonObject]:
    return [objects.controller_reference(owner)]


def shop(image: str, replicas: int = 2) -> json.JsonObject:
    """A Deployment whose pods answer on port 8080."""
    labels = {"app": "shop", "version": "primary"}
    container = {"name": "shop", "image": image, "ports": [{"containerPort": 8080}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def shop_service() -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop"},
        "spec": {
            "selector": {"app": "shop", "version": "primary"},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    }
