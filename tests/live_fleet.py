"""Clusters in memory with what applications have there, for what follows them in virtual time."""

from dataclasses import dataclass, field
from typing import Any

from fixed_clock import FixedClock
from memory_cluster import MemoryCluster
from volary.clusters.client import fleet_clients
from volary.clusters.inventory import inventory
from volary.manifests.ownership import tracking
from volary.model import clocks, json
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership

OWNER = ownership.Owner("shop", "0123456789abcdef")


@dataclass
class MemoryFleet:
    """The clients of clusters in memory, for everybody the same."""

    clusters: dict[str, MemoryCluster]
    clock: clocks.Clock = field(default_factory=FixedClock)
    #: Clusters that cannot be reached, and why.
    unavailable: dict[str, str] = field(default_factory=dict)
    members: tuple[fleets.Cluster, ...] = ()

    @property
    def fleet(self) -> fleets.Fleet:
        given = {member.name: member for member in self.members}
        return fleets.Fleet(
            tuple(
                given.get(name) or fleets.Cluster(name, kubeconfig=("x",)) for name in self.clusters
            )
        )

    @property
    def fleet_wide(self) -> "MemoryFleet":
        return self

    def acting_for(self, actor: object) -> "MemoryFleet":
        return self

    def member(self, name: str) -> fleets.Cluster | None:
        return next((one for one in self.fleet.clusters if one.name == name), None)

    def remember(self, members: object) -> None: ...

    async def client(self, name: str) -> Any:
        if reason := self.unavailable.get(name):
            return fleet_clients.Unavailable(name, reason)
        return self.clusters[name]


def applied(
    kind: str, name: str, owner: ownership.Owner = OWNER, namespace: str = "default", **more: Any
) -> json.JsonObject:
    """Return an object as Volary applied it."""
    return {
        "apiVersion": "apps/v1" if kind == "Deployment" else "v1",
        "kind": kind,
        "metadata": {
            "uid": f"uid-{kind}-{name}",
            "name": name,
            "namespace": namespace,
            "labels": tracking.owner_labels(owner),
            "annotations": {
                tracking.MANAGED_BY: tracking.VOLARY,
                tracking.APPLICATION: owner.name,
                tracking.APPLICATION_ID: owner.id,
                tracking.COMMIT: "c0ffee",
            },
        },
        **more,
    }


def stored(*keys: tuple[str, str, str], owner: ownership.Owner = OWNER) -> json.JsonObject:
    """Return the inventory of an application: groups, kinds and names."""
    references = frozenset(
        inventory.Reference(manifest.ResourceKey(group, kind, "default", name), "v1")
        for group, kind, name in keys
    )
    body = inventory.to_object(inventory.Inventory(owner, "default", references))
    body["metadata"]["uid"] = f"uid-{body['metadata']['name']}"
    return body


def pod(name: str, owner: str, **more: Any) -> json.JsonObject:
    """Return a ready pod that an object of that uid owns."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "uid": f"uid-Pod-{name}",
            "name": name,
            "namespace": "default",
            "labels": {},
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "web:v1"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "web", "ready": True, "restartCount": 1}],
        },
        **more,
    }


def names(placed: Any) -> list[str]:
    """Return the names in a tree, in its order."""
    return [one.node.name for one in placed.nodes]
