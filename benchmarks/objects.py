"""The set of objects that is applied: 150 of nine kinds, as a mid-sized application has.

Deployments want no pods: the sandbox's controllers would compete with the candidates
for the same cores, and what is measured is bringing objects into a cluster.
"""

import base64
from collections.abc import Callable, Iterator

from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

APPLICATION = "bench"
#: Objects per cluster.
TOTAL = 150
_CONFIG = "\n".join(f"key.{number}=value of setting {number}" for number in range(40))


def build(namespace: str) -> list[manifest.Manifest]:
    """Return the set for one namespace, marked as a stage marks it."""
    owner = ownership.Owner(APPLICATION, "0123456789abcdef")
    return [
        tracking.track(
            manifest.Manifest(body),
            owner=owner,
            commit="0123456789abcdef0123456789abcdef01234567",
            variant=variant.Variant.PRIMARY,
            label=variant.VariantLabel(),
        )
        for body in plain(namespace)
    ]


def plain(namespace: str) -> Iterator[json.JsonObject]:
    """Return the set as it is written in files."""
    for make, count in _COUNTS:
        for number in range(count):
            body = make(f"part-{number}")
            for subject in body.get("subjects", ()):
                subject["namespace"] = namespace
            yield {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _head(api_version: str, kind: str, name: str) -> json.JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": name, "team": "bench"}},
    }


def _deployment(name: str) -> json.JsonObject:
    container = {
        "name": "main",
        "image": f"registry.example/{name}:v1",
        "args": ["--listen", ":8080", "--verbose"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": f"SETTING_{number}", "value": str(number)} for number in range(8)],
        "envFrom": [{"configMapRef": {"name": name}}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "256Mi"},
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
        "volumeMounts": [{"name": "secret", "mountPath": "/etc/secret", "readOnly": True}],
    }
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "serviceAccountName": name,
            "containers": [container],
            "volumes": [{"name": "secret", "secret": {"secretName": name}}],
        },
    }
    return {
        **_head("apps/v1", "Deployment", name),
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def _service(name: str) -> json.JsonObject:
    ports = [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return {**_head("v1", "Service", name), "spec": {"selector": {"app": name}, "ports": ports}}


def _config_map(name: str) -> json.JsonObject:
    return {**_head("v1", "ConfigMap", name), "data": {"app.properties": _CONFIG, "MODE": "fast"}}


def _secret(name: str) -> json.JsonObject:
    value = base64.b64encode(f"not a secret of {name}".encode()).decode()
    return {**_head("v1", "Secret", name), "type": "Opaque", "data": {"password": value}}


def _service_account(name: str) -> json.JsonObject:
    return _head("v1", "ServiceAccount", name)


def _role(name: str) -> json.JsonObject:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    return {**_head("rbac.authorization.k8s.io/v1", "Role", name), "rules": rules}


def _role_binding(name: str) -> json.JsonObject:
    return {
        **_head("rbac.authorization.k8s.io/v1", "RoleBinding", name),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name}],
    }


def _autoscaler(name: str) -> json.JsonObject:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    # Of a Deployment that is not in the set: one that is would have its replicas left alone.
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{name}-elsewhere"}
    return {
        **_head("autoscaling/v2", "HorizontalPodAutoscaler", name),
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [{"type": "Resource", "resource": cpu}],
        },
    }


def _disruption_budget(name: str) -> json.JsonObject:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}
    return {**_head("policy/v1", "PodDisruptionBudget", name), "spec": spec}


_COUNTS: tuple[tuple[Callable[[str], json.JsonObject], int], ...] = (
    (_service_account, 15),
    (_role, 10),
    (_role_binding, 10),
    (_config_map, 30),
    (_secret, 20),
    (_service, 20),
    (_deployment, 25),
    (_autoscaler, 10),
    (_disruption_budget, 10),
)
