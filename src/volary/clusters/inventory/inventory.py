"""References to everything that Volary applied for an application, kept in its cluster.

Labels alone cannot find what is to be pruned: nobody may list *every* kind, and a
kind that Git no longer mentions would never be asked for. So a ConfigMap remembers
kinds and namespaces. It says where to look, and is no evidence for a delete:
that is the object's own (see `pruning`).

It is found by label in whatever namespace it was put, and written before objects
are applied, so that a crash in between leaves nothing that is not known.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest

#: Carries the application, as `tracking.label_value`. Not the tracking label: an
#: inventory is never part of what it lists.
LABEL = "volary.dev/inventory"
_DATA = "objects"


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One applied object and the version it was applied with."""

    key: manifest.ResourceKey
    version: str

    def __str__(self) -> str:
        return f"{self.version}:{self.key}"


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is remembered for one application in one cluster."""

    application: str
    #: Where the ConfigMap is, or is to be.
    namespace: str
    references: frozenset[Reference] = frozenset()

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """The groups and kinds of what is remembered."""
        return {(reference.key.group, reference.key.kind) for reference in self.references}

    @property
    def namespaces(self) -> set[str]:
        """The namespaces of what is remembered; empty: of the whole cluster."""
        return {reference.key.namespace for reference in self.references}

    def with_references(self, added: Iterable[Reference]) -> "Inventory":
        """Return the inventory with `added`."""
        return Inventory(self.application, self.namespace, self.references | set(added))

    def without(self, removed: Iterable[manifest.ResourceKey]) -> "Inventory":
        """Return the inventory without the objects in `removed`."""
        gone = set(removed)
        kept = frozenset(reference for reference in self.references if reference.key not in gone)
        return Inventory(self.application, self.namespace, kept)


def reference(item: manifest.Manifest) -> Reference:
    """Return the reference to a manifest whose namespace is filled in."""
    return Reference(item.key, item.api_version.rpartition("/")[2])


def selector(application: str) -> str:
    """Return the label selector that finds an application's inventory."""
    return f"{LABEL}={tracking.label_value(application)}"


def name(application: str) -> str:
    """Return the ConfigMap's name, valid whatever the application is called."""
    return f"volary-inventory-{hashlib.sha256(application.encode()).hexdigest()[:12]}"


def to_object(inventory: Inventory) -> json.JsonObject:
    """Return the ConfigMap that holds `inventory`."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name(inventory.application),
            "namespace": inventory.namespace,
            "labels": {LABEL: tracking.label_value(inventory.application)},
            "annotations": {tracking.APPLICATION: inventory.application},
        },
        "data": {_DATA: "\n".join(str(reference) for reference in sorted(inventory.references))},
    }


def from_object(body: json.JsonObject, application: str) -> Inventory:
    """Read a ConfigMap; lines of another form, which a later version may write, are skipped."""
    lines = objects.text(body, "data", _DATA).splitlines()
    references = frozenset(reference for line in lines if (reference := _parse(line)))
    return Inventory(application, objects.text(body, "metadata", "namespace"), references)


def merge(bodies: Iterable[json.JsonObject], application: str, *, home: str) -> Inventory:
    """Read every ConfigMap found for `application`; several when its namespace has moved.

    Those of another application with the same label are left alone. Without any, the
    inventory is empty and at `home`.
    """
    inventories = [
        from_object(body, application)
        for body in bodies
        if objects.text(body, "metadata", "annotations", tracking.APPLICATION) == application
    ]
    every = frozenset(reference for inventory in inventories for reference in inventory.references)
    namespaces = sorted(inventory.namespace for inventory in inventories)
    return Inventory(application, namespaces[0] if namespaces else home, every)


def _parse(line: str) -> Reference | None:
    version, _, rest = line.partition(":")
    key = object_keys.parse(rest)
    return Reference(key, version) if version and key else None
