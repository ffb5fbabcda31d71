"""Lists of one moment on a cluster, which answer several questions.

Before each change of routes several questions are asked about the same pods and endpoints.
Where all is well, and that is nearly always, one list of each answers all of them.
"""

from dataclasses import dataclass, field

from volary.clusters.api import discovery, label_selectors
from volary.clusters.client import clients
from volary.model import json


@dataclass(slots=True)
class ListSnapshot:
    """Lists of one moment; make a new one for the next."""

    client: clients.Client
    _seen: dict[tuple[str, str, str], tuple[json.JsonObject, ...]] = field(default_factory=dict)

    async def list(
        self, resource: discovery.Resource, namespace: str, label_selector: str
    ) -> tuple[json.JsonObject, ...]:
        """Return a complete collection, as it was when it was asked for first.

        What a shared watch tells is not asked for; of pods and EndpointSlices that is what is
        read of them here (`informers.parts_of`).

        Raises:
            VolaryError: when it cannot be listed; nothing is kept of that.
        """
        key = (resource.title, namespace, label_selector)
        if key not in self._seen and (told := self._told(resource, namespace, label_selector)):
            self._seen[key] = told
        if key not in self._seen:
            listed = await self.client.list(
                resource, namespace=namespace, label_selector=label_selector
            )
            self._seen[key] = listed.items
        return self._seen[key]

    def _told(
        self, resource: discovery.Resource, namespace: str, label_selector: str
    ) -> tuple[json.JsonObject, ...]:
        """Return what a shared watch tells; nothing, where it does not know or nothing is there.

        That nothing is there is asked about: it would hold up a stage, or end it.
        """
        labels = label_selectors.parse_exact(label_selector)
        return self.client.informers.list(resource, namespace, labels) or ()

    def forget(self) -> None:
        """The moment has passed: what is asked next is listed anew."""
        self._seen.clear()
