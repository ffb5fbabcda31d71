"""References to everything that Volary applied for an application, kept in its cluster.

Labels alone cannot find what is to be pruned: nobody may list *every* kind, and a
kind that Git no longer mentions would never be asked for. So a ConfigMap remembers
kinds and namespaces. It says where to look, and is no evidence for a delete:
that is the object's own (see `pruning`).

It is found by label in whatever namespace it was put, and written before objects
are applied, so that a crash in between leaves nothing that is not known.

It is also where a cluster says what runs there and where that is described, so that whoever
comes next, from another machine, goes on with it (`controller.planning.running_commit`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from volary.manifests import objects
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, own_records, ownership

#: Carries the application's name, as `tracking.label_value`. Not the tracking label: an
#: inventory is never part of what it lists.
LABEL = "volary.dev/inventory"
#: Annotations that say where the application is described.
REPOSITORY = "volary.dev/repository"
DIRECTORY = "volary.dev/directory"
#: Annotation with the checkout that it was released from last, where that has no remote.
CHECKOUT = "volary.dev/checkout"
#: Annotation with the commit that it began with.
BEGUN = "volary.dev/begun-with"
#: Annotation that is there while adopted objects are kept as they were (`snapshots`).
SNAPSHOT = "volary.dev/snapshot"
_KEPT = "kept"
_DATA = "objects"
_ADOPTED = "adopted"


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

    owner: ownership.Owner
    #: Where the ConfigMap is, or is to be.
    namespace: str
    references: frozenset[Reference] = frozenset()
    #: Where the application is described.
    origin: ownership.Origin = field(default_factory=ownership.Origin)
    #: The commit that it began with.
    begun: str = ""
    #: The commit that runs; empty: none has been rolled out completely yet.
    commit: str = ""
    #: What was there before the application: no rollback deletes it.
    adopted: frozenset[manifest.ResourceKey] = frozenset()
    #: Adopted objects are kept as they were.
    has_snapshot: bool = False
    #: From which checkout it was released last; empty: that has a remote, or nobody knows.
    checkout: str = ""
    #: The resourceVersion that it was read at, and of which object; empty: there is none.
    version: str = field(default="", compare=False)
    uid: str = field(default="", compare=False)

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
        return replace(self, references=self.references | set(added))

    def with_adopted(self, adopted: Iterable[manifest.ResourceKey]) -> "Inventory":
        """Return the inventory with more objects that were there before, which are kept now."""
        return replace(self, adopted=self.adopted | set(adopted), has_snapshot=True)

    def without(self, removed: Iterable[manifest.ResourceKey]) -> "Inventory":
        """Return the inventory without the objects in `removed`."""
        gone = set(removed)
        kept = frozenset(reference for reference in self.references if reference.key not in gone)
        return replace(self, references=kept, adopted=self.adopted - gone)


def rebase(known: Inventory, after: Inventory, now: Inventory) -> Inventory:
    """Return what an inventory is to be that was `known`, is to be `after`, and is `now` another.

    What was to change is changed, the rest stays as it is now.
    """
    changed = {
        part: getattr(after, part)
        for part in ("origin", "commit", "has_snapshot", "checkout")
        if getattr(after, part) != getattr(known, part)
    }
    return replace(
        now,
        references=(now.references - (known.references - after.references))
        | (after.references - known.references),
        adopted=(now.adopted - (known.adopted - after.adopted)) | (after.adopted - known.adopted),
        begun=now.begun or after.begun,
        **changed,
    )


def reference(item: manifest.Manifest) -> Reference:
    """Return the reference to a manifest whose namespace is filled in."""
    return Reference(item.key, item.api_version.rpartition("/")[2])


def selector(name: str) -> str:
    """Return the label selector that finds the inventories of all applications of a name."""
    return f"{LABEL}={tracking.label_value(name)}"


def name(owner: ownership.Owner) -> str:
    """Return the ConfigMap's name, valid whatever the application is called."""
    return f"{own_records.INVENTORY}{owner.id}"


def home_of(wished: str, allowed: Sequence[str], namespaces: Sequence[str], default: str) -> str:
    """Return the namespace for a new inventory: the application's, else the context's.

    `allowed` are the namespaces that may be used (empty: all), `namespaces` those of the objects.
    """
    first = wished or (namespaces[0] if namespaces else "") or default
    return first if not allowed or first in allowed else allowed[0]


def to_object(inventory: Inventory) -> json.JsonObject:
    """Return the ConfigMap that holds `inventory`."""
    kept = {SNAPSHOT: _KEPT} if inventory.has_snapshot else {}
    if inventory.checkout:
        kept[CHECKOUT] = inventory.checkout
    data = {_DATA: "\n".join(str(reference) for reference in sorted(inventory.references))}
    if inventory.adopted:
        data[_ADOPTED] = "\n".join(str(key) for key in sorted(inventory.adopted))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name(inventory.owner),
            "namespace": inventory.namespace,
            "labels": {LABEL: tracking.label_value(inventory.owner.name)},
            "annotations": {
                tracking.APPLICATION: inventory.owner.name,
                tracking.APPLICATION_ID: inventory.owner.id,
                REPOSITORY: inventory.origin.repository,
                DIRECTORY: inventory.origin.directory,
                BEGUN: inventory.begun,
                tracking.COMMIT: inventory.commit,
                **kept,
            },
        },
        "data": data,
    }


def from_object(body: json.JsonObject) -> Inventory | None:
    """Read a ConfigMap; None: it does not say whose it is.

    Lines of another form, which a later version may write, are skipped.
    """
    annotations = objects.mapping(body, "metadata", "annotations")
    identifier = objects.text(annotations, tracking.APPLICATION_ID)
    if not identifier:
        return None
    lines = objects.text(body, "data", _DATA).splitlines()
    return Inventory(
        ownership.Owner(objects.text(annotations, tracking.APPLICATION), identifier),
        objects.text(body, "metadata", "namespace"),
        frozenset(reference for line in lines if (reference := _parse(line))),
        ownership.Origin(*(objects.text(annotations, key) for key in (REPOSITORY, DIRECTORY))),
        checkout=objects.text(annotations, CHECKOUT),
        begun=objects.text(annotations, BEGUN),
        commit=objects.text(annotations, tracking.COMMIT),
        adopted=frozenset(
            key
            for line in objects.text(body, "data", _ADOPTED).splitlines()
            if (key := object_keys.parse(line))
        ),
        has_snapshot=objects.text(annotations, SNAPSHOT) == _KEPT,
        version=objects.text(body, "metadata", "resourceVersion"),
        uid=objects.uid(body),
    )


def read_all(bodies: Iterable[json.JsonObject], name: str) -> list[Inventory]:
    """Read the inventories of all applications of a name.

    One has several when its namespace has moved: they are merged, at the first of the namespaces.
    """
    merged: dict[ownership.Owner, Inventory] = {}
    stored = [inventory for body in bodies if (inventory := from_object(body))]
    for inventory in sorted(stored, key=lambda inventory: inventory.namespace):
        if inventory.owner.name == name:
            first = merged.setdefault(inventory.owner, inventory)
            merged[inventory.owner] = replace(
                first.with_references(inventory.references),
                adopted=first.adopted | inventory.adopted,
                has_snapshot=first.has_snapshot or inventory.has_snapshot,
            )
    return list(merged.values())


def _parse(line: str) -> Reference | None:
    version, _, rest = line.partition(":")
    key = object_keys.parse(rest)
    return Reference(key, version) if version and key else None
