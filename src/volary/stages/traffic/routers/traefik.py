"""Traffic by weight, in the services of a weighted TraefikService.

Users point an IngressRoute at it with ``kind: TraefikService``.
"""

from volary.model import routing_options
from volary.stages.traffic.routers import entries, listed

#: The second is that of Traefik before version 3.
GROUPS, KIND = ("traefik.io", "traefik.containo.us"), "TraefikService"


class Traefik(listed.Listed):
    """Weights are numbers."""

    groups = GROUPS
    kind = KIND
    path = ("spec", "weighted", "services")

    @property
    def reference(self) -> routing_options.ObjectReference:
        """The TraefikService that the application names."""
        return self.application.traffic_routing.traefik.service

    def entry(self, version: str) -> entries.Kind:
        """Return how Services are listed, in every version."""
        del version
        return entries.REFERENCES
