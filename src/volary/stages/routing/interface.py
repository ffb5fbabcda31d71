"""What a router has to answer; `podselector` and `istio` are modules of this shape."""

from collections.abc import Sequence
from typing import Protocol, assert_never

from volary.model import application as applications
from volary.model import json, manifest, stage, variant
from volary.stages.routing import istio, podselector, weights


class Router(Protocol):
    """Pure questions about the objects that carry the routes."""

    def find(
        self, manifests: Sequence[manifest.Manifest], application: applications.Application
    ) -> manifest.Manifest:
        """Return the object that carries the routes, as written in Git; UserError otherwise."""
        ...

    def check(self, options: stage.TrafficOptions) -> None:
        """Raise UserError when the router cannot divide traffic like this."""
        ...

    def routed(
        self,
        item: manifest.Manifest,
        options: stage.TrafficOptions,
        application: applications.Application,
    ) -> weights.Change:
        """Return the object with the traffic divided as asked for."""
        ...

    def drained(
        self,
        live: manifest.Manifest,
        leaving: variant.Variant,
        application: applications.Application,
    ) -> weights.Change:
        """Return the live object with the traffic of one variant given to primary."""
        ...

    def held(
        self,
        item: manifest.Manifest,
        live: json.JsonObject,
        application: applications.Application,
    ) -> manifest.Manifest:
        """Return the object of Git with the live routes, so that applying moves no traffic."""
        ...

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the part of ``spec`` that the routing's field manager owns."""
        ...

    def read(
        self, body: json.JsonObject, application: applications.Application
    ) -> tuple[weights.RouteWeights, ...]:
        """Return what each route of the object sends to the variants."""
        ...


def choose(application: applications.Application) -> Router:
    """Return the router that the application asks for."""
    match application.traffic_routing.method:
        case applications.RoutingMethod.POD_SELECTOR:
            return podselector
        case applications.RoutingMethod.ISTIO:
            return istio
        case _:
            assert_never(application.traffic_routing.method)
