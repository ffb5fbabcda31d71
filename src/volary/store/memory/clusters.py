"""The clusters as they were seen last, in memory."""

from collections.abc import Sequence

from volary.model.runs import run_records
from volary.store import records
from volary.store.memory import shelves


class Clusters:
    """See `protocol.Clusters`."""

    def __init__(self, shelf: shelves.Shelves) -> None:
        self._shelf = shelf

    async def keep(
        self, clusters: Sequence[records.ClusterRecord], *, fence: run_records.Fence | None
    ) -> None:
        """Keep clusters, new or changed, all of them or none."""
        self._shelf.check_fence(fence)
        self._shelf.clusters.update({cluster.name: shelves.own(cluster) for cluster in clusters})

    async def list(self) -> tuple[records.ClusterRecord, ...]:
        """Return all that are known, by name."""
        return tuple(shelves.own(each) for _, each in sorted(self._shelf.clusters.items()))

    async def forget(self, names: Sequence[str], *, fence: run_records.Fence | None) -> None:
        """Forget clusters; names that are not known are ignored."""
        self._shelf.check_fence(fence)
        for name in names:
            self._shelf.clusters.pop(name, None)
