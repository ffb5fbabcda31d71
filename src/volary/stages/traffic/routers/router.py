"""What a router has to answer, and what most of them answer alike."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from volary.config.application import routing
from volary.manifests import objects
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights


@dataclass(frozen=True, slots=True)
class Router(ABC):
    """Pure questions about the object that carries the routes of one application."""

    application: applications.Application

    #: The variant with whose manifests the object comes and goes.
    maker: ClassVar[variant.Variant] = variant.Variant.PRIMARY
    #: Where the object has its routes.
    path: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the object that carries the routes, as written in Git.

        Raises:
            UserError: when there is none or more than one, or it cannot carry them.
        """

    def check(self, wanted: division.Division) -> None:
        """Refuse what the router cannot do, and percentages that are none.

        Raises:
            UserError: with a problem for each.
        """
        parts = (wanted.primary, wanted.canary, wanted.baseline)
        if min(parts) < 0 or sum(parts) != division.ALL:
            raise errors.user_error(
                f"the weights add up to {sum(parts)}, not 100",
                hint="primary, canary and baseline together make 100",
            )
        wish = routing.RequestedFeatures(
            wanted.canary,
            wanted.baseline,
            wanted.match,
            wanted.mirror,
            has_affinity=wanted.affinity is not None,
        )
        refused = routing.unsupported_features(self.application.traffic_routing, wish)
        if refused:
            problems = (errors.Problem(refusal.message, hint=refusal.hint) for refusal in refused)
            raise errors.UserError(*problems)

    @abstractmethod
    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the object with the traffic divided as asked for.

        What is not the application's stays as it is in `item`: other backends in their
        proportion, rules, filters. What an earlier division had added is taken out.

        Raises:
            UserError: when the object does not allow it, or has no route that may be changed.
        """

    @abstractmethod
    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the live object with the traffic of one variant given to primary.

        Without lines when there is nothing to give. What a division added for canary goes with
        canary: rules for some requests, copies of requests, cookies.

        Raises:
            UserError: when a route that may not be changed still sends traffic there.
        """

    def held(self, item: manifest.Manifest, live: json.JsonObject) -> manifest.Manifest:
        """Return the object of Git, with the live routes while a variant gets traffic by them."""
        if not weights.is_diverted(self.read(live)):
            return item
        return self.with_routes(item, objects.sequence(live, *self.path))

    def with_routes(self, item: manifest.Manifest, routes: Sequence[object]) -> manifest.Manifest:
        """Return the object with other routes."""
        body = content = dict(item.body)
        for step in self.path[:-1]:
            content[step] = content = dict(objects.mapping(content, step))
        content[self.path[-1]] = list(routes)
        return item.with_body(body)

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the part of the object that the routing's field manager owns."""
        owned: json.JsonObject = {}
        branch = objects.branch(owned, *self.path[:-1])
        branch[self.path[-1]] = objects.sequence(body, *self.path)
        return owned

    @abstractmethod
    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what each route of the object sends to the variants."""

    @abstractmethod
    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the Services by which the routes of the object reach the variants."""

    def waiting(self, body: json.JsonObject) -> str:
        """Return why the cluster does not carry out the routes yet; empty when it does.

        Empty as well where the object has no status that says so.
        """
        del body
        return ""

    def is_unanswered(self, body: json.JsonObject) -> bool:
        """Whether nobody has ever answered for the routes, though somebody has to."""
        del body
        return False
