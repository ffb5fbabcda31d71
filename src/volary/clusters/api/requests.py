"""Requests as plain values, one function per verb, and the pages of lists: nothing is sent here."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

import msgspec

from volary.clusters.api import api_errors, discovery
from volary.manifests import objects
from volary.model import json

APPLY_PATCH = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
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
    #: It is sent as a write is, and changes nothing.
    is_question: bool = False

    @property
    def is_dry_run(self) -> bool:
        """Whether a write is only tried."""
        return "dryRun" in self.query

    @property
    def is_write(self) -> bool:
        """Whether it writes something, or tries to."""
        return self.method != "GET" and not self.is_question

    @property
    def changes(self) -> bool:
        """Whether the cluster may be another one afterwards."""
        return self.is_write and not self.is_dry_run

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return f"{self.path}?{_encoded(tuple(self.query.items()))}" if self.query else self.path


@functools.lru_cache(maxsize=256)
def _encoded(pairs: tuple[tuple[str, str], ...]) -> str:
    """Encode a query; the writes of a set all have the same one."""
    return urlencode(pairs)


def path(resource: discovery.Resource, *, namespace: str = "", name: str = "") -> str:
    """Return the path of a collection or an object, safely quoted."""
    parts = [resource.base]
    if namespace and resource.namespaced:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(resource.plural)
    if name:
        parts.append(quote(name, safe=""))
    return "/".join(parts)


def is_name(text: str) -> bool:
    """Say whether an object can be called so, as API servers say for all kinds.

    They look for the parts of a path once it is not quoted any more: what is no name could lead to
    another object than the one that is called so.
    """
    return text not in (".", "..") and "/" not in text and "%" not in text


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


@dataclass(frozen=True, slots=True)
class LogRange:
    """Which part of a container's log."""

    #: Empty: the only container of the pod.
    container: str = ""
    #: Lines from its end; None: all from `since` on.
    tail: int | None = None
    #: From this time on, as RFC 3339; empty: from its beginning.
    since: str = ""
    #: Of the container before it was restarted last.
    previous: bool = False
    #: Bytes after which it ends.
    most_bytes: int = 4 << 20


def pod_log(pod: str, *, namespace: str, wanted: LogRange) -> Request:
    """Follow the log of a container; each line begins with its time."""
    query = {
        "timestamps": "true",
        "limitBytes": str(wanted.most_bytes),
        # What has ended says nothing more.
        "follow": "false" if wanted.previous else "true",
        "previous": "true" if wanted.previous else "false",
    }
    given = {"container": wanted.container, "sinceTime": wanted.since}
    query |= {key: value for key, value in given.items() if value}
    if wanted.tail is not None:
        query["tailLines"] = str(wanted.tail)
    parts = ("namespaces", quote(namespace, safe=""), "pods", quote(pod, safe=""), "log")
    return Request(
        "GET",
        "/api/v1/" + "/".join(parts),
        query,
        accept="*/*",
        what=f"get pods/log {namespace}/{pod}",
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


_VERBS = {"PATCH": "patch", "POST": "create", "PUT": "update"}


def write(
    method: str,
    resource: discovery.Resource,
    body: json.JsonObject,
    *,
    field_manager: str,
    dry_run: bool,
    force: bool | None = None,
) -> Request:
    """Create an object (``POST``), replace it (``PUT``), or apply it (``PATCH``).

    Creating fails when the object exists. Replacing has a ``metadata.resourceVersion`` in the body
    as its precondition. `force` is given for applying, which is done on the server side and may be
    repeated.
    """
    namespace = str(body["metadata"].get("namespace") or "")
    name = str(body["metadata"].get("name") or "")
    query = {"fieldManager": field_manager, "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    if force is not None:
        query["force"] = "true" if force else "false"
    return Request(
        method,
        path(resource, namespace=namespace, name="" if method == "POST" else name),
        query,
        body=msgspec.json.encode(body),
        # JSON is YAML, and quicker for both sides.
        content_type=_JSON if force is None else APPLY_PATCH,
        idempotent=force is not None,
        what=describe(_VERBS[method], resource, namespace, name),
    )


def merge_patch(
    resource: discovery.Resource, body: json.JsonObject, *, field_manager: str, dry_run: bool
) -> Request:
    """Change an object in what `body` names; null removes.

    A ``metadata.resourceVersion`` in the body is a precondition, and then repeating it is safe.
    """
    namespace = str(body["metadata"].get("namespace") or "")
    name = str(body["metadata"].get("name") or "")
    query = {"fieldManager": field_manager, "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    return Request(
        "PATCH",
        path(resource, namespace=namespace, name=name),
        query,
        body=msgspec.json.encode(body),
        content_type=MERGE_PATCH,
        idempotent=dry_run,
        what=describe("patch", resource, namespace, name),
    )


def review(kind: str, spec: json.JsonObject) -> Request:
    """Ask what the user itself may do; `kind` begins with ``SelfSubject``. Nothing is stored."""
    api_version = "authorization.k8s.io/v1"
    return Request(
        "POST",
        f"/apis/{api_version}/{kind.lower()}s",
        body=msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec}),
        content_type=_JSON,
        what=f"create {kind}",
        idempotent=True,
        is_question=True,
    )


def delete(
    resource: discovery.Resource,
    name: str,
    *,
    namespace: str,
    uid: str = "",
    resource_version: str = "",
    propagation: str,
) -> Request:
    """Delete an object, if it is still the one with `uid` and `resource_version`."""
    options: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
    }
    pairs = {"uid": uid, "resourceVersion": resource_version}
    checked = {key: value for key, value in pairs.items() if value}
    if checked:
        options["preconditions"] = checked
    return Request(
        "DELETE",
        path(resource, namespace=namespace, name=name),
        body=msgspec.json.encode(options),
        content_type=_JSON,
        what=describe("delete", resource, namespace, name),
    )


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
        RequestError: It is not a list.
    """
    items = body.get("items", ())
    items = () if items is None else items
    metadata = objects.mapping(body, "metadata")
    is_list = _is_list(body, metadata, resource) and isinstance(items, list | tuple)
    if not is_list or not all(isinstance(item, dict) for item in items):
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
