"""Routers whose objects hold nothing but a weighted list of Services: SMI and Traefik."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import entries, selection


@dataclass(frozen=True, slots=True)
class Listed:
    """A router for one kind of object; what it promises is said at `interface.Router`."""

    groups: tuple[str, ...]
    kind: str
    #: Where the list is.
    path: tuple[str, ...]
    #: The object that the application names.
    reference: Callable[[applications.TrafficRouting], applications.ObjectReference]
    #: How entries are written, by the object's ``apiVersion``.
    entry: Callable[[str], entries.Kind]

    def maker(self) -> variant.Variant:
        """Return primary, with whose manifests the object comes."""
        return variant.Variant.PRIMARY

    def find(
        self, manifests: Sequence[manifest.Manifest], application: applications.Application
    ) -> manifest.Manifest:
        """Return the object whose list has a Service of the application.

        Raises:
            UserError: when there is none or more than one.
        """
        candidates = [
            item
            for group in self.groups
            for item in selection.of_kind(manifests, group, (self.kind,))
            if self._entries(item.body, application).is_ours
        ]
        title = f"{self.kind} with {backends.of(application).primary} in {'.'.join(self.path)}"
        return selection.only(candidates, self.reference(application.traffic_routing), title)

    def check(self, wanted: division.Division, application: applications.Application) -> None:
        """Refuse what a list of weights cannot say."""
        selection.refuse(wanted, application)

    def routed(
        self,
        item: manifest.Manifest,
        wanted: division.Division,
        application: applications.Application,
    ) -> weights.Change:
        """Return the object with the weights of `wanted`.

        Raises:
            UserError: when no Service of the application is in the list.
        """
        listed_entries = self._entries(item.body, application)
        if not listed_entries.is_ours:
            raise errors.user_error(
                f"{self.kind} {item.name} does not lead to {listed_entries.known.primary}",
                hint=f"add it to {'.'.join(self.path)}",
                where=item.origin,
            )
        line = f"{self.kind} {item.name}: {weights.title(wanted.shares)}"
        return weights.Change(self._with(item, listed_entries.divided(wanted.shares)), (line,))

    def drained(
        self,
        live: manifest.Manifest,
        leaving: variant.Variant,
        application: applications.Application,
    ) -> weights.Change:
        """Return the live object with the share of `leaving` given to primary."""
        listed_entries = self._entries(live.body, application)
        share = listed_entries.shares.get(leaving)
        if not share:
            return weights.Change(live, ())
        line = f"{self.kind} {live.name}: {share} % moved from {leaving.value} to primary"
        divided = listed_entries.divided(entries.moved(listed_entries.shares, leaving))
        return weights.Change(self._with(live, divided), (line,))

    def held(
        self,
        item: manifest.Manifest,
        live: json.JsonObject,
        application: applications.Application,
    ) -> manifest.Manifest:
        """Return Git's object with the live list while a variant gets traffic by it."""
        away = weights.receiving(self.read(live, application)) - {variant.Variant.PRIMARY}
        return self._with(item, objects.sequence(live, *self.path)) if away else item

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the list, all that the routing's manager owns."""
        owned_fields: json.JsonObject = {}
        objects.branch(owned_fields, *self.path[:-1])[self.path[-1]] = objects.sequence(
            body, *self.path
        )
        return owned_fields

    def read(
        self, body: json.JsonObject, application: applications.Application
    ) -> tuple[weights.RouteWeights, ...]:
        """Return what the object sends to the variants."""
        return (weights.RouteWeights("", True, self._entries(body, application).shares),)

    def services(
        self, body: json.JsonObject, application: applications.Application
    ) -> Mapping[variant.Variant, str]:
        """Return the Services of the variants in the list."""
        return self._entries(body, application).services

    def waiting(self, _body: json.JsonObject) -> str:
        """Return nothing: the object has no status that says more."""
        return ""

    def _entries(
        self, body: json.JsonObject, application: applications.Application
    ) -> entries.Entries:
        listed_entries = list(objects.mappings(body, *self.path))
        kind = self.entry(objects.text(body, "apiVersion"))
        return entries.Entries(listed_entries, backends.of(application), kind)

    def _with(
        self, item: manifest.Manifest, listed_entries: Sequence[json.JsonObject]
    ) -> manifest.Manifest:
        body = objects.duplicate(item.body)
        objects.branch(body, *self.path[:-1])[self.path[-1]] = list(listed_entries)
        return item.with_body(body)
