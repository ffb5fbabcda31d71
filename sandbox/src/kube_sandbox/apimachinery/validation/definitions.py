"""What kube-apiserver refuses about a CustomResourceDefinition itself."""

import functools
import json as texts
import re
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import catalog, decoding
from kube_sandbox.apimachinery.validation import checks, custom_resources, names, rule_definitions

Causes = list[causes.Cause]
Object = json.JsonObject

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
#: Schemas whose faults are remembered.
_KEPT = 256
_IN_BRANCH = re.compile(r"\.(allOf|anyOf|oneOf)\[\d+\]|\.not\b")


def check(body: Object, old: Object | None) -> Causes:
    """Check a CustomResourceDefinition."""
    spec = body.get("spec") or {}
    plural = (spec.get("names") or {}).get("plural", "")
    wanted = f"{plural}.{spec.get('group', '')}"
    found: Causes = []
    name = (body.get("metadata") or {}).get("name", "")
    if name != wanted:
        detail = 'must be spec.names.plural+"."+spec.group'
        found.append(causes.invalid("metadata.name", name, detail))
    found += _group(spec.get("group", ""))
    found += _names(spec.get("names") or {})
    found += checks.one_of("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    found += _versions(spec)
    if spec.get("preserveUnknownFields") and old is None:
        detail = "must be set to false in order to use the v1 API"
        found.append(causes.invalid("spec.preserveUnknownFields", True, detail))
    if old is not None:
        found += _update(body, old)
    return found


def _group(group: str) -> Causes:
    if not group:
        return [causes.required("spec.group")]
    found = checks.named("spec.group", group, names.subdomain)
    if "." not in group:
        detail = "should be a domain with at least one dot"
        found.append(causes.invalid("spec.group", group, detail))
    return found


def _names(given: Object) -> Causes:
    found: Causes = []
    for name in ("plural", "singular", "kind", "listKind"):
        path = f"spec.names.{name}"
        text = given.get(name, "")
        if not text:
            found.append(causes.required(path))
        else:
            found += checks.named(path, text.lower(), names.label_1035)
    kind = given.get("kind", "")
    if kind and kind == given.get("listKind"):
        detail = "kind and listKind may not be the same"
        found.append(causes.invalid("spec.names.listKind", kind, detail))
    for index, text in enumerate(given.get("shortNames") or ()):
        found += checks.named(f"spec.names.shortNames[{index}]", text, names.label_1035)
    return found


def _versions(spec: Object) -> Causes:
    versions = spec.get("versions") or []
    path = "spec.versions"
    if not versions:
        return [causes.required(path, "must have exactly one version marked as storage version")]
    found: Causes = []
    if sum(bool(each.get("storage")) for each in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        found.append(causes.invalid(path, versions, detail))
    seen: set[str] = set()
    schemas = [version.get("schema") for version in versions]
    # What all versions share the server keeps, and names, once.
    shared = schemas[0] is not None and all(schema == schemas[0] for schema in schemas)
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        name = version.get("name", "")
        if name in seen:
            detail = "must contain unique version names"
            found.append(causes.invalid(path, versions, detail))
        seen.add(name)
        found += checks.named(f"{where}.name", name, names.label_1035)
        if not shared:
            found += _version_schema(f"{where}.schema.openAPIV3Schema", version)
        elif index == 0:
            found += _version_schema("spec.validation.openAPIV3Schema", version)
        scale = (version.get("subresources") or {}).get("scale")
        if scale is not None:
            found += _scale(f"{where}.subresources.scale", scale)
    return found


def _scale(path: str, scale: Object) -> Causes:
    found: Causes = []
    for name, prefix in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text = scale.get(name, "")
        if not text:
            found.append(causes.required(f"{path}.{name}"))
        elif not text.startswith(prefix):
            detail = f"should be a json path under {prefix[:-1]}"
            found.append(causes.invalid(f"{path}.{name}", text, detail))
    return found


def _version_schema(path: str, version: Object) -> Causes:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return [causes.required(path, "schemas are required")]
    return list(_schema_causes(path, texts.dumps(schema)))


@functools.lru_cache(maxsize=_KEPT)
def _schema_causes(path: str, text: str) -> tuple[causes.Cause, ...]:
    """Check a schema; remembered by its text, for clusters begin with the same definitions."""
    schema = texts.loads(text)
    found = _unreadable(path, schema)
    if found:
        return tuple(found)
    if not schema.get("type"):
        found.append(causes.required(f"{path}.type", "must not be empty at the root"))
    elif schema["type"] != "object":
        found.append(causes.invalid(f"{path}.type", schema["type"], "must be object at the root"))
    for where, each in custom_resources.every_schema(schema):
        found += _node(path + where, where, each)
    return (*found, *rule_definitions.uncorrelatable(path, schema))


_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def _unreadable(path: str, schema: Object) -> Causes:
    """Refuse what is no schema where OpenAPI allows several forms, which decoding lets pass."""
    kind = catalog.definition(_SCHEMA)
    found: Causes = []
    for where, each in custom_resources.every_schema(schema):
        items, additional = each.get("items"), each.get("additionalProperties")
        if items is not None and not isinstance(items, dict):
            detail = "items must be a schema object and not an array"
            found.append(causes.forbidden(f"{path}{where}.items", detail))
        if additional is not None and not isinstance(additional, dict | bool):
            detail = "must be a schema object or a boolean"
            name = f"{path}{where}.additionalProperties"
            found.append(causes.invalid(name, additional, detail))
        try:
            decoding.check_struct(kind, each)
        except decoding.DecodeError as error:
            found.append(causes.invalid(f"{path}{where}", each, str(error)))
        else:
            found += _nulls(f"{path}{where}", each)
    return found


def _nulls(path: str, schema: Object) -> Causes:
    found: Causes = []
    if None in (schema.get("required") or ()):
        found.append(causes.invalid(f"{path}.required", schema["required"], "must not hold null"))
    for key, child in (schema.get("properties") or {}).items():
        if child is None:
            found.append(causes.invalid(f"{path}.properties[{key}]", None, "must not be null"))
    return found


def _node(path: str, where: str, schema: Object) -> Causes:
    found: Causes = []
    if where and not _IN_BRANCH.search(where):
        found += _structure(path, where, schema)
    pattern = schema.get("pattern")
    if pattern and not custom_resources.valid_pattern(pattern):
        detail = "must be a valid regular expression, but isn't"
        found.append(causes.invalid(f"{path}.pattern", pattern, detail))
    if schema.get("properties") and isinstance(schema.get("additionalProperties"), dict):
        detail = "additionalProperties and properties are mutual exclusive"
        found.append(causes.forbidden(f"{path}.additionalProperties", detail))
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(causes.forbidden(f"{path}.uniqueItems", detail))
    return found + rule_definitions.faults(path, schema) + _list_type(path, schema)


def _structure(path: str, where: str, schema: Object) -> Causes:
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if not kind and not free:
        item = where.endswith(".items")
        word = "array items" if item else "object fields"
        return [causes.required(f"{path}.type", f"must not be empty for specified {word}")]
    if kind and kind not in _TYPES:
        return [causes.unsupported(f"{path}.type", kind, _TYPES)]
    if kind == "array" and not schema.get("items"):
        return [causes.required(f"{path}.items", "must be specified")]
    return []


def _list_type(path: str, schema: Object) -> Causes:
    relation = schema.get("x-kubernetes-list-type")
    where = f"{path}.x-kubernetes-list-type"
    found = checks.one_of(where, relation, ("atomic", "map", "set"))
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if relation == "map":
        if not keys:
            detail = "must not be empty if x-kubernetes-list-type is map"
            found.append(causes.required(f"{path}.x-kubernetes-list-map-keys", detail))
        found += _map_keys(path, schema, keys)
    elif relation is not None and schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        found.append(causes.invalid(f"{path}.type", schema.get("type", ""), detail))
    return found


def _map_keys(path: str, schema: Object, keys: list[str]) -> Causes:
    items: Any = schema.get("items") or {}
    properties = items.get("properties") or {}
    required = items.get("required") or ()
    found: Causes = []
    for index, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            where = f"{path}.x-kubernetes-list-map-keys[{index}]"
            found.append(causes.invalid(where, key, detail))
        elif key not in required and "default" not in properties[key]:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or "
                "be a required property"
            )
            found.append(causes.required(f"{path}.items.properties[{key}].default", detail))
    return found


def _update(body: Object, old: Object) -> Causes:
    spec, before = body.get("spec") or {}, old.get("spec") or {}
    found = checks.unchanged("spec.group", spec.get("group"), before.get("group"))
    found += checks.unchanged("spec.scope", spec.get("scope"), before.get("scope"))
    for name in ("plural", "kind"):
        was = (before.get("names") or {}).get(name)
        now = (spec.get("names") or {}).get(name)
        found += checks.unchanged(f"spec.names.{name}", now, was)
    served = {each.get("name") for each in spec.get("versions") or ()}
    for index, stored in enumerate((old.get("status") or {}).get("storedVersions") or ()):
        if stored not in served:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {stored} and removes {stored} from status.storedVersions"
            )
            found.append(causes.invalid(f"status.storedVersions[{index}]", stored, detail))
    return found


def warnings(body: Object) -> tuple[str, ...]:
    """Return which rules of a definition the sandbox does not evaluate: a sentence per place."""
    sentences: list[str] = []
    for version in (body.get("spec") or {}).get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        sentences.extend(
            f"version {version.get('name', '')}: a rule of {where or 'the root'} is not "
            f"evaluated by this emulated cluster: {reason}"
            for where, reason in _left_out(texts.dumps(schema))
        )
    return tuple(dict.fromkeys(sentences))


@functools.lru_cache(maxsize=_KEPT)
def _left_out(text: str) -> tuple[tuple[str, str], ...]:
    """Return the places of a schema whose rules are not evaluated, and why; remembered as above."""
    return tuple(
        (where, reason)
        for where, part in custom_resources.every_schema(texts.loads(text))
        for reason in rule_definitions.left_out(part)
    )
