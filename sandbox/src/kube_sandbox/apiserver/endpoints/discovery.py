"""Discovery and OpenAPI: which kinds are served, the legacy way and aggregated, and their types."""

import hashlib
from collections.abc import Iterable, Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds, openapi, openapi_v2, served_kinds
from kube_sandbox.apiserver.endpoints import negotiation

#: What the sandbox emulates; from the recorded answers of a real one.
VERSION: json.JsonObject = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0+kube-sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none: an emulation in Python",
    "compiler": "none",
    "platform": "linux/amd64",
}


def wants_aggregated(accept: str) -> str:
    """Return the version of aggregated discovery a client prefers; empty: the legacy form."""
    for media in negotiation.media_types(accept):
        parameters = media.parameters
        if parameters.get("g") == "apidiscovery.k8s.io" and media.name == "application/json":
            if parameters.get("as") == "APIGroupDiscoveryList" and parameters.get("v") in (
                "v2",
                "v2beta1",
            ):
                return parameters["v"]
        elif media.name in ("application/json", "*/*") and "as" not in parameters:
            return ""
    return ""


def aggregated(known: served_kinds.Served, version: str, *, core: bool) -> json.JsonObject:
    """Return all groups at once: ``/api`` (`core`) or ``/apis`` in the aggregated form."""
    names = [each for each in known.groups() if (each == "") is core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(known, name) for name in names],
    }


def _aggregated_group(known: served_kinds.Served, name: str) -> json.JsonObject:
    metadata = {"name": name} if name else {}
    versions = [
        {
            "version": version,
            "resources": [_aggregated_kind(each) for each in _kinds(known, name, version)],
            "freshness": "Current",
        }
        for version in known.versions(name)
    ]
    return {"metadata": metadata, "versions": versions}


def _kinds(known: served_kinds.Served, group: str, version: str) -> list[kinds.Kind]:
    found = [each for each in known.all() if (each.group, each.version) == (group, version)]
    return sorted(found, key=lambda each: each.plural)


def _aggregated_kind(kind: kinds.Kind) -> json.JsonObject:
    group, version = (kind.group, kind.version) if kind.custom else ("", "")
    told: json.JsonObject = {
        "resource": kind.plural,
        "responseKind": {"group": group, "version": version, "kind": kind.name},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        told["shortNames"] = list(kind.short_names)
    if kind.categories:
        told["categories"] = list(kind.categories)
    if kind.subresources:
        told["subresources"] = [_aggregated_part(kind, each) for each in _parts(kind)]
    return told


def _parts(kind: kinds.Kind) -> list[kinds.Subresource]:
    return sorted(kind.subresources, key=lambda each: each.name)


def _aggregated_part(kind: kinds.Kind, part: kinds.Subresource) -> json.JsonObject:
    group, version, name = part.response
    if kind.custom and not name:
        group, version, name = kind.group, kind.version, kind.name
    return {
        "subresource": part.name,
        "responseKind": {"group": group, "version": version, "kind": name},
        "verbs": list(part.verbs),
    }


def paths(known: served_kinds.Served) -> list[str]:
    """Return ``/``: where there is something to see."""
    found = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/readyz", "/version"]
    found += ["/openapi/v2", "/openapi/v3"]
    for name in known.groups():
        if name:
            found.append(f"/apis/{name}")
            found.extend(f"/apis/{name}/{version}" for version in known.versions(name))
    return sorted(found)


def core_versions(address: str) -> json.JsonObject:
    """Return ``/api`` in the legacy form."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(known: served_kinds.Served) -> json.JsonObject:
    """Return ``/apis`` in the legacy form."""
    names = [each for each in known.groups() if each]
    found = [_group(known, name) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(known: served_kinds.Served, name: str) -> json.JsonObject | None:
    """Return ``/apis/GROUP``; None: there is no such group."""
    if not name or not known.versions(name):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(known, name)}


def _group(known: served_kinds.Served, name: str) -> json.JsonObject:
    versions = [
        {"groupVersion": f"{name}/{each}", "version": each} for each in known.versions(name)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resources(known: served_kinds.Served, group: str, version: str) -> json.JsonObject | None:
    """Return the kinds of a group and version; None: there is no such version."""
    found = _kinds(known, group, version)
    if not found:
        return None
    group_version = f"{group}/{version}" if group else version
    head: json.JsonObject = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"
    listed = [entry for each in found for entry in _resource(each)]
    return {**head, "groupVersion": group_version, "resources": listed}


def _resource(kind: kinds.Kind) -> Iterable[json.JsonObject]:
    told: json.JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        told["shortNames"] = list(kind.short_names)
    if kind.categories:
        told["categories"] = list(kind.categories)
    if "get" in kind.verbs:
        told["storageVersionHash"] = _hash(kind)
    yield told
    for part in _parts(kind):
        yield _part(kind, part)


def _part(kind: kinds.Kind, part: kinds.Subresource) -> json.JsonObject:
    group, version, name = part.response
    told: json.JsonObject = {
        "name": f"{kind.plural}/{part.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if group:
        told |= {"group": group, "version": version}
    return {**told, "kind": name or kind.name, "verbs": list(part.verbs)}


def _hash(kind: kinds.Kind) -> str:
    text = f"{kind.group}/{kind.stored_version or kind.version}/{kind.name}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


Documents = Mapping[tuple[str, str], openapi.Document]


class OpenApiDocuments:
    """The documents of one cluster; those of built-in groups are shared by all clusters."""

    def __init__(self, known: served_kinds.Served) -> None:
        self._known = known
        self._generation = -1
        self._documents: dict[tuple[str, str], openapi.Document] = {}
        self._whole: json.JsonObject | None = None

    def all(self) -> Documents:
        """Return every document, made anew when custom resources have come or gone."""
        if self._generation != self._known.generation:
            self._documents = dict(_openapi_documents(self._known))
            self._generation = self._known.generation
            self._whole = None
        return self._documents

    def whole(self) -> json.JsonObject:
        """Return the one document of OpenAPI v2, made when somebody asks for it."""
        documents = self.all()
        if self._whole is None:
            self._whole = openapi_v2.document(each.content for each in documents.values())
        return self._whole


def _openapi_documents(known: served_kinds.Served) -> dict[tuple[str, str], openapi.Document]:
    found: dict[tuple[str, str], openapi.Document] = {}
    for group in known.groups():
        for version in known.versions(group):
            listed = [
                each for each in known.all() if (each.group, each.version) == (group, version)
            ]
            if listed[0].custom:
                customs = [_openapi_custom(each) for each in listed]
                found[group, version] = openapi.custom_document(group, version, customs)
            else:
                resources = tuple(_openapi_resource(each) for each in listed)
                found[group, version] = openapi.builtin_document(group, version, resources)
    return found


def _openapi_resource(kind: kinds.Kind) -> openapi.Resource:
    return openapi.Resource(
        plural=kind.plural,
        kind=kind.name,
        namespaced=kind.namespaced,
        verbs=kind.verbs,
        subresources=tuple(each.name for each in kind.subresources),
    )


def _openapi_custom(kind: kinds.Kind) -> openapi.CustomResource:
    declared = kind.schema.declared
    return openapi.CustomResource(_openapi_resource(kind), declared.schema if declared else {})
