"""Requests as plain values, one function per verb, and the pages of lists: nothing is sent here."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import msgspec

from volary.clusters.api import api_errors, discovery
from volary.model import json

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request to an API server."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = ""
    accept: str = _JSON
    #: The verb and object for messages: ``patch deployments.apps shop/web``.
    what: str = ""
    #: Sending it twice has the effect of sending it once.
    idempotent: bool = False

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return f"{self.path}?{_encoded(tuple(self.query.items()))}" if self.query else self.path


@functools.lru_cache(maxsize=256)
def _encoded(pairs: tuple[tuple[str, str], ...]) -> str:
    """Encode a query; the writes of a set all have the same one."""
    return urlencode(pairs)


def path(
    resource: discovery.Resource, *, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """Return the path of a collection, an object or a subresource, safely quoted."""
    parts = [resource.base]
    if namespace and resource.namespaced:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(resource.plural)
    if name:
        parts.append(quote(name, safe=""))
    if subresource:
        parts.append(quote(subresource, safe="/"))
    return "/".join(parts)


def describe(verb: str, resource: discovery.Resource, namespace: str = "", name: str = "") -> str:
    """Name a verb and its object for messages, without contents."""
    where = "/".join(part for part in (namespace if resource.namespaced else "", name) if part)
    return f"{verb} {resource.title} {where}".rstrip()


def get(resource: discovery.Resource, name: str, *, namespace: str) -> Request:
    """Read one object."""
    return Request(
        "GET",
        path(resource, namespace=namespace, name=name),
        what=describe("get", resource, namespace, name),
        idempotent=True,
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection."""

    #: Empty: all namespaces.
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Its query parameters."""
        pairs = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {key: value for key, value in pairs.items() if value}


def list_page(
    resource: discovery.Resource, selection: Selection, *, page_size: int, token: str = ""
) -> Request:
    """Read one page of a collection."""
    query = selection.query
    if page_size:
        query["limit"] = str(page_size)
    if token:
        query["continue"] = token
    return Request(
        "GET",
        path(resource, namespace=selection.namespace),
        query,
        what=describe("list", resource, selection.namespace),
        idempotent=True,
    )


def watch(
    resource: discovery.Resource, selection: Selection, *, resource_version: str, seconds: int
) -> Request:
    """Follow a collection from `resource_version` for at most `seconds`."""
    query = {
        **selection.query,
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "timeoutSeconds": str(seconds),
    }
    return Request(
        "GET",
        path(resource, namespace=selection.namespace),
        query,
        what=describe("watch", resource, selection.namespace),
        idempotent=True,
    )


def apply(
    resource: discovery.Resource,
    body: json.JsonObject,
    *,
    field_manager: str,
    force: bool,
    dry_run: bool,
) -> Request:
    """Apply an object on the server side."""
    metadata = body["metadata"]
    namespace, name = str(metadata.get("namespace") or ""), str(metadata["name"])
    query = _writing(field_manager, dry_run)
    query["force"] = "true" if force else "false"
    return Request(
        "PATCH",
        path(resource, namespace=namespace, name=name),
        query,
        body=msgspec.json.encode(body),
        content_type=APPLY_PATCH,  # JSON is YAML, and quicker for both sides
        what=describe("patch", resource, namespace, name),
        idempotent=True,
    )


def create(
    resource: discovery.Resource, body: json.JsonObject, *, field_manager: str, dry_run: bool
) -> Request:
    """Create an object; fails when it exists."""
    metadata = body["metadata"]
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return Request(
        "POST",
        path(resource, namespace=namespace),
        _writing(field_manager, dry_run),
        body=msgspec.json.encode(body),
        content_type=_JSON,
        what=describe("create", resource, namespace, name),
    )


def replace(
    resource: discovery.Resource, body: json.JsonObject, *, field_manager: str, dry_run: bool
) -> Request:
    """Replace an object; a ``metadata.resourceVersion`` in the body is a precondition."""
    metadata = body["metadata"]
    namespace, name = str(metadata.get("namespace") or ""), str(metadata["name"])
    return Request(
        "PUT",
        path(resource, namespace=namespace, name=name),
        _writing(field_manager, dry_run),
        body=msgspec.json.encode(body),
        content_type=_JSON,
        what=describe("update", resource, namespace, name),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """One object, or a part of it."""

    name: str
    namespace: str = ""
    subresource: str = ""


def patch(
    resource: discovery.Resource,
    place: Place,
    content: object,
    *,
    content_type: str,
    field_manager: str,
    dry_run: bool,
) -> Request:
    """Patch an object by `content`, of the form that `content_type` names."""
    return Request(
        "PATCH",
        path(
            resource,
            namespace=place.namespace,
            name=place.name,
            subresource=place.subresource,
        ),
        _writing(field_manager, dry_run),
        body=msgspec.json.encode(content),
        content_type=content_type,
        what=describe("patch", resource, place.namespace, place.name),
    )


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must still hold for a delete; empty parts are not checked."""

    uid: str = ""
    resource_version: str = ""


def delete(
    resource: discovery.Resource,
    place: Place,
    *,
    preconditions: Preconditions,
    propagation: str,
    dry_run: bool,
) -> Request:
    """Delete an object, if it is still the one that was looked at."""
    options: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
    }
    pairs = {"uid": preconditions.uid, "resourceVersion": preconditions.resource_version}
    checked = {key: value for key, value in pairs.items() if value}
    if checked:
        options["preconditions"] = checked
    if dry_run:
        options["dryRun"] = ["All"]
    return Request(
        "DELETE",
        path(resource, namespace=place.namespace, name=place.name),
        body=msgspec.json.encode(options),
        content_type=_JSON,
        what=describe("delete", resource, place.namespace, place.name),
    )


def _writing(field_manager: str, dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": field_manager, "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    return query


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a collection."""

    items: tuple[json.JsonObject, ...]
    #: Asks for the next page; empty: this is the last.
    token: str
    resource_version: str


def parse_page(body: json.JsonObject, resource: discovery.Resource, *, what: str) -> ListPage:
    """Read a page; its items get ``apiVersion`` and ``kind``.

    Raises:
        cluster_errors.RequestError: It is not a list.
    """
    items = body.get("items", ())
    items = () if items is None else items
    metadata = body.get("metadata") or {}
    if not _is_list(body, metadata, resource) or not isinstance(items, list | tuple):
        raise api_errors.RequestError(f"{what}: the answer is not a list")
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return ListPage(
        tuple({**kind, **item} for item in items),
        str(metadata.get("continue") or ""),
        str(metadata.get("resourceVersion") or ""),
    )


def _is_list(
    body: json.JsonObject, metadata: json.JsonObject, resource: discovery.Resource
) -> bool:
    """Say whether this is a list of that resource.

    A definition may call its lists something that does not end in ``List``; such an answer
    has to say its version and a resource version.
    """
    if "items" not in body:
        return False
    kind = str(body.get("kind") or "")
    is_named = bool(kind) and body.get("apiVersion") == resource.api_version
    return kind.endswith("List") or (is_named and bool(metadata.get("resourceVersion")))
