"""Objects as bytes: single ones, lists, tables, only metadata.

The JSON of an object is kept with its state (`storage.Item`), so that a list, a
get and ten watches encode it once.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import yaml
from aiohttp import web

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import conversions, kinds
from kube_sandbox.apiserver.endpoints import negotiation
from kube_sandbox.apiserver.printing import table
from kube_sandbox.apiserver.storage import storage, verbs

encode = msgspec.json.Encoder().encode
_PARTIAL = "PartialObjectMetadata"


def head(kind: kinds.Kind) -> bytes:
    """Return how the JSON of every object of a kind begins."""
    return f'{{"kind":"{kind.name}","apiVersion":"{kind.api_version}",'.encode()


def item(kind: kinds.Kind, state: storage.Item) -> bytes:
    """Return the JSON of a stored object, as `kind` tells it."""
    known = state.encoded.get(kind.api_version)
    if known is None:
        known = body(kind, state.body)
        if state.current:
            state.encoded[kind.api_version] = known
    return known


def body(kind: kinds.Kind, obj: json.JsonObject) -> bytes:
    """Return the JSON of an object, kind and apiVersion first."""
    told = conversions.outward(kind, obj)
    rest = {key: value for key, value in told.items() if key not in ("kind", "apiVersion")}
    return head(kind) + encode(rest)[1:]


def listed(kind: kinds.Kind, page: verbs.Listing) -> bytes:
    """Return the JSON of a list; only custom resources repeat their kind."""
    cut = 0 if kind.definition else len(head(kind)) - 1
    opening = b"{"
    parts = []
    for each in page.items:
        text = item(kind, each)
        parts.append(opening + text[cut + 1 :] if cut else text)
    start = encode(
        {
            "kind": kind.list_kind,
            "apiVersion": kind.api_version,
            "metadata": list_metadata(page),
        }
    )
    return start[:-1] + b',"items":[' + b",".join(parts) + b"]}"


def list_metadata(page: verbs.Listing) -> json.JsonObject:
    """Return the metadata of a list."""
    found: json.JsonObject = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        found["continue"] = page.continue_token
    if page.remaining:
        found["remainingItemCount"] = page.remaining
    return found


def partial(obj: json.JsonObject) -> json.JsonObject:
    """Return only an object's metadata."""
    return {"kind": _PARTIAL, "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def partial_list(page: verbs.Listing) -> json.JsonObject:
    """Return only the metadata of a list's objects."""
    return {
        "kind": f"{_PARTIAL}List",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_metadata(page),
        "items": [partial(each.body) for each in page.items],
    }


def as_table(
    kind: kinds.Kind,
    objects: Sequence[json.JsonObject],
    *,
    now: datetime,
    include: str = "",
    metadata: json.JsonObject | None = None,
    with_columns: bool = True,
) -> json.JsonObject:
    """Return objects as a Table."""
    columns = table.columns(kind.group, kind.name, kind.printer_columns)
    return table.render(
        columns,
        [conversions.outward(kind, each) for each in objects],
        now=now,
        include_object=include or "Metadata",
        metadata=metadata,
        with_columns=with_columns,
    )


def response(
    text: bytes,
    form: negotiation.Form,
    *,
    code: int = 200,
    warnings: Sequence[str] = (),
) -> web.Response:
    """Return an answer of JSON text, turned into YAML when that is wanted."""
    media = "application/json"
    if form.yaml:
        media = "application/yaml"
        text = yaml.safe_dump(msgspec.json.decode(text), sort_keys=False).encode()
    answer = web.Response(body=text, status=code, content_type=media)
    answer.headers["Cache-Control"] = "no-cache, private"
    for each in warnings:
        answer.headers.add("Warning", warning(each))
    return answer


def warning(text: str) -> str:
    """Return a Warning header's value."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'


#: Answers that are always JSON.
PLAIN = negotiation.Form()


def refused(problem: api_errors.StatusError) -> web.Response:
    """Turn a refusal into its Status."""
    answer = response(encode(problem.body), PLAIN, code=problem.code)
    wait = (problem.body.get("details") or {}).get("retryAfterSeconds")
    if wait:
        answer.headers["Retry-After"] = str(wait)
    if problem.code == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer
