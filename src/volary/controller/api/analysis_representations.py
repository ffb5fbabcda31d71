"""What a run's analyses measured over time, for charts: one series for each side of a rule."""

from datetime import datetime

from volary.controller.api import representations
from volary.model import analysis, json

SUCCESS, FAILURE, INCONCLUSIVE, RUNNING = "success", "failure", "inconclusive", "running"


class Sample(representations.Representation, frozen=True):
    """One measurement."""

    at: datetime
    #: None: there was no data.
    value: float | None
    #: How many requests or samples it stands for; none: nobody knows.
    count: float | None


class Series(representations.Representation, frozen=True):
    """What one side measured on one cluster."""

    cluster: str
    #: ``primary``, ``canary`` or ``baseline``; of a score what it is made of.
    variant: str
    samples: tuple[Sample, ...]
    #: Samples left out so that the chart stays readable.
    thinned: int
    #: Of a score, or of a group of metrics, by whose name it goes as the variant: the points that
    #: it can have; none: it is the side of a metric.
    worth: float | None


class Bounds(representations.Representation, frozen=True):
    """What is allowed, where that is a number; none: no bound on that side."""

    least: float | None
    most: float | None
    #: Of a score: below `least`, and not below this, it is measured until the end and fails then.
    marginal: float | None


class MetricVerdict(representations.Representation, frozen=True):
    """What was concluded at a moment: on one cluster, or pooled."""

    at: datetime
    #: Empty: pooled over all clusters.
    cluster: str
    #: ``success``, ``failure``, ``inconclusive``, or ``running``: nothing was found so far, and
    #: what is still to come can change that.
    result: str
    sentence: str
    numbers: json.JsonObject


def result_of(document: json.JsonObject) -> str:
    """Return the result of a verdict's document as `MetricVerdict` has it."""
    match document.get("result"):
        case analysis.Result.PASS:
            return SUCCESS if document.get("isFinal") else RUNNING
        case analysis.Result.FAIL:
            return FAILURE
        case _:
            return INCONCLUSIVE


class MetricAnalysis(representations.Representation, frozen=True):
    """One metric of one stage over its clusters."""

    stage: str
    metric: str
    query: str
    #: ``ratio``, ``perSecond``, ``percent``, ``milliseconds``, ``cores``, ``bytes`` or ``points``;
    #: empty: as the query has it.
    unit: str
    bounds: Bounds
    series: tuple[Series, ...]
    #: The newest first; at most some.
    verdicts: tuple[MetricVerdict, ...]
    #: The cluster that differs from the others more than chance explains; empty: none.
    outlier: str
    #: What it is held against: ``THRESHOLD``, ``CANARY_PRIMARY``, …; empty: nobody knows any more.
    strategy: str


class RunAnalysis(representations.Representation, frozen=True):
    """Everything that a run measured."""

    run: str
    #: One sentence over all metrics; empty: nothing was judged.
    sentence: str
    metrics: tuple[MetricAnalysis, ...]
    #: Findings that were not read, the oldest of too many; narrow to a stage or a cluster.
    omitted: int
    #: Metrics beyond the bound.
    metrics_omitted: int


class WeightSample(representations.Representation, frozen=True):
    """Traffic of one cluster from a moment on, in percent per variant."""

    at: datetime
    cluster: str
    stage: str
    wanted: dict[str, int]
    #: Empty: nothing was read back yet.
    observed: dict[str, int]


class RunTraffic(representations.Representation, frozen=True):
    """How a run moved traffic, in the order it happened."""

    run: str
    samples: tuple[WeightSample, ...]
    #: The newest of each cluster, as stages said it last: where traffic comes back to primary
    #: because canary goes, no stage says so.
    now: tuple[WeightSample, ...]
    #: Samples beyond the bound, between the first ones and the newest.
    omitted: int


class ComparedStage(representations.Representation, frozen=True):
    """A stage in both runs."""

    name: str
    before_status: str
    after_status: str
    #: Seconds; none: it did not run to its end.
    before_seconds: float | None
    after_seconds: float | None


class RunComparison(representations.Representation, frozen=True):
    """Two runs of an application beside each other."""

    before: representations.RunSummary
    after: representations.RunSummary
    #: What differs, in sentences: strategy, clusters, stages, outcome, time.
    differences: tuple[str, ...]
    stages: tuple[ComparedStage, ...]
    clusters_added: tuple[str, ...]
    clusters_removed: tuple[str, ...]
