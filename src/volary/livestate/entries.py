"""What is kept of an object that a cluster sent, by the source that it came from. Pure.

Objects may have any shape: what is no object of Kubernetes is told apart here, once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from volary.clusters.inventory import inventory
from volary.livestate import nodes, packing, sources
from volary.livestate.nodes import Event, Node
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import object_health

#: Bytes of one packed object; of a larger one only what a tree shows is kept.
LARGEST = 1 << 20
#: Of an object's metadata: they change with every write, whatever it writes.
_NUMBERS = frozenset({"resourceVersion", "generation", "managedFields"})


@dataclass(frozen=True, slots=True)
class Applied:
    """An object that bears our labels."""

    node: Node
    #: Id of whose it is.
    owner: str
    #: Equal as long as nothing changes but its status.
    content: int
    #: Empty: it was too large to be kept.
    packed: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """An inventory, as far as it is needed here."""

    uid: str
    #: Id of whose it is.
    owner: str
    #: Where it is.
    namespace: str
    kinds: frozenset[tuple[str, str]]
    namespaces: frozenset[str]
    #: The object that it was read from.
    packed: bytes


Entry = Applied | Node | Stored | Event


@dataclass(frozen=True, slots=True)
class Reading:
    """How objects are read."""

    #: The fleet's, of health.
    rules: tuple[object_health.Rule, ...] = ()
    #: Those of single applications, which come first: by the id of the owner.
    own_rules: Mapping[str, tuple[object_health.Rule, ...]] = field(default_factory=dict)
    #: Takes the values out of Secrets.
    mask: Callable[[json.JsonObject], json.JsonObject] = lambda body: body


@dataclass(frozen=True, slots=True)
class Read:
    """What was made of some objects."""

    entries: tuple[Entry, ...] = ()
    #: Objects that are none.
    unreadable: int = 0


def read_all(source: sources.Source, bodies: Sequence[json.JsonObject], reading: Reading) -> Read:
    """Return what is kept of objects; may be called in a thread."""
    entries: list[Entry] = []
    unreadable = 0
    for body in bodies:
        try:
            entry = _read(source, body, reading)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
            unreadable += 1
            continue
        if entry is not None:
            entries.append(entry)
    return Read(tuple(entries), unreadable)


def assessed_anew(applied: Applied, reading: Reading) -> Applied:
    """Return an object as it is by the rules of health that count now; may be called in a thread.

    One that was too large to be kept stays as it was until it changes.
    """
    if not applied.packed:
        return applied
    node = nodes.of_body(packing.unpack(applied.packed), _rules(applied.owner, reading))
    return replace(applied, node=node)


def _rules(owner: str, reading: Reading) -> tuple[object_health.Rule, ...]:
    return (*reading.own_rules.get(owner, ()), *reading.rules)


def references(stored: Stored) -> frozenset[inventory.Reference]:
    """Return what an inventory says was applied."""
    known = inventory.from_object(packing.unpack(stored.packed))
    return known.references if known else frozenset()


def _read(source: sources.Source, body: json.JsonObject, reading: Reading) -> Entry | None:
    if source.role is sources.Role.EVENTS:
        event = nodes.event_of(body)
        return event if event.about else None
    if not objects.uid(body) or not objects.text(body, "metadata", "name"):
        raise ValueError("it has no name or no uid")
    match source.role:
        case sources.Role.INVENTORIES:
            return _inventory(body)
        case sources.Role.APPLIED:
            return _applied(body, reading)
        case sources.Role.CHILDREN:
            # What was applied comes with its own source.
            is_ours = tracking.owner_of(body) is not None
            if is_ours or nodes.is_idle(body):
                return None
            # Annotations of a Deployment go to its ReplicaSets, which nobody applied.
            return replace(nodes.of_body(body, reading.rules), commit="")


def _applied(body: json.JsonObject, reading: Reading) -> Applied | None:
    owner = tracking.owner_of(body)
    if owner is None:
        return None
    node = nodes.of_body(body, _rules(owner.id, reading))
    packed = packing.pack(reading.mask(body))
    return Applied(node, owner.id, _content(body), packed if len(packed) <= LARGEST else b"")


def _content(body: json.JsonObject) -> int:
    """Return a digest of what a comparison with Git looks at; of this process alone."""
    metadata = objects.mapping(body, "metadata")
    fields = [one for one in objects.mappings(metadata, "managedFields") if not _is_of_status(one)]
    stated = {key: value for key, value in metadata.items() if key not in _NUMBERS}
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return hash(msgspec.json.encode([stated, fields, rest]))


def _is_of_status(entry: json.JsonObject) -> bool:
    return entry.get("subresource") == "status"


def _inventory(body: json.JsonObject) -> Stored | None:
    known = inventory.from_object(body)
    if known is None or objects.text(body, "metadata", "name") != inventory.name(known.owner):
        return None
    return Stored(
        objects.uid(body),
        known.owner.id,
        known.namespace,
        frozenset(known.kinds),
        frozenset(known.namespaces),
        packing.pack(body),
    )
