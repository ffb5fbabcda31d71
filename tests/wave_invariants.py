"""What must hold at every moment of a run in waves, whatever happens to its clusters.

No cluster of a wave begins before the waves before its own hold; budgets are never exceeded;
nothing is deleted in a cluster that is lost; weights of routes add up; no request is lost. It is
seen in the events of runs (`event_invariants`) and, apart from that, in the clusters
(`cluster_invariants`), so
that processes which come and go are watched as well.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import cluster_invariants
import event_invariants
from event_invariants import Allowed
from kube_sandbox import fleet
from volary.engine.observers import feed

__all__ = ["Allowed", "Watch", "watched"]


class _World(Protocol):
    @property
    def running(self) -> fleet.Fleet: ...


class _Story(Protocol):
    @property
    def heard_by(self) -> list[Any]: ...


@dataclass
class Watch:
    """Watches one application."""

    events: event_invariants.Events
    clusters: cluster_invariants.Clusters

    def hear(self, events: Sequence[feed.RunEvent | Mapping[str, Any]]) -> None:
        """Go through events, also long after they happened."""
        before = self.events.begun
        for each in events:
            self.events.hear(each)
        assert self.events.begun > before, "nothing of a wave was reported"

    @property
    def broken(self) -> list[str]:
        """What did not hold, as it was seen."""
        return [*self.events.broken, *self.clusters.broken]

    @property
    def routes(self) -> int:
        """How many states of routes were looked at."""
        return self.clusters.routes


@contextlib.contextmanager
def watched(
    given: _World,
    story: _Story | None = None,
    *,
    application: str = "shop",
    waves: Sequence[Sequence[str]] = (),
    allowed: Allowed | None = None,
) -> Iterator[Watch]:
    """Watch what happens in the block; at its end everything must have held all the time.

    Args:
        given: Whose clusters.
        story: Of a run in this process; others' events are given to `Watch.hear`.
        application: The name of the application, and of its Service.
        waves: The clusters of each wave; not needed where a story has them.
        allowed: Whom the waves may go without; nobody when not given.
    """
    allowed = allowed or Allowed()
    events = event_invariants.Events(allowed)
    clusters = cluster_invariants.Clusters(
        given.running.clusters,
        application,
        allowed.both,
        lambda: waves or events.waves,
        events.is_unreachable,
        events.is_excused if story is not None else None,
    )
    watch = Watch(events, clusters)
    with contextlib.ExitStack() as stack:
        for end in clusters.watch():
            stack.callback(end)
        if story is not None:
            story.heard_by.append(events.hear)
        yield watch
        assert not watch.broken, "\n".join(watch.broken)
    assert clusters.changes, "nothing happened"
    assert story is None or events.begun, "nothing of a wave was reported"
