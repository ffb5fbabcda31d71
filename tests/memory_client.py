"""A cluster in memory with the client's methods, for unit tests: no server, and time stands still.

It keeps objects, owners of fields and watches; what it is told to refuse it refuses.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, informers, recent_objects, watches, write_rules
from volary.clusters.client.watches import ObjectList, WatchEvent, WatchKind
from volary.model import errors, json

Key = tuple[str, str, str]
#: What an apply may say of the object that it is to change.
_CONDITIONS = ("uid", "resourceVersion")
#: One term of a label selector: equality, or one of several values.
_FIELD = re.compile(r"(metadata\.name|status\.phase)(!?=)([^,]*)")
_TERM = re.compile(r"([\w./-]+)(?:=([^,]*)| in \(([^)]*)\))")


def kind(
    group: str, name: str, plural: str, *, namespaced: bool = True, version: str = "v1"
) -> discovery.Resource:
    return discovery.Resource(group, version, name, plural, namespaced=namespaced)


CONFIG_MAPS = kind("", "ConfigMap", "configmaps")
SERVICES = kind("", "Service", "services")
PODS = kind("", "Pod", "pods")
SECRETS = kind("", "Secret", "secrets")
NAMESPACES = kind("", "Namespace", "namespaces", namespaced=False)
DEPLOYMENTS = kind("apps", "Deployment", "deployments")
SLICES = kind("discovery.k8s.io", "EndpointSlice", "endpointslices")
AUTOSCALERS = kind("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
DEFINITIONS = kind(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
KINDS = (
    CONFIG_MAPS,
    SECRETS,
    SERVICES,
    PODS,
    NAMESPACES,
    DEPLOYMENTS,
    SLICES,
    AUTOSCALERS,
    DEFINITIONS,
)


@dataclass(eq=False)
class MemoryCluster:
    """See the module."""

    resources: list[discovery.Resource] = field(default_factory=lambda: list(KINDS))
    #: Groups that are served by somebody who does not answer.
    stale: tuple[str, ...] = ()
    name: str = "us"
    #: As whom it is asked; empty: as the owner of the credentials.
    acts_as: str = ""
    namespace: str = "default"
    answered: float = float("-inf")
    #: Why it does not answer at present; empty: it does.
    trouble: str = ""
    #: ``verb plural`` or ``verb plural/name`` → what is raised; ``dry`` before it: for trials only.
    #: ``list plural/`` is the list of all namespaces.
    refusals: dict[str, errors.VolaryError] = field(default_factory=dict)
    #: Requests so far: ``verb plural/name``, with ``dry`` before trials.
    asked: list[str] = field(default_factory=list)
    #: Of watches so far: plural, label selector and field selector.
    selectors: list[tuple[str, str, str]] = field(default_factory=list)
    #: Called before a request is carried out.
    before: Callable[[str], None] = lambda _: None
    objects: dict[Key, json.JsonObject] = field(default_factory=dict)
    recent: recent_objects.RecentObjects = field(default_factory=recent_objects.RecentObjects)
    #: By which it writes as far as records of Volary's own go.
    rule: write_rules.WriteRule = write_rules.permit_all
    _applied: dict[Key, dict[str, json.JsonObject]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _watches: list[tuple[discovery.Resource, str, str, str, "asyncio.Queue[WatchEvent]"]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        self.informers = informers.Informers(lambda: self.answered)

    @property
    def client(self) -> clients.Client:
        return cast("clients.Client", self)

    # The state of the world.

    def put(self, resource: discovery.Resource, body: json.JsonObject) -> json.JsonObject:
        """Store an object as a controller or a person would, and tell who watches."""
        body = _copied(body)
        metadata = body.setdefault("metadata", {})
        if resource.namespaced:
            metadata.setdefault("namespace", self.namespace)
        key = self._key(resource, metadata["name"], metadata.get("namespace", ""))
        known = self.objects.get(key)
        metadata.setdefault("uid", known["metadata"]["uid"] if known else self._number("uid"))
        metadata["resourceVersion"] = self._number("")
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        self.objects[key] = body
        self._tell(resource, WatchKind.MODIFIED if known else WatchKind.ADDED, body)
        return _copied(body)

    def remove(self, resource: discovery.Resource, name: str, namespace: str = "default") -> None:
        key = self._key(resource, name, namespace)
        body = self.objects.pop(key)
        self._applied.pop(key, None)
        self._tell(resource, WatchKind.DELETED, body)

    def find(
        self, resource: discovery.Resource, name: str, namespace: str = "default"
    ) -> json.JsonObject | None:
        return self.objects.get(self._key(resource, name, namespace))

    # The client's methods.

    async def discover(self, *, refresh: bool = False) -> discovery.Catalog:
        if refresh:
            self._ask("refresh", "kinds")
        return discovery.catalog(self.resources, stale=self.stale)

    async def version(self) -> str:
        return "v1.36.0"

    def may_have_written(self, body: json.JsonObject, resource: discovery.Resource) -> bool:
        return write_rules.may_have_written(self.rule, body, resource)

    def may_have_kept(self, record: json.JsonObject, resource: discovery.Resource) -> bool:
        return write_rules.may_have_kept(self.rule, record, resource)

    async def get(
        self, resource: discovery.Resource, name: str, *, namespace: str = ""
    ) -> json.JsonObject | None:
        self._ask("get", resource.plural, name)
        return _copied(self.find(resource, name, namespace))

    async def list(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        most: int = 0,
    ) -> ObjectList:
        self._ask("list", resource.plural, namespace)
        items = self._items(resource, namespace, label_selector, field_selector)
        if most and len(items) > most:
            raise api_errors.TooLarge(f"there are more than {most} {resource.plural}")
        return ObjectList(items, "1")

    async def watch(
        self,
        resource: discovery.Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        standing: watches.Standing | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        self._ask("watch", resource.plural, namespace)
        self.selectors.append((resource.plural, label_selector, field_selector))
        queue: asyncio.Queue[WatchEvent] = asyncio.Queue()
        watch = (resource, namespace, label_selector, field_selector, queue)
        self._watches.append(watch)
        try:
            items = self._items(resource, namespace, label_selector, field_selector)
            if resource_version:
                for item in items:
                    yield WatchEvent(WatchKind.ADDED, item)
            else:
                yield WatchEvent(WatchKind.RELISTED, {}, items)
            if standing is not None:
                standing.is_open = True
            while True:
                yield await queue.get()
        finally:
            if standing is not None:
                standing.is_open = False
            self._watches.remove(watch)

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
        name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
        self._ask("patch", resource.plural, name, dry_run=dry_run)
        key = self._key(resource, name, namespace)
        known, seen = self.objects.get(key), body["metadata"]
        metadata = {key: value for key, value in seen.items() if key not in _CONDITIONS}
        body = {**body, "metadata": metadata}
        owners = _copied(self._applied.get(key, {}))
        _check_conflict(body, owners, field_manager, force=force)
        is_missing = known is None and "uid" in seen
        if is_missing or any(known and seen.get(key, now) != now for key, now in _seen(known)):
            raise api_errors.Conflict("it is another one", status=409, reason="Conflict")
        live = _copied(self.objects.get(key) or {})
        _drop(live, owners.get(field_manager, {}), body)
        merged = _merge(live, body)
        owners[field_manager] = _copied(body)
        merged["metadata"]["managedFields"] = [
            _managed(manager, applied) for manager, applied in sorted(owners.items())
        ]
        return self._write(resource, merged, owners, dry_run=dry_run)

    async def create(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = "volary",
        dry_run: bool = False,
    ) -> json.JsonObject:
        body = _copied(body)
        metadata = body["metadata"]
        metadata.setdefault("name", f"{metadata.get('generateName')}x")
        self._ask("create", resource.plural, metadata["name"], dry_run=dry_run)
        metadata["managedFields"] = [{"manager": field_manager, "operation": "Update"}]
        if self.find(resource, metadata["name"], metadata.get("namespace", "")):
            raise api_errors.AlreadyExists("it exists", status=409, reason="AlreadyExists")
        return self._write(resource, body, {}, dry_run=dry_run)

    async def replace(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = "volary",
        dry_run: bool = False,
    ) -> json.JsonObject:
        metadata = body["metadata"]
        self._ask("update", resource.plural, metadata["name"], dry_run=dry_run)
        known = self.find(resource, metadata["name"], metadata.get("namespace", ""))
        assert known is not None
        if metadata.get("resourceVersion", "") not in ("", known["metadata"]["resourceVersion"]):
            raise api_errors.Conflict("it has changed", status=409, reason="Conflict")
        # Who owns what is taken as it is sent where nothing else changes.
        owners = metadata.get("managedFields")
        if owners is None or _without_owners(body) != _without_owners(known):
            owners = [{"manager": field_manager, "operation": "Update"}]
        uid = known["metadata"]["uid"]
        kept = {"metadata": {**metadata, "uid": uid, "managedFields": owners}}
        return self._write(resource, {**_copied(body), **kept}, {}, dry_run=dry_run)

    async def merge_patch(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        *,
        field_manager: str = "volary",
        dry_run: bool = False,
    ) -> json.JsonObject:
        """Who is no more among the managers has given all of it to `field_manager`."""
        name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
        self._ask("patch", resource.plural, name, dry_run=dry_run)
        key = self._key(resource, name, namespace)
        live = _copied(self.objects[key])
        version = body["metadata"].get("resourceVersion", live["metadata"]["resourceVersion"])
        if version != live["metadata"]["resourceVersion"]:
            raise api_errors.Conflict("it has changed", status=409, reason="Conflict")
        owners = _copied(self._applied.get(key, {}))
        entries = body["metadata"].get("managedFields")
        if entries is not None:
            given: json.JsonObject = {}
            for other in set(owners) - {entry["manager"] for entry in entries}:
                given = _merge(given, owners.pop(other))
            owners[field_manager] = _merge(given, owners.get(field_manager, {}))
        return self._write(resource, _patched(live, body), owners, dry_run=dry_run)

    async def delete(
        self,
        resource: discovery.Resource,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
    ) -> None:
        self._ask("delete", resource.plural, name)
        self.asked.append(f"propagation {propagation}")
        live = self.find(resource, name, namespace)
        if live is None:
            return
        metadata = live["metadata"]
        if uid not in ("", metadata["uid"]) or resource_version not in (
            "",
            metadata["resourceVersion"],
        ):
            raise api_errors.Conflict("it is another one", status=409, reason="Conflict")
        if metadata.get("finalizers"):
            self.put(resource, {**live, "metadata": {**metadata, "deletionTimestamp": "now"}})
        else:
            self.remove(resource, name, namespace)

    def _write(
        self,
        resource: discovery.Resource,
        body: json.JsonObject,
        owners: dict[str, json.JsonObject],
        *,
        dry_run: bool,
    ) -> json.JsonObject:
        metadata = body["metadata"]
        key = self._key(resource, metadata["name"], metadata.get("namespace", ""))
        if dry_run:
            uid = (self.objects.get(key) or {"metadata": {"uid": "new"}})["metadata"]["uid"]
            return {**body, "metadata": {**metadata, "uid": uid}}
        self._applied[key] = owners
        written = self.put(resource, body)
        version = written["metadata"]["resourceVersion"]
        self.informers.wrote(resource, metadata["name"], metadata.get("namespace", ""), version)
        return written

    def _ask(self, verb: str, plural: str, name: str = "", *, dry_run: bool = False) -> None:
        words = f"{verb} {plural}"
        self.asked.append(f"{'dry ' if dry_run else ''}{words}/{name}".rstrip("/"))
        self.before(self.asked[-1])
        prefix = "dry " if dry_run else ""
        for refused in (f"{prefix}{words}", f"{prefix}{words}/{name}"):
            if refused in self.refusals:
                raise self.refusals[refused]

    def _items(
        self, resource: discovery.Resource, namespace: str, labels: str, fields: str
    ) -> tuple[json.JsonObject, ...]:
        return tuple(
            _copied(body)
            for (title, _, _), body in sorted(self.objects.items())
            if title == resource.title and _matches(body, namespace, labels, fields)
        )

    def _tell(self, resource: discovery.Resource, what: WatchKind, body: json.JsonObject) -> None:
        for watched, namespace, labels, fields, queue in self._watches:
            if watched == resource and _matches(body, namespace, labels, fields):
                queue.put_nowait(WatchEvent(what, _copied(body)))

    def _key(self, resource: discovery.Resource, name: str, namespace: str) -> Key:
        return resource.title, namespace if resource.namespaced else "", name

    def _number(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"


def _seen(known: json.JsonObject | None) -> list[tuple[str, str]]:
    return [(key, known["metadata"][key]) for key in _CONDITIONS] if known else []


def _copied(value: Any) -> Any:
    """Return JSON that shares nothing with `value`; much faster than copying just anything."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _without_owners(body: json.JsonObject) -> json.JsonObject:
    own = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return {**body, "metadata": own}


def _matches(body: json.JsonObject, namespace: str, labels: str, fields: str) -> bool:
    metadata = body["metadata"]
    if namespace not in ("", metadata.get("namespace", "")):
        return False
    for name, sign, value in _FIELD.findall(fields):
        found = metadata["name"] if name == "metadata.name" else body["status"]["phase"]
        if (found == value) is not (sign == "="):
            return False
    carried = metadata.get("labels", {})
    for key, value, values in _TERM.findall(labels):
        if carried.get(key) not in (values.split(",") if values else [value]):
            return False
    return True


def _merge(live: Any, applied: Any) -> Any:
    if not isinstance(live, dict) or not isinstance(applied, dict):
        return _copied(applied)
    return {**live, **{key: _merge(live.get(key), value) for key, value in applied.items()}}


def _patched(live: Any, patch: Any) -> Any:
    if not isinstance(live, dict) or not isinstance(patch, dict):
        return _copied(patch)
    merged = {**live, **{key: _patched(live.get(key), value) for key, value in patch.items()}}
    return {key: value for key, value in merged.items() if value is not None}


def _drop(live: Any, before: Any, now: Any) -> None:
    """Take out of `live` what was applied before and is applied no more."""
    for key, value in before.items():
        if key not in now:
            live.pop(key, None)
        elif isinstance(value, dict) and isinstance(live.get(key), dict):
            _drop(live[key], value, now[key] if isinstance(now[key], dict) else {})


def _leaves(body: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(body, dict):
        return {path: body}
    return {
        inner: value
        for key, part in body.items()
        if (path, key) not in {("", "apiVersion"), ("", "kind")}
        for inner, value in _leaves(part, f"{path}.{key}").items()
    }


def _check_conflict(
    body: json.JsonObject, owners: dict[str, json.JsonObject], manager: str, *, force: bool
) -> None:
    mine = _leaves(body)
    causes = [
        api_errors.Cause("FieldManagerConflict", path, f'conflict with "{other}"')
        for other, applied in owners.items()
        if other != manager
        for path, value in _leaves(applied).items()
        if path in mine and mine[path] != value
    ]
    if causes and not force:
        raise api_errors.ApplyConflict("others own it", status=409, causes=tuple(causes))


def _managed(manager: str, applied: json.JsonObject) -> json.JsonObject:
    body = {key: value for key, value in applied.items() if key not in ("apiVersion", "kind")}
    names = ("name", "namespace", "managedFields", "uid", "resourceVersion")
    metadata = {key: value for key, value in body.pop("metadata").items() if key not in names}
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": applied["apiVersion"],
        "fieldsV1": _fields({**body, **({"metadata": metadata} if metadata else {})}),
    }


def _fields(body: Any) -> json.JsonObject:
    if not isinstance(body, dict):
        return {}
    return {f"f:{key}": _fields(value) for key, value in body.items()}
