"""What must hold at every moment of a run in waves, whatever happens to its clusters.

No cluster of a wave begins before the waves before its own hold; budgets are never exceeded;
nothing is deleted in a cluster that is lost; weights of routes add up; no request is lost. It is
seen in what runs tell (`told_watch`) and, apart from that, in the clusters (`cluster_watch`), so
that processes which come and go are watched as well.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import cluster_watch
import told_watch
from kube_sandbox import fleet
from told_watch import Allowed
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

    told: told_watch.Told
    clusters: cluster_watch.Clusters

    def hear(self, events: Sequence[feed.RunEvent | Mapping[str, Any]]) -> None:
        """Go through events, also long after they happened."""
        before = self.told.begun
        for each in events:
            self.told.hear(each)
        assert self.told.begun > before, "nothing of a wave was told"

    @property
    def broken(self) -> list[str]:
        """What did not hold, as it was seen."""
        return [*self.told.broken, *self.clusters.broken]

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
        waves: The clusters of each wave; not needed where a story tells them.
        allowed: Whom the waves may go without; nobody when not given.
    """
    allowed = allowed or Allowed()
    told = told_watch.Told(allowed)
    clusters = cluster_watch.Clusters(
        given.running.clusters,
        application,
        allowed.both,
        lambda: waves or told.waves,
        told.is_unreachable,
        told.is_excused if story is not None else None,
    )
    watch = Watch(told, clusters)
    with contextlib.ExitStack() as stack:
        for end in clusters.watch():
            stack.callback(end)
        if story is not None:
            story.heard_by.append(told.hear)
        yield watch
        assert not watch.broken, "\n".join(watch.broken)
    assert clusters.changes, "nothing happened"
    assert story is None or told.begun, "nothing of a wave was told"
