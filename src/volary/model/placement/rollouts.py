"""How an application moves over clusters: selectors, waves, budgets, gates and windows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from volary.model import options
from volary.model.pipeline.stage_kinds import external_stages, waiting_stages


@dataclass(frozen=True, slots=True)
class Window:
    """A time that comes again and again."""

    #: What it is about, for people.
    name: str
    #: When it begins, in the time of its zone (`schedules.cron`); empty: see `recurrence`.
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
    """One condition on a label or a field of a cluster."""

    key: Annotated[options.Text, options.Option("The label, or `provider`, `region` or `zone`.")]
    operator: Annotated[Operator, options.Option("`In`, `NotIn`, `Exists`, `DoesNotExist`.")]
    values: tuple[str, ...] = options.option("For `In` and `NotIn`.", ())


@dataclass(frozen=True, slots=True)
class ClusterSelector:
    """Which clusters; everything given has to hold, and nothing given means all."""

    names: tuple[options.ClusterName, ...] = options.option("By name.", ())
    match_labels: Mapping[str, str] = options.option("Clusters that carry all of these labels.", {})
    match_expressions: tuple[Requirement, ...] = options.option(
        "Conditions on labels, as Kubernetes has them.", ()
    )
    match_fields: tuple[Requirement, ...] = options.option(
        "Conditions on `provider`, `region` and `zone`.", ()
    )
    exclude: tuple[options.ClusterName, ...] = options.option(
        "Never these, whatever else holds.", ()
    )
    #: PipeCD's plugin whose deploy targets are meant, where clusters are such; empty: of any.
    plugin: str = ""


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
        count = total * self.number // 100 if self.is_percentage else self.number
        return min(max(count, least), max(total, 0))

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)


NONE = Share(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many clusters may fail without stopping the others; percentages are rounded down."""

    failures: Share = options.option("May fail.", NONE)
    unreachable: Share = options.option("May be unreachable besides (see `onUnreachable`).", NONE)


class OnWaveFailure(StrEnum):
    """What follows when a wave has failed."""

    #: The run fails; everything stays as it is.
    STOP = "stop"
    #: Failures do not stop the run; the failing clusters are rolled back one by one.
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
    """Clusters that move together."""

    name: Annotated[options.DnsLabel, options.Form.NOT_EMPTY, options.Option("Its name.")]
    targets: ClusterSelector | None = options.option(
        "Which clusters; none given: any that no earlier wave has.", None
    )
    size: Share | None = options.option("At most so many, or this share of all targets.", None)
    one_per: str = options.option(
        "One cluster for each value of this label, or of `provider`, `region`, `zone`.", ""
    )
    max_concurrency: Share | None = options.option(
        "How many are worked on at once; at least one. Default: all.", None
    )
    order_by: str = options.option("Label whose lower values go first; numbers before texts.", "")
    shuffle: str = options.option("A seed: clusters go in an order that it alone decides.", "")
    soak: timedelta = options.option(
        "How long all of them stay healthy on this release before the wave is done.", timedelta()
    )
    progress_deadline: timedelta | None = options.option(
        "How long one stage may take on one cluster.", None
    )
    budget: Budget = options.option("Failures that are tolerated.", Budget())
    on_failure: OnWaveFailure = options.option(
        "When more fail: `stop`, `continue`, `rollbackWave` or `rollbackAll`.",
        OnWaveFailure.ROLLBACK_ALL,
    )
    on_unreachable: OnWaveUnreachable = options.option(
        "`wait` and try again, `skip` within the budget, or `fail`.", OnWaveUnreachable.FAIL
    )
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
