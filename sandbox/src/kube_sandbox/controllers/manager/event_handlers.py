"""Who has to look again after a change; pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, selectors
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers import endpoints, garbage, gateways, taint_eviction
from kube_sandbox.controllers.framework import view
from kube_sandbox.controllers.manager import cache


class Role(StrEnum):
    """The controllers of a cluster."""

    DEPLOYMENT = "deployment"
    REPLICA_SET = "replicaset"
    REPLICATION_CONTROLLER = "replicationcontroller"
    STATEFUL_SET = "statefulset"
    DAEMON_SET = "daemonset"
    JOB = "job"
    SCHEDULER = "scheduler"
    KUBELET = "kubelet"
    POD_COLLECTOR = "podcollector"
    TAINT_EVICTION = "tainteviction"
    ENDPOINTS = "endpoints"
    DISRUPTION = "disruption"
    QUOTA = "quota"
    CLUSTER_ROLE = "clusterrole"
    GATEWAY = "gateway"
    NAMESPACE = "namespace"
    GARBAGE_OWNER = "garbage-owner"
    GARBAGE_DEPENDENT = "garbage-dependent"


@dataclass(frozen=True, slots=True)
class Task:
    """A look that a controller takes at an object."""

    role: Role
    key: view.Key


#: Kinds whose controller looks at the object itself.
_OWN = {
    "Deployment": Role.DEPLOYMENT,
    "ReplicaSet": Role.REPLICA_SET,
    "ReplicationController": Role.REPLICATION_CONTROLLER,
    "StatefulSet": Role.STATEFUL_SET,
    "DaemonSet": Role.DAEMON_SET,
    "Job": Role.JOB,
    "Service": Role.ENDPOINTS,
    "PodDisruptionBudget": Role.DISRUPTION,
    "ResourceQuota": Role.QUOTA,
    "Namespace": Role.NAMESPACE,
}
_POD_OWNERS = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job")
_FURNITURE = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}


def affected(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    """Yield the looks a change asks for."""
    obj = change.item.body
    kind, namespace, name = objects.kind(obj), objects.namespace(obj), objects.name(obj)
    if kind == "Event":
        return
    if kind in _OWN and _is_built_in(cluster, obj):
        yield Task(_OWN[kind], view.Key(kind, namespace, name))
    yield from _controllers(cluster, obj)
    match kind:
        case "Pod":
            yield from _of_pod(cluster, change)
        case "EndpointSlice":
            service = objects.labels(obj).get("kubernetes.io/service-name", "")
            yield Task(Role.ENDPOINTS, view.Key("Service", namespace, service))
        case "Endpoints" if cluster.get("Service", namespace, name) is not None:
            # Those somebody wrote wait for their Service; when it goes, they go with it.
            yield Task(Role.ENDPOINTS, view.Key("Service", namespace, name))
        case "Node":
            yield from _of_node(cluster, change)
        case _:
            pass
    if kind == "ClusterRole":
        for role in cluster.list("ClusterRole"):
            if role.get("aggregationRule"):
                key = view.Key("ClusterRole", "", objects.name(role))
                yield Task(Role.CLUSTER_ROLE, key)
    yield from _of_quotas(cluster, change)
    yield from _of_gateways(cluster, obj)
    yield from _of_garbage(cluster, change)
    yield from _of_namespace(cluster, change)


def _is_built_in(cluster: cache.Cache, obj: json.JsonObject) -> bool:
    known = cluster.kind(objects.kind(obj))
    return known is not None and known.api_version == obj.get("apiVersion")


def _controllers(cluster: cache.Cache, obj: json.JsonObject) -> Iterator[Task]:
    """The controller of the object, or those that might adopt it."""
    reference = objects.controller(obj)
    namespace = objects.namespace(obj)
    if reference is not None:
        role = _OWN.get(str(reference["kind"]))
        if role is not None:
            yield Task(role, view.Key(str(reference["kind"]), namespace, str(reference["name"])))
        return
    candidates = {"Pod": _POD_OWNERS, "ReplicaSet": ("Deployment",)}.get(objects.kind(obj), ())
    for kind in candidates:
        for owner in cluster.list(kind, namespace):
            if selectors.matches(objects.selector(owner), objects.labels(obj)):
                yield Task(_OWN[kind], view.Key(kind, namespace, objects.name(owner)))


def _of_pod(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    pod = change.item.body
    namespace = objects.namespace(pod)
    key = view.Key("Pod", namespace, objects.name(pod))
    if change.event is not storage.Event.DELETED:
        bound = str(objects.spec(pod).get("nodeName") or "")
        yield Task(Role.KUBELET if bound else Role.SCHEDULER, key)
        node = cluster.get("Node", "", bound) if bound else None
        if bound and node is None:
            yield Task(Role.POD_COLLECTOR, key)
        elif taint_eviction.taints_of(node):
            yield Task(Role.TAINT_EVICTION, key)
    states = [pod] if change.previous is None else [pod, change.previous.body]
    for service in cluster.list("Service", namespace):
        if any(endpoints.selects(service, each) for each in states):
            yield Task(Role.ENDPOINTS, view.Key("Service", namespace, objects.name(service)))
    for budget in cluster.list("PodDisruptionBudget", namespace):
        selector = objects.spec(budget).get("selector")
        if any(selectors.matches(selector, objects.labels(each)) for each in states):
            key = view.Key("PodDisruptionBudget", namespace, objects.name(budget))
            yield Task(Role.DISRUPTION, key)


def _of_quotas(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    """The quotas of a namespace in which something is gone or has ended."""
    obj = change.item.body
    gone = change.event is storage.Event.DELETED
    if not gone and objects.status(obj).get("phase") not in ("Succeeded", "Failed"):
        return
    namespace = objects.namespace(obj)
    for quota in cluster.list("ResourceQuota", namespace) if namespace else ():
        yield Task(Role.QUOTA, view.Key("ResourceQuota", namespace, objects.name(quota)))


def _of_node(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    for owner in cluster.list("DaemonSet"):
        key = view.Key("DaemonSet", objects.namespace(owner), objects.name(owner))
        yield Task(Role.DAEMON_SET, key)
    for pod in cluster.list("Pod"):
        key = view.Key("Pod", objects.namespace(pod), objects.name(pod))
        bound = objects.spec(pod).get("nodeName")
        if not bound:
            yield Task(Role.SCHEDULER, key)
        elif bound == objects.name(change.item.body):
            yield from _of_node_pod(change, key)


def _of_node_pod(change: storage.Change, key: view.Key) -> Iterator[Task]:
    """What a change of a node means for a pod on it."""
    if change.event is storage.Event.DELETED:
        yield Task(Role.POD_COLLECTOR, key)
    elif change.previous is None:
        yield Task(Role.KUBELET, key)
    before = taint_eviction.taints_of(change.previous.body if change.previous else None)
    if before != taint_eviction.taints_of(change.item.body):
        yield Task(Role.TAINT_EVICTION, key)


def _key(obj: json.JsonObject) -> view.Key:
    kind = view.designation(str(obj.get("apiVersion")), objects.kind(obj))
    return view.Key(kind, objects.namespace(obj), objects.name(obj))


def _of_gateways(cluster: cache.Cache, obj: json.JsonObject) -> Iterator[Task]:
    """A route itself, and routes whose parents or backends may have changed."""
    kind = view.designation(str(obj.get("apiVersion")), objects.kind(obj))
    if kind in gateways.ROUTES:
        yield Task(Role.GATEWAY, _key(obj))
    elif kind == "Service" or kind.endswith(f".{gateways.GROUP}"):
        for each in gateways.ROUTES:
            for route in cluster.list(each):
                yield Task(Role.GATEWAY, _key(route))


def _of_garbage(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    obj = change.item.body
    if change.event is storage.Event.DELETED:
        for dependent in cluster.owned(objects.uid(obj)):
            yield Task(Role.GARBAGE_DEPENDENT, _key(dependent))
    elif objects.is_deleting(obj):
        finalizers = objects.metadata(obj).get("finalizers") or ()
        if garbage.ORPHAN in finalizers or garbage.FOREGROUND in finalizers:
            yield Task(Role.GARBAGE_OWNER, _key(obj))
    elif change.event is storage.Event.ADDED and objects.metadata(obj).get("ownerReferences"):
        yield Task(Role.GARBAGE_DEPENDENT, _key(obj))
    states = [obj] if change.previous is None else [obj, change.previous.body]
    for reference in {
        (str(each.get("apiVersion")), str(each.get("kind")), str(each.get("name")))
        for state in states
        for each in objects.metadata(state).get("ownerReferences") or ()
    }:
        version, kind, name = reference
        owner = view.designation(version, kind)
        found = cluster.get(owner, objects.namespace(obj), name) or cluster.get(owner, "", name)
        if found is not None and objects.is_deleting(found):
            yield Task(Role.GARBAGE_OWNER, _key(found))


def _of_namespace(cluster: cache.Cache, change: storage.Change) -> Iterator[Task]:
    if change.event is not storage.Event.DELETED:
        return
    obj = change.item.body
    namespace = objects.namespace(obj)
    if not namespace:
        return
    found = cluster.get("Namespace", "", namespace)
    is_furniture = (objects.kind(obj), objects.name(obj)) in _FURNITURE
    if found is not None and (is_furniture or objects.is_deleting(found)):
        yield Task(Role.NAMESPACE, view.Key("Namespace", "", namespace))
