"""Objects as an API server answered with them seconds ago, for who can do with that.

What a preview has read is kept for who applies it at once, and used once. What was written is kept
as the server answered, for who waits for it. Few and for a short time only, as bodies are large.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta

from volary.clusters.api import discovery
from volary.manifests import objects
from volary.model import json

_LIFETIME = timedelta(seconds=10)
#: Objects of a cluster that are kept.
MOST = 64
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Recent:
    body: json.JsonObject
    #: It is the answer to a write.
    written: bool
    #: In the event loop's time.
    until: float


@dataclass(slots=True)
class RecentObjects:
    """Those of one cluster."""

    _known: OrderedDict[_Key, _Recent] = field(default_factory=OrderedDict)

    def written(
        self, resource: discovery.Resource, name: str, namespace: str
    ) -> json.JsonObject | None:
        """Return an object as it was written seconds ago; None: it was not."""
        known = self._find((resource.title, namespace, name))
        return known.body if known and known.written else None

    def take(
        self, resource: discovery.Resource, name: str, namespace: str
    ) -> json.JsonObject | None:
        """Return an object as a preview read it seconds ago, once; None: that is not known."""
        known = self._find((resource.title, namespace, name))
        if known is None or known.written:
            return None
        self.forget(resource, name, namespace)
        return known.body

    def _find(self, key: _Key) -> _Recent | None:
        known = self._known.get(key)
        return known if known and known.until > asyncio.get_running_loop().time() else None

    def keep(
        self, resource: discovery.Resource, body: json.JsonObject, *, written: bool = False
    ) -> None:
        """Keep an object as it was answered just now."""
        until = asyncio.get_running_loop().time() + _LIFETIME.total_seconds()
        metadata = objects.mapping(body, "metadata")
        name, namespace = objects.text(metadata, "name"), objects.text(metadata, "namespace")
        key = (resource.title, namespace, name)
        self._known[key] = _Recent(body, written, until)
        self._known.move_to_end(key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def forget(self, resource: discovery.Resource, name: str, namespace: str) -> None:
        """Forget an object that is being written, or is not there."""
        self._known.pop((resource.title, namespace, name), None)
