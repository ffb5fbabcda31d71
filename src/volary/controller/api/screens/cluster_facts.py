"""How applications are in clusters, for the overview: as it was seen and compared last.

Nothing is asked for: what is not followed, or was not compared, is unknown.
"""

from dataclasses import dataclass

from volary.controller.api.screens import overview
from volary.controller.drift import comparer
from volary.controller.status import drift_states
from volary.livestate import live_state
from volary.model.statuses import HealthStatus

_Word = drift_states.SyncWord


@dataclass(frozen=True, slots=True)
class SeenFacts:
    """What live state and comparisons say; an `overview.ClusterFacts`."""

    live: live_state.LiveState
    comparer: comparer.Comparer

    def health(self, line: overview.ApplicationLine, cluster: str) -> str:
        """Return how it is there, as in the live tree; ``unknown``: nobody sees it now."""
        owner = line.owners.get(cluster)
        if owner is None:
            return HealthStatus.UNKNOWN.value
        return self.live.health(cluster, owner).value

    def drift(self, line: overview.ApplicationLine, cluster: str) -> str:
        """Return ``inSync``, ``outOfSync`` or ``unknown``: what is stored, else what was found."""
        if cluster in line.drifted:
            return _Word.OUT_OF_SYNC.value
        last = self.comparer.last(line.project, line.name)
        clusters = last.clusters if last else ()
        words = {one.name: one.status for one in clusters}
        is_in_sync = words.get(cluster) is _Word.IN_SYNC
        return _Word.IN_SYNC.value if is_in_sync else _Word.UNKNOWN.value
