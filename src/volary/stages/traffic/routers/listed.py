"""Routers whose objects hold nothing but a weighted list of Services: SMI and Traefik."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from volary.manifests import objects
from volary.manifests.services import backends
from volary.manifests.workloads import quantities
from volary.model import errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import entries, router, selection


class Listed(router.Router):
    """A router for one kind of object."""

    groups: ClassVar[tuple[str, ...]]
    kind: ClassVar[str]

    @property
    @abstractmethod
    def reference(self) -> routing_options.ObjectReference:
        """The object that the application names."""

    def entry(self, version: str) -> entries.Kind:
        """Return how entries are written in objects of this ``apiVersion``: as references."""
        del version
        return entries.REFERENCES

    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the object whose list has a Service of the application."""
        candidates = [
            item
            for group in self.groups
            for item in selection.of_kind(manifests, group, (self.kind,))
            if self._entries(item.body).is_ours
        ]
        primary = backends.of(self.application).primary
        title = f"{self.kind} with {primary} in {'.'.join(self.path)}"
        return selection.only(candidates, self.reference, title)

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the object with the weights of `wanted`."""
        listed_entries = self._entries(item.body)
        if not listed_entries.is_ours:
            raise errors.user_error(
                f"{self.kind} {item.name} does not lead to {listed_entries.known.primary}",
                hint=f"add it to {'.'.join(self.path)}",
                where=item.origin,
            )
        line = f"{self.kind} {item.name}: {weights.title(wanted.shares)}"
        divided = listed_entries.divided(wanted.shares)
        return weights.Change(self.with_routes(item, divided), (line,))

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the live object with the share of `leaving` given to primary."""
        listed_entries = self._entries(live.body)
        share = listed_entries.shares.get(leaving)
        if not share:
            return weights.Change(live, ())
        line = f"{self.kind} {live.name}: {share} % moved from {leaving.value} to primary"
        divided = listed_entries.divided(entries.moved(listed_entries.shares, leaving))
        return weights.Change(self.with_routes(live, divided), (line,))

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what the object sends to the variants."""
        return (weights.RouteWeights("", True, self._entries(body).shares),)

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the Services of the variants in the list."""
        return self._entries(body).services

    def _entries(self, body: json.JsonObject) -> entries.Entries:
        listed_entries = list(objects.mappings(body, *self.path))
        kind = self.entry(objects.text(body, "apiVersion"))
        return entries.Entries(listed_entries, backends.of(self.application), kind)


_SMI = "split.smi-spec.io"
_OLDEST = f"{_SMI}/v1alpha1"
#: Quantities are counted in thousandths: ``900m``, ``1``.
_UNIT = 1000


def _name(entry: json.JsonObject) -> str:
    return objects.text(entry, "service")


def _made(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**entry, "service": name or _name(entry), "weight": weight}


def _thousandths(entry: json.JsonObject) -> int:
    value = quantities.parse(entry.get("weight"))
    return int(value * _UNIT) if value is not None else 0


def _made_quantity(entry: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    whole, rest = divmod(weight, _UNIT)
    return {**_made(entry, name, weight), "weight": f"{weight}m" if rest else str(whole)}


_NUMBERS = entries.Kind(_name, lambda entry: objects.number(entry, "weight"), _made)
_QUANTITIES = entries.Kind(_name, _thousandths, _made_quantity, _UNIT)


class Smi(Listed):
    """The backends of a TrafficSplit (v1alpha1 to v1alpha4): numbers, of old quantities.

    Linkerd's SMI extension and other meshes divide the requests to the root Service.
    """

    groups = (_SMI,)
    kind = "TrafficSplit"
    path = ("spec", "backends")

    @property
    def reference(self) -> routing_options.ObjectReference:
        """The TrafficSplit that the application names."""
        return self.application.traffic_routing.smi.traffic_split

    def entry(self, version: str) -> entries.Kind:
        """Return how weights are written."""
        return _QUANTITIES if version == _OLDEST else _NUMBERS


class Traefik(Listed):
    """The services of a weighted TraefikService: numbers.

    Users point an IngressRoute at it with ``kind: TraefikService``.
    """

    #: The second is that of Traefik before version 3.
    groups = ("traefik.io", "traefik.containo.us")
    kind = "TraefikService"
    path = ("spec", "weighted", "services")

    @property
    def reference(self) -> routing_options.ObjectReference:
        """The TraefikService that the application names."""
        return self.application.traffic_routing.traefik.service
