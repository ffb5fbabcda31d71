"""Whatever is sent, a write is done or refused; it never falls over."""

import copy
import random
from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

Json = dict[str, Any]
JUNK: tuple[Any, ...] = (
    None,
    5,
    -1,
    "x",
    "",
    [],
    {},
    [1],
    {"a": 1},
    True,
    1.5,
    [None],
    [{}],
    {"metadata": None},
)
CONTAINER = {
    "name": "main",
    "image": "nginx:1",
    "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "resources": {"limits": {"cpu": "1"}},
    "ports": [{"containerPort": 80}],
    "livenessProbe": {"httpGet": {"port": 80}},
}
POD_SPEC = {
    "volumes": [{"name": "v", "configMap": {"name": "x", "items": [{"key": "a", "path": "b"}]}}],
    "tolerations": [{"key": "a"}],
    "containers": [CONTAINER],
}
LABELS = {"app": "p"}
DEPLOYMENT: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "p",
        "labels": LABELS,
        "annotations": {"a": "b"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "y", "uid": "z"}],
    },
    "spec": {
        "replicas": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": POD_SPEC},
    },
}
SERVICE: Json = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s"},
    "spec": {
        "type": "NodePort",
        "clusterIP": "10.96.1.1",
        "ports": [{"port": 80, "targetPort": "x", "nodePort": 30001}],
    },
}
POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD_SPEC}
JOB: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j"},
    "spec": {
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
        }
    },
}
AUTOSCALER: Json = {
    "apiVersion": "autoscaling/v1",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {
        "name": "h",
        "annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[]"},
    },
    "spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 5,
    },
}
EVENT: Json = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "a"},
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "regarding": {"kind": "Pod"},
    "note": "x",
}
ROWS = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "ws.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "ws", "kind": "W"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "selectableFields": [{"jsonPath": ".spec.a"}],
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.r",
                        "statusReplicasPath": ".status.r",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "a": {"type": "string", "default": "x"},
                                    "l": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["k"],
                                        "items": ROWS,
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
CUSTOM: Json = {
    "apiVersion": "example.com/v1",
    "kind": "W",
    "metadata": {"name": "c"},
    "spec": {"a": "b", "l": [{"k": "v"}], "r": 1},
}
SAMPLES = (DEPLOYMENT, SERVICE, POD, JOB, AUTOSCALER, EVENT, CUSTOM, DEFINITION)
VERBS = ("create", "update", "status", "merge", "strategic", "apply", "apply status")


def _spoiled(sample: Json, chance: random.Random) -> Json:
    """Put junk into one or two places of an object, or take something out."""
    spoiled = copy.deepcopy(sample)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], (dict, list)):
                walk(value[key])

    walk(spoiled)
    for container, key in chance.sample(places, k=chance.choice((1, 2))):
        if isinstance(container, dict) and chance.random() < 0.3:
            container.pop(key, None)
        else:
            container[key] = chance.choice(JUNK)
    return spoiled


def _write(cluster: registry.Registry, verb: str, sample: Json, body: Json) -> None:
    kind = cluster.kind_of(sample)
    where = (kind, "a" if kind.namespaced else "", sample["metadata"]["name"])
    options = verbs.Options(manager="m", force=True)
    match verb:
        case "create":
            cluster.create(*where[:2], body, options)
        case "update":
            cluster.update(*where, body, options)
        case "status":
            cluster.update_status(*where, body, options)
        case "merge":
            cluster.patch(*where, body, verbs.PatchType.MERGE, options)
        case "strategic":
            cluster.patch(*where, body, verbs.PatchType.STRATEGIC, options)
        case "apply":
            cluster.apply(*where, body, options)
        case _:
            cluster.apply(*where, body, options, subresource="status")


@pytest.mark.parametrize("seed", range(5))
def test_junk_is_refused_with_a_status(seed: int) -> None:
    chance = random.Random(seed)
    cluster = registry.Registry(FixedClock())
    cluster.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    for sample in (DEFINITION, *SAMPLES[:-1]):
        kind = cluster.kind_of(sample)
        cluster.create(kind, "a" if kind.namespaced else "", sample)
    codes: list[int] = []

    for _ in range(300):
        sample = chance.choice(SAMPLES[:-1])
        try:
            _write(cluster, chance.choice(VERBS), sample, _spoiled(sample, chance))
        except api_errors.StatusError as problem:
            codes.append(problem.code)

    assert all(400 <= code <= 500 for code in codes)
    assert 50 < len(codes) < 300
