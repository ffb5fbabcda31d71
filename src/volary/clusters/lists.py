"""Reading a page of a list: pure. What is not certainly a list is an error.

An empty answer of something that is no Kubernetes API must never look like an empty
collection: things are deleted because they are missing in lists.
"""

from dataclasses import dataclass

from volary.clusters import discovery
from volary.clusters import errors as cluster_errors
from volary.model import json


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a collection."""

    items: tuple[json.JsonObject, ...]
    #: Asks for the next page; empty: this is the last.
    token: str
    resource_version: str


def parse(body: json.JsonObject, resource: discovery.Resource, *, what: str) -> Page:
    """Read a page; its items get ``apiVersion`` and ``kind``.

    Raises:
        cluster_errors.RequestError: It is not a list.
    """
    items = body.get("items", ())
    items = () if items is None else items
    metadata = body.get("metadata") or {}
    if not _is_list(body, metadata, resource) or not isinstance(items, list | tuple):
        raise cluster_errors.RequestError(f"{what}: the answer is not a list")
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Page(
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
