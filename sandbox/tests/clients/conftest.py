"""Clients nobody here wrote, each asked to do what people do with it.

They are installed by ``make clients``; without them these tests are skipped.
"""

import json
from typing import Any

import pytest

from kube_sandbox import fleet

Json = dict[str, Any]


@pytest.fixture
def cluster_settings() -> fleet.Settings:
    """Pods are ready within tens of milliseconds."""
    return fleet.Settings(speed=40.0, seed=1)


@pytest.fixture
def config_map() -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colors", "namespace": "default", "labels": {"app": "shop"}},
        "data": {"sky": "blue"},
    }


@pytest.fixture
def deployment() -> Json:
    labels = {"app": "web"}
    container = {"name": "main", "image": "nginx:1", "ports": [{"containerPort": 80}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@pytest.fixture
def applied() -> Json:
    """What another manager applies to the same object."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colors", "namespace": "default"},
        "data": {"grass": "green"},
    }


@pytest.fixture
def widgets() -> Json:
    """A custom resource, for operators."""
    schema = json.loads(
        '{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": '
        '{"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}'
    )
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }
