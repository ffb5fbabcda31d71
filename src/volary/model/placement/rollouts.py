"""How an application moves over clusters: selectors, waves, budgets, gates and windows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from volary.model.pipeline.stage_kinds import external_stages, waiting_stages


@dataclass(frozen=True, slots=True)
class Window:
    """A time that comes again and again."""

    #: What it is about, for people.
    name: str
    #: When it begins, in the time of its zone (`model.schedule`); empty: see `recurrence`.
    schedule: str
    #: How long it lasts, in time that passes: a clock that is put forward does not shorten it.
    duration: timedelta
    #: Such as ``Europe/Berlin``.
    zone: str = "UTC"
    #: When it begins, as iCalendar has it (`model.recurrence`), likewise; empty: see `schedule`.
    recurrence: str = ""


class Operator(StrEnum):
    """How a label or a field of a cluster is compared (Kubernetes: label selectors)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a cluster."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSelector:
    """Which clusters; all that is given has to hold, and nothing given means all."""

    names: tuple[str, ...] = ()
    match_labels: Mapping[str, str] = field(default_factory=dict)
    expressions: tuple[Requirement, ...] = ()
    #: On ``provider``, ``region`` and ``zone``.
    fields: tuple[Requirement, ...] = ()
    #: Never these, whatever else holds.
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """So many clusters, or so many percent of some total.

    One rule for every percentage: it is rounded down. A limit on how many move at once is at
    least one, so that something moves; a budget may come out as none.
    """

    number: int
    is_percentage: bool = False

    def of(self, total: int, *, least: int = 0) -> int:
        """Return the number of clusters out of `total`, and no more than those."""
        found = total * self.number // 100 if self.is_percentage else self.number
        return min(max(found, least), max(total, 0))

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)


NONE = Share(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many clusters may fail, and how many may be unreachable besides."""

    failures: Share = NONE
    unreachable: Share = NONE


class OnWaveFailure(StrEnum):
    """What follows when a wave has failed."""

    #: The run fails; everything stays as it is.
    STOP = "stop"
    #: Failures do not stop the run; the failing clusters are taken back one by one.
    CONTINUE = "continue"
    #: The wave's clusters go back; earlier waves keep the new release.
    ROLLBACK_WAVE = "rollbackWave"
    #: All clusters go back, the last wave first.
    ROLLBACK_ALL = "rollbackAll"


class OnWaveUnreachable(StrEnum):
    """What follows when a cluster of a wave cannot be reached."""

    #: It is tried again until its time is over; then it is skipped, within the budget.
    WAIT = "wait"
    #: It is left out at once, within the budget.
    SKIP = "skip"
    #: It is a failure like any other.
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Gate:
    """What has to hold after a wave, before the next one starts or the run succeeds."""

    approval: waiting_stages.ApprovalOptions | None = None
    #: How long it is waited for people.
    approval_timeout: timedelta = timedelta(hours=24)
    webhook: external_stages.WebhookGateOptions | None = None
    #: Of the wave's clusters, held against those that do not have the release yet.
    analysis: waiting_stages.AnalysisOptions | None = None


@dataclass(frozen=True, slots=True)
class Wave:
    """Clusters that move together, and what holds for them."""

    name: str
    #: None: any cluster that no earlier wave has taken.
    selector: ClusterSelector | None = None
    #: At most so many of them; None: all. A percentage is of all targets of the run.
    size: Share | None = None
    #: One cluster for each value of this label, such as ``region``; empty: not so.
    one_per: str = ""
    #: How many are worked on at once; None: all.
    max_concurrency: Share | None = None
    #: Clusters with a lower value of this label first; numbers are compared as numbers.
    order_by: str = ""
    #: Not empty: clusters in an order shuffled by this text.
    shuffle: str = ""
    #: How long all of them have to stay healthy on this release.
    soak: timedelta = timedelta()
    #: How long one stage may take on one cluster; None: as long as the stage may.
    progress_deadline: timedelta | None = None
    budget: Budget = field(default_factory=Budget)
    on_failure: OnWaveFailure = OnWaveFailure.ROLLBACK_ALL
    on_unreachable: OnWaveUnreachable = OnWaveUnreachable.FAIL
    gate: Gate = field(default_factory=Gate)


class WavesOver(StrEnum):
    """What a wave goes through before the next one begins."""

    #: The whole pipeline: region after region.
    PIPELINE = "pipeline"
    #: One stage: canary everywhere first, then promotion in waves.
    STAGE = "stage"


class Unmatched(StrEnum):
    """What becomes of clusters that are in no wave."""

    #: The run is refused, and they are named.
    REFUSE = "refuse"
    #: They are a last wave of their own, named ``rest``.
    LAST = "last"


@dataclass(frozen=True, slots=True)
class ClusterWindow:
    """A window of some clusters."""

    window: Window
    #: None: of all.
    selector: ClusterSelector | None = None


@dataclass(frozen=True, slots=True)
class Windows:
    """When a run may change clusters; `deny` wins, and without windows it always may."""

    #: A cluster that any of these is for is changed within them only.
    allow: tuple[ClusterWindow, ...] = ()
    deny: tuple[ClusterWindow, ...] = ()


@dataclass(frozen=True, slots=True)
class Waves:
    """How an application moves over its clusters; without waves: all at once."""

    waves: tuple[Wave, ...] = ()
    over: WavesOver = WavesOver.PIPELINE
    unmatched: Unmatched = Unmatched.REFUSE
    #: For the whole run, besides each wave's own; None: the waves decide alone.
    budget: Budget | None = None
    #: When it may move, with waves or without.
    windows: Windows = field(default_factory=Windows)
