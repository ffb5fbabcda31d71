"""What a controller may read.

The loop hands out a view over the registry; tests hand out one over a few
objects. All answers are shared and read only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kube_sandbox import json


@dataclass(frozen=True, slots=True)
class Key:
    """An object of a kind that a controller looks after."""

    #: As in `View`.
    kind: str
    #: Empty for cluster-scoped objects.
    namespace: str
    name: str


def designation(api_version: str, kind: str) -> str:
    """Name a kind as `View` takes it, from what an object or an owner reference says."""
    group, slash, _ = api_version.rpartition("/")
    return f"{kind}.{group}" if slash else kind


class View(Protocol):
    """Read access to a cluster's objects and to when they last moved.

    Kinds are named ``Deployment``, the built-in one, or with their group:
    ``VirtualService.networking.istio.io``.
    """

    def get(self, kind: str, namespace: str, name: str) -> json.JsonObject | None:
        """Return the object, or None."""
        ...

    def list(self, kind: str, namespace: str = "") -> Sequence[json.JsonObject]:
        """Return the objects of a kind, of every namespace when none is named."""
        ...

    def owned(self, uid: str, kind: str = "") -> Sequence[json.JsonObject]:
        """Return the objects that name that uid among their owners."""
        ...

    def orphans(self, kind: str, namespace: str) -> Sequence[json.JsonObject]:
        """Return the pods or ReplicaSets of a namespace that no controller manages."""
        ...

    def ready_since(self, pod: json.JsonObject) -> float | None:
        """Sandbox seconds at which the pod became ready; None when it is not."""
        ...

    def progressing_since(self, deployment: json.JsonObject) -> float:
        """Sandbox seconds at which the Deployment's status last made progress."""
        ...
