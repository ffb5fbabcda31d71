"""What a run of its own has to do so that an application moves, and what is left after it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, stage_kind
from volary.placement.failover import situations

#: How long a cluster may take to bring up, or to lose, its part.
TIMEOUT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Clusters in the order in which they are changed; a cluster may be in none."""

    #: They lose it first: nothing is to run twice, or nobody waits for a replacement any more.
    first: tuple[str, ...] = ()
    #: They get more, at the release that each of them runs.
    place: tuple[str, ...] = ()
    #: They keep a part of what they had.
    reduce: tuple[str, ...] = ()
    #: They lose it once all others are healthy.
    last: tuple[str, ...] = ()
    #: What is divided is divided anew, not only what is missing.
    fresh: bool = False

    @property
    def clusters(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.first, *self.place, *self.reduce, *self.last)))

    @property
    def leaves(self) -> tuple[str, ...]:
        """Those that lose the application."""
        return (*self.first, *self.last)


def stages(shift: MovePlan) -> tuple[pipelines.Stage, ...]:
    """Return the stages of the run, each limited to its clusters."""
    sync, remove = added_stages.PLACEMENT_SYNC.name, added_stages.PLACEMENT_REMOVE.name
    wanted: Sequence[tuple[str, tuple[str, ...], str]] = (
        (remove, shift.first, "Remove the application first from clusters that it leaves"),
        (sync, shift.place, "Bring clusters what moves there, at the release they run"),
        (sync, shift.reduce, "Reduce what clusters had more of"),
        (remove, shift.last, "Remove the application from clusters that it leaves"),
    )
    given = [candidate for candidate in wanted if candidate[1]]
    return tuple(
        pipelines.Stage(
            name,
            stage_kind.NoOptions(),
            index=place,
            description=text,
            timeout=TIMEOUT,
            targets=clusters,
        )
        for place, (name, clusters, text) in enumerate(given)
    )


def after_run(
    leaving: Sequence[situations.Eviction],
    placed: frozenset[str],
    removed: frozenset[str],
    shift: MovePlan,
) -> tuple[situations.Eviction, ...]:
    """Return who is still leaving after a run that had to do `shift`.

    It proved that the clusters `placed` hold their part, and that the application is gone from
    `removed`.
    """
    is_replaced = bool(shift.place) and set(shift.place) <= placed
    still_leaving = []
    for eviction in leaving:
        concerned = is_replaced and bool(set(eviction.replacements) & set(shift.place))
        now = replace(
            eviction,
            replaced=eviction.replaced or concerned,
            removed=eviction.removed or eviction.cluster in removed,
        )
        if now.replaced and now.removed:
            continue
        went_well = concerned and (eviction.cluster not in shift.leaves or now.removed)
        still_leaving.append(replace(now, tried=None, attempts=0) if went_well else now)
    return tuple(still_leaving)
