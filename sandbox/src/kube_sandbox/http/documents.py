"""OpenAPI v3 of what a cluster serves."""

from collections.abc import Mapping

from kube_sandbox import kinds, served
from kube_sandbox.schemas import openapi

Documents = Mapping[tuple[str, str], openapi.Document]


class Library:
    """The documents of one cluster; those of built-in groups are shared by all clusters."""

    def __init__(self, known: served.Served) -> None:
        self._known = known
        self._generation = -1
        self._documents: dict[tuple[str, str], openapi.Document] = {}

    def all(self) -> Documents:
        """Return every document, made anew when custom resources have come or gone."""
        if self._generation != self._known.generation:
            self._documents = dict(_documents(self._known))
            self._generation = self._known.generation
        return self._documents


def _documents(known: served.Served) -> dict[tuple[str, str], openapi.Document]:
    found: dict[tuple[str, str], openapi.Document] = {}
    for group in known.groups():
        for version in known.versions(group):
            listed = [
                each for each in known.all() if (each.group, each.version) == (group, version)
            ]
            if listed[0].custom:
                customs = [_custom(each) for each in listed]
                found[group, version] = openapi.custom_document(group, version, customs)
            else:
                resources = tuple(_resource(each) for each in listed)
                found[group, version] = openapi.builtin_document(group, version, resources)
    return found


def _resource(kind: kinds.Kind) -> openapi.Resource:
    return openapi.Resource(
        plural=kind.plural,
        kind=kind.name,
        namespaced=kind.namespaced,
        verbs=kind.verbs,
        subresources=tuple(each.name for each in kind.subresources),
    )


def _custom(kind: kinds.Kind) -> openapi.CustomResource:
    declared = kind.schema.declared
    return openapi.CustomResource(_resource(kind), declared.schema if declared else {})
