"""EndpointSlices and Endpoints: which pods answer for a Service."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers import endpoint_mirroring, endpoint_slices
from kube_sandbox.controllers.framework import actions, pods, view

_SLICE_COMPONENT = "endpointslice-controller.k8s.io"
#: Endpoints per slice (Kubernetes: 100).
_SLICE_SIZE = 100


@dataclass(frozen=True, slots=True)
class _Backend:
    """A pod behind a Service with the ports it offers there."""

    pod: json.JsonObject
    ports: tuple[tuple[str, int, str], ...]
    ready: bool
    serving: bool
    terminating: bool


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the writes that make slices and Endpoints of the Service at `key` right."""
    service = cluster.get("Service", key.namespace, key.name)
    if service is None:
        return actions.Result(tuple(_removed(cluster, key)))
    if objects.is_deleting(service) or objects.spec(service).get("type") == "ExternalName":
        return actions.NOTHING
    if not objects.spec(service).get("selector"):
        return actions.Result(tuple(endpoint_mirroring.reconcile(cluster, service)))
    backends = _backends(cluster, service)
    # One set of slices per set of ports, as pods may number a named port differently.
    slices = endpoint_slices.writes(cluster, service, _labels(service), _wanted(service, backends))
    return actions.join(
        actions.Result(tuple(slices)),
        actions.Result(tuple(_classic(cluster, service, backends, at))),
    )


def _removed(cluster: view.View, key: view.Key) -> list[actions.Write]:
    """Endpoints carry no owner: they go with the Service of their name."""
    found = cluster.get("Endpoints", key.namespace, key.name)
    return [actions.Delete(found)] if found is not None else []


def selects(service: json.JsonObject, pod: json.JsonObject) -> bool:
    """Tell whether the Service's selector picks the pod."""
    wanted = objects.spec(service).get("selector") or {}
    labels = objects.labels(pod)
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())


def _backends(cluster: view.View, service: json.JsonObject) -> list[_Backend]:
    unready_too = bool(objects.spec(service).get("publishNotReadyAddresses"))
    found = []
    for pod in cluster.list("Pod", objects.namespace(service)):
        if not selects(service, pod) or pods.is_finished(pod):
            continue
        if not objects.status(pod).get("podIP"):
            continue
        serving = pods.is_ready(pod) or unready_too
        leaving = objects.is_deleting(pod)
        ready = serving and (not leaving or unready_too)
        found.append(_Backend(pod, _ports(service, pod), ready, serving, leaving))
    return sorted(found, key=lambda each: objects.name(each.pod))


def _ports(service: json.JsonObject, pod: json.JsonObject) -> tuple[tuple[str, int, str], ...]:
    ports = []
    for each in objects.spec(service).get("ports") or ():
        number = target_port(each, pod)
        if number is not None:
            ports.append((str(each.get("name") or ""), number, str(each.get("protocol") or "TCP")))
    return tuple(ports)


def target_port(port: json.JsonObject, pod: json.JsonObject) -> int | None:
    """The number of a Service port in the pod; None when the pod has no port of that name."""
    target = port.get("targetPort") or port.get("port")
    if isinstance(target, int):
        return target
    for container in objects.spec(pod).get("containers") or ():
        for each in container.get("ports") or ():
            same_protocol = (each.get("protocol") or "TCP") == (port.get("protocol") or "TCP")
            if each.get("name") == target and same_protocol:
                return int(each["containerPort"])
    return None


def _wanted(
    service: json.JsonObject, backends: Sequence[_Backend]
) -> list[endpoint_slices.Content]:
    groups: dict[tuple[tuple[str, int, str], ...], list[_Backend]] = {}
    for each in backends:
        groups.setdefault(each.ports, []).append(each)
    if not groups:
        return [endpoint_slices.Content([], [])]
    wanted = []
    for ports, members in groups.items():
        told = [{"name": name, "port": number, "protocol": kind} for name, number, kind in ports]
        for start in range(0, len(members), _SLICE_SIZE):
            part = members[start : start + _SLICE_SIZE]
            endpoints = [_endpoint(each, service) for each in part]
            wanted.append(endpoint_slices.Content(told, endpoints))
    return wanted


def _endpoint(backend: _Backend, service: json.JsonObject) -> json.JsonObject:
    pod = backend.pod
    told: json.JsonObject = {
        "addresses": [objects.status(pod)["podIP"]],
        "conditions": {
            "ready": backend.ready,
            "serving": backend.serving,
            "terminating": backend.terminating,
        },
        "targetRef": _target(pod),
        "nodeName": objects.spec(pod).get("nodeName"),
    }
    spec = objects.spec(pod)
    if spec.get("hostname") and spec.get("subdomain") == objects.name(service):
        told["hostname"] = spec["hostname"]
    return told


def _target(pod: json.JsonObject) -> json.JsonObject:
    return {
        "kind": "Pod",
        "namespace": objects.namespace(pod),
        "name": objects.name(pod),
        "uid": objects.uid(pod),
    }


def _labels(service: json.JsonObject) -> dict[str, str]:
    headless = {"service.kubernetes.io/headless": ""} if _is_headless(service) else {}
    return {
        **objects.labels(service),
        endpoint_slices.MANAGER_LABEL: _SLICE_COMPONENT,
        endpoint_slices.SERVICE_LABEL: objects.name(service),
        **headless,
    }


def _is_headless(service: json.JsonObject) -> bool:
    return bool(objects.spec(service).get("clusterIP") == "None")


def _classic(
    cluster: view.View,
    service: json.JsonObject,
    backends: Sequence[_Backend],
    at: times.Instant,
) -> list[actions.Write]:
    """The older Endpoints object of the Service's name, without pods that are leaving."""
    subsets = _subsets([each for each in backends if not each.terminating])
    labels = {**objects.labels(service), "endpoints.kubernetes.io/managed-by": _CLASSIC}
    if _is_headless(service):
        labels["service.kubernetes.io/headless"] = ""
    found = cluster.get("Endpoints", objects.namespace(service), objects.name(service))
    if found is None:
        made: json.JsonObject = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": objects.name(service),
                "namespace": objects.namespace(service),
                "labels": labels,
                "annotations": {_CHANGED: at.stamp},
            },
        }
        if subsets:
            made["subsets"] = subsets
        return [actions.Create(made)]
    if (found.get("subsets") or []) == subsets or objects.is_deleting(found):
        return []
    updated = objects.changed(found, ("metadata", "annotations", _CHANGED), at.stamp)
    updated = objects.changed(updated, ("metadata", "labels"), labels)
    return [actions.Update({**updated, "subsets": subsets})]


_CLASSIC = "endpoint-controller"
_CHANGED = "endpoints.kubernetes.io/last-change-trigger-time"


def _subsets(backends: Sequence[_Backend]) -> list[json.JsonObject]:
    groups: dict[tuple[tuple[str, int, str], ...], list[_Backend]] = {}
    for each in backends:
        groups.setdefault(each.ports, []).append(each)
    subsets = []
    for ports, members in groups.items():
        subset: dict[str, Any] = {}
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            listed = [_address(each.pod) for each in members if each.ready is ready]
            if listed:
                subset[field] = listed
        subset["ports"] = [
            objects.without_empty({"name": name, "port": number, "protocol": kind})
            for name, number, kind in ports
        ]
        subsets.append(subset)
    return subsets


def _address(pod: json.JsonObject) -> json.JsonObject:
    return {
        "ip": objects.status(pod)["podIP"],
        "nodeName": objects.spec(pod).get("nodeName"),
        "targetRef": _target(pod),
    }
