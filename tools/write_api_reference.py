"""Writes docs/reference/api.md from the API's description; a test checks that it is current.

python tools/write_api_reference.py
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from volary.server import app, permissions
from volary.server.authorization import guard

PAGE = Path(__file__).parents[1] / "docs/reference/api.md"
_START = """\
# API

Everything the command line does against a server goes through this API; a server shows its own
OpenAPI document at `/api/v1/openapi.json`. Send `Authorization: Bearer TOKEN`; bodies are JSON
with `Content-Type: application/json`, at most 64 KiB (webhooks 256 KiB), and unknown fields are
refused.

- **Lists** answer `items` and `cursor`. Send the cursor back for the next page; empty means there
  is none. `limit` is at most 500, and a page may hold fewer items than asked for.
- **Answers to GET** carry an `ETag`; send it as `If-None-Match` and get 304 when nothing changed.
- **Refusals** are `application/problem+json` with `detail` and often a `hint`: 400 something has to
  change, 401 credentials are needed, 403 not allowed, 404 there is no such thing or it may not be
  seen, 409 not possible as things are, 413 too large, 422 wrong shape, 429 too many failed
  logins, requests without credentials or streams, 503 try again; both after `Retry-After`.
- **Commands about a run** act on what you saw, and on nothing that came after: `seen` is the field
  of the same name of `GET /runs/{run}`, with stage, group and version. A run that has moved on
  refuses with 409 and says what changed. `pause` and `cancel` hold wherever the run is; only to
  break a rollback off, `cancel` needs `seen`.
- **Commands** take an `Idempotency-Key`, made up by you for each. Sent again with the same key,
  after a connection broke or a 503, a command is not carried out again and gets the same answer.
- **Streams** (`…/stream`) are server-sent events. Come back with `Last-Event-ID` and nothing is
  missed; a comment line shows every 15 seconds that the stream lives. `closing` says to come
  again (the server stops, or an hour has passed), `dropped` that nothing was read for 30
  seconds, 204 that nothing more will come. What the events of a run mean is on
  [their page](events.md).

This page is written by `tools/write_api_reference.py` from the routes.
"""


def page() -> str:
    """Return the page."""
    described = app.document()
    return "\n".join((_START, *_paths(described), *_shapes(described)))


def _needs() -> dict[tuple[str, str], str]:
    found = {}
    for router in app.ROUTERS:
        for route in router.routes:
            if isinstance(route, guard.GuardedRoute):
                for method in route.methods:
                    found[route.path_format, method.lower()] = _roles(route.access.permission)
    return found


def _roles(permission: permissions.Permission) -> str:
    if permission is permissions.Permission.PUBLIC:
        return "anybody"
    if permission is permissions.Permission.KNOWN:
        return "anybody with valid credentials, also without a role"
    roles = [role.value for role, given in permissions.ROLES.items() if permission in given]
    return ", ".join(roles)


def _paths(described: dict[str, Any]) -> Iterator[str]:
    needs, tag = _needs(), ""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if operation["tags"][0] != tag:
                tag = operation["tags"][0]
                yield f"## {tag.capitalize()}\n"
            yield f"### `{method.upper()} {path}`\n"
            yield f"{operation['description']}\n"
            yield f"Roles: {needs[path, method]}.\n"
            yield from _parameters(operation)
            yield from _body(described, operation)
            yield f"Answer: {_answer(operation)}.\n"


def _parameters(operation: dict[str, Any]) -> Iterator[str]:
    shown = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    if shown:
        yield "| Query | Meaning |\n|---|---|"
        for each in shown:
            yield f"| `{each['name']}` | {each.get('description') or _kind(each['schema'])} |"
        yield ""


def _body(described: dict[str, Any], operation: dict[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    if schema is None:
        return
    reference = schema.get("$ref") or next(
        each["$ref"] for each in schema.get("allOf", schema.get("anyOf", ())) if "$ref" in each
    )
    shape = described["components"]["schemas"][reference.rpartition("/")[2]]
    yield "| Body | Meaning |\n|---|---|"
    for name, each in shape["properties"].items():
        needed = ", needed" if name in shape.get("required", ()) else ""
        yield f"| `{name}` | {each.get('description') or _kind(each)}{needed} |"
    yield ""


def _answer(operation: dict[str, Any]) -> str:
    for code in ("200", "201", "202"):
        found = operation["responses"].get(code)
        if found is None:
            continue
        schema = found.get("content", {}).get("application/json", {}).get("schema", {})
        items = schema.get("properties", {}).get("items", {}).get("items")
        kind = f"a page of {_kind(items)}" if items else _kind(schema) if schema else ""
        return f"{code} {kind or found['description'].lower()}"
    return "none"


def _shapes(described: dict[str, Any]) -> Iterator[str]:
    yield "## Shapes\n"
    used = described["components"]["schemas"]
    for name, shape in sorted(used.items()):
        if name in ("HTTPValidationError", "ValidationError"):
            continue
        if "enum" in shape:
            values = ", ".join(f"`{value}`" for value in shape["enum"])
            yield f"### {name}\n\nOne of {values}.\n"
        if "properties" not in shape:
            continue
        yield f"### {name}\n\n| Field | Type |\n|---|---|"
        for field, each in shape["properties"].items():
            yield f"| `{field}` | {_kind(each)} |"
        yield ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"list of {_kind(items)}" if items else "list"
    if schema.get("type") == "object":
        return "object"
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    PAGE.write_text(page())
