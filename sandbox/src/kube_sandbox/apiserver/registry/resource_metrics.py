"""``metrics.k8s.io``: what pods and nodes use, as metrics-server tells it, where it is installed.

Nothing here is stored. metrics-server reads every node once in a while (`RESOLUTION`) and tells
what it read last, so an answer is up to that old, and bears the time of that reading. Of a pod it
tells nothing before it has two readings of all its containers: a rate needs two.

No processes run in emulated pods: what they use is what the sandbox was told of them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, times
from kube_sandbox.apimachinery.scheme import kinds, schema
from kube_sandbox.apiserver.registry import listing
from kube_sandbox.apiserver.storage import cluster_state, storage, verbs

GROUP = "metrics.k8s.io"
_VERSION = "v1beta1"
#: Sandbox seconds between two readings of the nodes (metrics-server: ``--metric-resolution``).
RESOLUTION = 15.0
#: Dates have whole seconds, so readings that are closer could not be told apart.
_SHORTEST = 1.0
_NODE = next(each for each in kinds.BUILT_IN if (each.group, each.name) == ("", "Node"))
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container uses."""

    #: Cores.
    cpu: float
    #: Bytes of its working set.
    memory: float


#: Returns what the containers of a pod use that run, by their names.
UsageOf = Callable[[json.JsonObject], Mapping[str, Usage]]


def _kind(name: str, plural: str, *, namespaced: bool) -> kinds.Kind:
    return kinds.Kind(
        group=GROUP,
        version=_VERSION,
        name=name,
        plural=plural,
        singular="",
        namespaced=namespaced,
        verbs=("get", "list"),
        custom_schema=schema.custom(GROUP, _VERSION, name, _OPEN),
        stored_version=_VERSION,
        printer_columns=(),
    )


NODES = _kind("NodeMetrics", "nodes", namespaced=False)
PODS = _kind("PodMetrics", "pods", namespaced=True)
#: What installing metrics-server adds to the roles that people have.
_ROLE: json.JsonObject = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "system:aggregated-metrics-reader",
        "labels": {
            "k8s-app": "metrics-server",
            **{
                f"rbac.authorization.k8s.io/aggregate-to-{role}": "true"
                for role in ("admin", "edit", "view")
            },
        },
    },
    "rules": [
        {"apiGroups": [GROUP], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}
    ],
}


class ResourceMetrics:
    """Answers for one cluster; made by `Registry.serve_metrics`."""

    role = _ROLE

    def __init__(
        self, state: cluster_state.ClusterState, usage_of: UsageOf, *, speed: float
    ) -> None:
        self._state = state
        self._usage_of = usage_of
        self._resolution = max(_SHORTEST, RESOLUTION / speed)
        state.served.set_custom(GROUP, (NODES, PODS))

    def get(self, kind: kinds.Kind, namespace: str, name: str) -> json.JsonObject:
        """Return what is told of one pod or node; raises 404."""
        of, told = self._about(kind)
        item = self._state.storage.get(of.bucket, namespace, name)
        if item is None:
            raise api_errors.not_found(of.group, of.plural, name)
        body = told(item.body)
        if body is None:
            full_name = f"{namespace}/{name}" if namespace else name
            raise api_errors.not_found(kind.group, kind.name.lower(), full_name)
        return body

    def list(self, kind: kinds.Kind, namespace: str, query: verbs.Query) -> verbs.Listing:
        """Return what is told of all that are selected, in one page; raises 400."""
        found = self._find(kind, namespace, query)
        return verbs.Listing([_item(each) for each in found], self._state.storage.revision)

    def _find(
        self, kind: kinds.Kind, namespace: str, query: verbs.Query
    ) -> Sequence[json.JsonObject]:
        of, told = self._about(kind)
        selected = listing.matcher(of, query.label_selector, query.field_selector)
        held = self._state.storage.list(of.bucket, namespace)
        answers = (told(each.body) for each in held if selected(each.body))
        return [each for each in answers if each is not None]

    def _about(
        self, kind: kinds.Kind
    ) -> tuple[kinds.Kind, Callable[[json.JsonObject], json.JsonObject | None]]:
        """Return the kind that a kind tells of, and what tells it of an object."""
        return (kinds.POD, self._of_pod) if kind is PODS else (_NODE, self._of_node)

    def _of_pod(self, pod: json.JsonObject) -> json.JsonObject | None:
        used = self._used(pod)
        if not used:
            return None
        containers = [{"name": name, "usage": _written(each)} for name, each in used.items()]
        return {**self._head(PODS, pod), "containers": containers}

    def _of_node(self, node: json.JsonObject) -> json.JsonObject:
        name = node["metadata"]["name"]
        pods = self._state.storage.list(kinds.POD.bucket, "")
        used = [
            each
            for item in pods
            if item.body["spec"].get("nodeName") == name
            for each in self._used(item.body).values()
        ]
        return {**self._head(NODES, node), "usage": _written(_sum(used))}

    def _used(self, pod: json.JsonObject) -> Mapping[str, Usage]:
        """Return what each container used at the last reading; empty: that is not told yet."""
        told = pod.get("status") or {}
        states = (told.get("containerStatuses") or []) if told.get("phase") == "Running" else []
        second = self._read_at() - self._resolution
        has_two = all(_started(each) <= second for each in states)
        return self._usage_of(pod) if states and has_two else {}

    def _read_at(self) -> float:
        """Return when the nodes were read last."""
        now = self._state.time.now().timestamp()
        return now - now % self._resolution

    def _head(self, kind: kinds.Kind, of: json.JsonObject) -> json.JsonObject:
        metadata = {
            key: of["metadata"][key]
            for key in ("name", "namespace", "labels")
            if key in of["metadata"]
        }
        read_at = datetime.fromtimestamp(self._read_at(), UTC)
        return {
            "kind": kind.name,
            "apiVersion": kind.api_version,
            "metadata": {**metadata, "creationTimestamp": self._state.stamp()},
            "timestamp": times.stamp(read_at),
            "window": f"{self._resolution:g}s",
        }


def _started(state: json.JsonObject) -> float:
    """Return since when a container runs; never, if it does not."""
    running = (state.get("state") or {}).get("running") or {}
    return times.parse(running["startedAt"]).timestamp() if running else math.inf


def _item(body: json.JsonObject) -> storage.Item:
    key = (body["metadata"].get("namespace", ""), body["metadata"]["name"])
    return storage.Item(key, 0, body)


def _sum(used: Iterable[Usage]) -> Usage:
    every = list(used)
    return Usage(sum(each.cpu for each in every), sum(each.memory for each in every))


def _written(used: Usage) -> json.JsonObject:
    """Write it in the units of metrics-server."""
    return {"cpu": f"{round(used.cpu * 1e9)}n", "memory": f"{round(used.memory / 1024)}Ki"}
