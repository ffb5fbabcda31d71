"""Objects as they were applied, as far as it takes to see what others did to them since."""

from dataclasses import dataclass

import msgspec

from volary.clusters.client import resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import field_managers, field_sets, tracking
from volary.model import json
from volary.model.objects import manifest


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """One object as a stage left it."""

    #: As it was sent.
    mapped: resource_mapping.MappedManifest
    uid: str
    resource_version: str
    #: Our fields; encoded, as a stage keeps those of all its objects.
    _owned: bytes

    @property
    def key(self) -> manifest.ResourceKey:
        """The object's identity."""
        return self.mapped.key

    @property
    def owned(self) -> json.JsonObject:
        """The fields that were ours."""
        fields: json.JsonObject = json.decode(self._owned)
        return fields

    def is_replaced(self, live: json.JsonObject) -> bool:
        """Whether `live` is another object of the same name, and nobody says that it is ours."""
        sent, now = map(tracking.owner_of, (self.mapped.item.body, live))
        return objects.uid(live) != self.uid and sent != now

    def is_untouched(self, live: json.JsonObject) -> bool:
        """Whether nobody at all has written to it since."""
        return objects.text(live, "metadata", "resourceVersion") == self.resource_version


def of(mapped: resource_mapping.MappedManifest, live: json.JsonObject) -> AppliedObject:
    """Return an object that was applied, given how the API server answered."""
    return AppliedObject(
        mapped,
        objects.uid(live),
        objects.text(live, "metadata", "resourceVersion"),
        msgspec.json.encode(owned_fields(live)),
    )


def owned_fields(live: json.JsonObject) -> json.JsonObject:
    """Return the fields that are ours, applied or replaced."""
    owned: json.JsonObject = {}
    for entry in field_managers.entries(live):
        if entry.get("manager") == field_managers.MANAGER and not entry.get("subresource"):
            owned = field_sets.union(owned, objects.mapping(entry, "fieldsV1"))
    return owned
