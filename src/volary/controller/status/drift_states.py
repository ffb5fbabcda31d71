"""What is remembered of an application's drift: since when, and what was repaired. Pure.

How an application's clusters compare with Git is found out again and again; only what a restart
must not lose is kept with the application.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from volary.model import backoffs

#: Repairs of the same fields, after which they are only reported.
MOST_REPAIRS = 3
#: Between the repairs of the same fields, at most.
_LONGEST = timedelta(hours=6)
#: How long all is in sync until the next drift is a new one.
_QUIET = timedelta(hours=1)
#: Fields that are remembered of one repair.
MOST_FIELDS = 100


class SyncWord(StrEnum):
    """How a cluster, or all of them, compare with Git."""

    IN_SYNC = "inSync"
    OUT_OF_SYNC = "outOfSync"
    #: It cannot be said now.
    UNKNOWN = "unknown"
    #: A run is under way there.
    RUNNING = "running"
    #: Nobody looks.
    OFF = "off"


@dataclass(frozen=True, slots=True)
class DriftedCluster:
    """One cluster that is not as Git says."""

    since: datetime
    #: One sentence.
    reason: str


@dataclass(frozen=True, slots=True)
class Repairs:
    """Repairs of the same fields, in a row."""

    #: How often.
    times: int
    #: When the last was asked for.
    last: datetime
    #: What was not as Git said, as `CLUSTER OBJECT FIELD`.
    fields: tuple[str, ...]
    #: Why the last of them failed; empty: it did not, or has not ended.
    failure: str = ""


@dataclass(frozen=True, slots=True)
class DriftState:
    """What is remembered."""

    #: Those that are not as Git says.
    clusters: Mapping[str, DriftedCluster] = field(default_factory=dict)
    #: How it was said that the application is as Git says, before it was not; empty: it was not
    #: said.
    reason_before: str = ""
    #: None: nothing was repaired, or all has been in sync for long.
    repairs: Repairs | None = None
    #: Since when all is in sync; None: it is not, or nobody knows.
    calm_since: datetime | None = None
    #: Why nothing is repaired although that is wished, one sentence; empty: nothing keeps it.
    unrepaired: str = ""
    #: When it is repaired next, where nothing but the time since the last repair keeps it.
    repair_after: datetime | None = None

    @property
    def since(self) -> datetime | None:
        """Since when a cluster is not as Git says; None: all are."""
        return min((one.since for one in self.clusters.values()), default=None)


def with_drifted(
    state: DriftState,
    drifted: Mapping[str, DriftedCluster],
    *,
    unknown: frozenset[str],
    now: datetime,
) -> DriftState:
    """Return the state after a comparison.

    A cluster that was out of sync stays so since it was noticed, also while it is unknown.
    """
    clusters = {
        name: replace(one, since=state.clusters[name].since) if name in state.clusters else one
        for name, one in drifted.items()
    }
    clusters |= {name: one for name, one in state.clusters.items() if name in unknown}
    if clusters:
        return replace(state, clusters=clusters, calm_since=None)
    calm = state.calm_since or now
    is_over = state.repairs is not None and now - calm > _QUIET
    return replace(
        state,
        clusters={},
        calm_since=calm if state.repairs is not None and not is_over else None,
        repairs=None if is_over else state.repairs,
        unrepaired="",
        repair_after=None,
    )


def next_repair(state: DriftState, fields: frozenset[str], window: timedelta) -> datetime | None:
    """Return when these fields may be repaired next; None: at once."""
    repairs = state.repairs
    if repairs is None:
        return None
    if fields.isdisjoint(repairs.fields):
        return repairs.last + window
    return repairs.last + backoffs.Backoff(window, max(_LONGEST, window)).after(repairs.times)


def is_fought_over(state: DriftState, fields: frozenset[str]) -> bool:
    """Say whether somebody sets the same fields back as often as they are repaired."""
    repairs = state.repairs
    if repairs is None or repairs.times < MOST_REPAIRS:
        return False
    return not fields.isdisjoint(repairs.fields)


def with_failure(state: DriftState, reason: str) -> DriftState:
    """Return the state once the last repair has failed."""
    if state.repairs is None:
        return state
    return replace(state, repairs=replace(state.repairs, failure=reason))


def with_repair(state: DriftState, fields: frozenset[str], now: datetime) -> DriftState:
    """Return the state once a repair is asked for."""
    before = state.repairs
    again = before is not None and not fields.isdisjoint(before.fields)
    kept = tuple(sorted(fields)[:MOST_FIELDS])
    times = before.times + 1 if before is not None and again else 1
    repairs = Repairs(times, now, kept)
    return replace(state, repairs=repairs, unrepaired="", repair_after=None)
