"""A cluster in memory, for stages in virtual time: objects, watches, and endpoints that follow."""

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import informers, recent_objects, watches, write_rules
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import applications, json

KEY = "pipecd.dev/variant"
#: Whose the objects are: the shop's, as every context has it that nobody gave another one.
OWNER = applications.Application("shop").owner
_KINDS = (
    ("", "v1", "Service", "services"),
    ("", "v1", "Pod", "pods"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "Namespace", "namespaces"),
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "ReplicaSet", "replicasets"),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    ("split.smi-spec.io", "v1alpha2", "TrafficSplit", "trafficsplits"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
    ("networking.k8s.io", "v1", "Ingress", "ingresses"),
)
RESOURCES = {
    kind: discovery.Resource(group, version, kind, plural, kind != "Namespace")
    for group, version, kind, plural in _KINDS
}


class MemoryCluster:
    """Answers what `clients.Client` answers, out of a dictionary."""

    name = "us"
    namespace = "default"
    trouble = ""

    def may_have_kept(self, record: json.JsonObject, resource: discovery.Resource) -> bool:
        return write_rules.may_have_kept(write_rules.refuse_own_writes, record, resource)

    def may_have_written(self, body: json.JsonObject, resource: discovery.Resource) -> bool:
        return write_rules.may_have_written(write_rules.refuse_own_writes, body, resource)

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], json.JsonObject] = {}
        self._changed = asyncio.Event()
        self.recent = recent_objects.RecentObjects()
        self.informers = informers.Informers(lambda: self.answered)
        self._version = 0
        #: Writes in their order: kind, name and the field manager.
        self.writes: list[tuple[str, str, str]] = []
        #: Called before each write: what somebody else does in that moment.
        self.before_write: list[Any] = []
        #: What requests fail with; None: they do not.
        self.error: Exception | None = None
        self._refuses_reads = False

    @contextlib.contextmanager
    def refusing_reads(self) -> Iterator[None]:
        """Given: what is asked for in the block, but for writes, is refused."""
        self._refuses_reads = True
        try:
            yield
        finally:
            self._refuses_reads = False

    @contextlib.contextmanager
    def late_watches(self) -> Iterator[None]:
        """Given: who watches hears of nothing before the block ends."""
        waiting, self._changed = self._changed, asyncio.Event()
        try:
            yield
        finally:
            waiting.set()

    @property
    def answered(self) -> float:
        return asyncio.get_running_loop().time()

    async def version(self) -> str:
        return "v1.36.0"

    async def discover(self, *, refresh: bool = False) -> discovery.Catalog:
        return discovery.catalog(RESOURCES.values())

    def put(self, *bodies: json.JsonObject) -> None:
        """Given: objects are there, or are others now."""
        for body in bodies:
            self._keep(copy.deepcopy(body))
        self._follow()

    def remove(self, kind: str, name: str) -> None:
        """Given: an object is gone."""
        del self._objects[kind, name]
        self._follow()

    def find(self, kind: str, name: str) -> json.JsonObject | None:
        """Then: an object, if it is there."""
        return self._objects.get((kind, name))

    def _keep(self, body: json.JsonObject) -> json.JsonObject:
        self._version += 1
        metadata = {"namespace": "default", **body["metadata"]}
        body = {**body, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self._objects[body["kind"], body["metadata"]["name"]] = body
        return body

    def _follow(self) -> None:
        """Let endpoints follow Services and pods, and wake who watches."""
        pods = [body for (kind, _), body in self._objects.items() if kind == "Pod"]
        for (kind, name), body in list(self._objects.items()):
            selector = objects.mapping(body, "spec", "selector")
            if kind != "Service":
                continue
            self._keep(
                {
                    "apiVersion": "discovery.k8s.io/v1",
                    "kind": "EndpointSlice",
                    "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
                    "endpoints": [
                        {"targetRef": {"name": pod["metadata"]["name"]}, "conditions": {}}
                        for pod in pods
                        if selector.items() <= pod["metadata"]["labels"].items() and is_ready(pod)
                    ],
                }
            )
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def get(
        self, resource: discovery.Resource, name: str, *, namespace: str = ""
    ) -> json.JsonObject | None:
        self._fail_read()
        return copy.deepcopy(self._objects.get((resource.kind, name)))

    async def delete(
        self,
        resource: discovery.Resource,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> None:
        self._fail()
        metadata = self._objects[resource.kind, name]["metadata"]
        is_newer = resource_version not in ("", metadata["resourceVersion"])
        if is_newer or uid not in ("", metadata.get("uid", uid)):
            raise api_errors.Conflict(f"{resource.kind} {name} has changed", status=409)
        self.remove(resource.kind, name)

    async def list(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> watches.ObjectList:
        self._fail_read()
        items = self._select(resource.kind, label_selector, field_selector)
        return watches.ObjectList(tuple(items), str(self._version))

    async def watch(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        standing: watches.Standing | None = None,
    ) -> AsyncGenerator[watches.WatchEvent, None]:
        while True:
            self._fail()
            if standing is not None:
                standing.is_open = True
            changed = self._changed
            items = self._select(resource.kind, label_selector, field_selector)
            yield watches.WatchEvent(watches.WatchKind.RELISTED, {}, tuple(items))
            await changed.wait()

    def _select(self, kind: str, labels: str, fields: str) -> "list[json.JsonObject]":
        wanted = dict(term.split("=", 1) for term in labels.split(",") if "=" in term)
        name = fields.removeprefix("metadata.name=")
        return [
            copy.deepcopy(body)
            for (of_kind, of_name), body in self._objects.items()
            if of_kind == kind
            and name in ("", of_name)
            and wanted.items() <= (body["metadata"].get("labels") or {}).items()
        ]

    async def apply(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = "volary",
        force: bool = False,
        dry_run: bool = False,
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> json.JsonObject:
        self._fail()
        if self.before_write:
            self.before_write.pop(0)()
        name = body["metadata"]["name"]
        live = self._objects.get((resource.kind, name)) or {}
        expected = body["metadata"].get("resourceVersion")
        if live and expected and expected != live["metadata"]["resourceVersion"]:
            raise api_errors.Conflict(f"{resource.kind} {name} has changed", status=409)
        self.writes.append((resource.kind, name, field_manager))
        kept = self._keep(_merged(live, body))
        self._follow()
        version = kept["metadata"]["resourceVersion"]
        self.informers.wrote(resource, name, "default", version)
        return kept

    def _fail_read(self) -> None:
        self._fail()
        if self._refuses_reads:
            raise api_errors.Forbidden("nothing may be read", status=403)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


def _merged(live: Mapping[str, Any], applied: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(live)
    for key, value in applied.items():
        inner = result.get(key)
        # Selectors are atomic: who applies one applies it whole.
        both = isinstance(value, dict) and isinstance(inner, dict) and key != "selector"
        result[key] = _merged(inner, value) if both else copy.deepcopy(value)
    return result


def is_ready(pod: json.JsonObject) -> bool:
    """Whether a pod takes requests."""
    (condition,) = pod["status"]["conditions"]
    return bool(condition["status"] == "True")


def pod(name: str, variant: str, *, ready: bool = True) -> json.JsonObject:
    """A pod of the shop."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "shop", KEY: variant}},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def service(name: str = "shop", variant: str = "primary") -> json.JsonObject:
    """A Service that leads to one variant of the shop."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "shop", KEY: variant}, "ports": [{"port": 80}]},
    }


def split(**weights: int) -> json.JsonObject:
    """The shop's SMI TrafficSplit over its Services."""
    owner = applications.Application(name="shop").owner
    labels = tracking.owner_labels(owner)
    annotations = {**labels, tracking.APPLICATION: owner.name}
    backends = [
        {"service": name.replace("_", "-"), "weight": weight}
        for name, weight in (weights or {"shop": 100}).items()
    ]
    return {
        "apiVersion": "split.smi-spec.io/v1alpha2",
        "kind": "TrafficSplit",
        "metadata": {"name": "shop", "labels": labels, "annotations": annotations},
        "spec": {"service": "shop", "backends": backends},
    }


def deployment(
    variant: str, *, ready: int = 2, replicas: int = 2, **status: Any
) -> json.JsonObject:
    """A Deployment of the shop as its controller leaves it."""
    suffix = "" if variant == "primary" else f"-{variant}"
    labels = {"app": "shop", KEY: variant}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"shop{suffix}",
            "generation": 1,
            "labels": {**tracking.owner_labels(OWNER), **labels},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
        },
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            **status,
        },
    }
