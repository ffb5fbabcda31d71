"""Which clusters and which objects, in the words of our own file."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from volary.config.dialects.karmada import schema
from volary.model.fleet import selectors
from volary.model.placement import rollouts


class Strength(IntEnum):
    """How exactly a selector names an object (Karmada: ImplicitPriority)."""

    NONE = 0
    ALL = 1
    LABELS = 2
    NAME = 3


def clusters(read: schema.ClusterAffinity | None) -> dict[str, Any]:
    """Return the ``targets`` that choose the same clusters; nothing given: every cluster."""
    if read is None:
        return {}
    labels = read.label_selector or schema.LabelSelector()
    fields = read.field_selector or schema.FieldSelector()
    conditions = [requirement(condition) for condition in labels.match_expressions]
    match_labels = dict(labels.match_labels)
    if read.cluster_names:  # Our own file takes names or matchLabels, Karmada asks for both.
        equal = [
            {"key": key, "operator": "In", "values": [value]} for key, value in match_labels.items()
        ]
        match_labels, conditions = {}, [*equal, *conditions]
    chosen: dict[str, Any] = {
        "names": list(read.cluster_names),
        "matchLabels": match_labels,
        "matchExpressions": conditions,
        "matchFields": [requirement(condition) for condition in fields.match_expressions],
        "exclude": list(read.exclude),
    }
    return {key: value for key, value in chosen.items() if value}


def requirement(read: rollouts.Requirement) -> dict[str, Any]:
    """Return a condition as our own file writes it."""
    condition: dict[str, Any] = {"key": read.key, "operator": read.operator.value}
    return {**condition, "values": list(read.values)} if read.values else condition


def strength(read: schema.ResourceSelector) -> Strength:
    """Return how exactly a selector names what it takes; with a name, labels do not count."""
    if read.name:
        return Strength.NAME
    return Strength.LABELS if read.label_selector is not None else Strength.ALL


def selects(
    read: schema.ResourceSelector, body: Mapping[str, Any], policy_namespace: str
) -> Strength:
    """Return how strongly a selector takes an object (Karmada: ResourceSelectorPriority).

    A namespace that is not written counts as any: the objects of a directory go together.
    """
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace, wanted = metadata.get("namespace"), read.namespace or policy_namespace
    if body.get("apiVersion") != read.api_version or body.get("kind") != read.kind:
        return Strength.NONE
    if namespace and wanted and namespace != wanted:
        return Strength.NONE
    if read.name:
        return Strength.NAME if metadata.get("name") == read.name else Strength.NONE
    if read.label_selector is None:
        return Strength.ALL
    return Strength.LABELS if _labelled(read.label_selector, metadata) else Strength.NONE


def _labelled(read: schema.LabelSelector, metadata: Mapping[str, Any]) -> bool:
    written = metadata.get("labels")
    labels = {str(key): str(value) for key, value in (written or {}).items()}
    if not read.match_labels.items() <= labels.items():
        return False
    return all(
        selectors.is_met(condition, {labels[condition.key]} if condition.key in labels else None)
        for condition in read.match_expressions
    )
