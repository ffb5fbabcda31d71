"""What is measured, how it is judged, and what the judgement says.

A `Rule` is one metric as users write it. Carrying it out gives `Measurement`s: one per query,
cluster and moment. A `Series` holds those of one rule on one cluster; `volary.analysis` turns
series into `Verdict`s and does nothing else. Every number a surface shows is in these values.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from volary.model import options


class Strategy(StrEnum):
    """What a metric is held against (PipeCD's names)."""

    #: The expected range.
    THRESHOLD = "THRESHOLD"
    #: The same query during the analysis before this one.
    PREVIOUS = "PREVIOUS"
    CANARY_BASELINE = "CANARY_BASELINE"
    CANARY_PRIMARY = "CANARY_PRIMARY"
    #: Both, and baseline with primary: what baseline has against primary too is not the release's.
    CANARY_BASELINE_PRIMARY = "CANARY_BASELINE_PRIMARY"
    #: At the end of a wave: the same query on clusters that do not have the release yet.
    NOT_UPDATED = "NOT_UPDATED"

    @property
    def compares(self) -> bool:
        """Whether there is a second side to be measured."""
        return self is not Strategy.THRESHOLD

    @property
    def has_control(self) -> bool:
        """Whether there is a third side, which the other two are held against."""
        return self is Strategy.CANARY_BASELINE_PRIMARY


class Deviation(StrEnum):
    """Which difference counts against the new version (PipeCD)."""

    EITHER = "EITHER"
    #: Higher than the other side is bad: errors, latency.
    HIGH = "HIGH"
    #: Lower is bad: success rate, throughput.
    LOW = "LOW"


class Kind(StrEnum):
    """What the numbers are, and so which test fits them."""

    #: Any quantity, one or more points per query: compared by rank (Mann-Whitney).
    VALUE = "value"
    #: `query` counts events (errors) among the things that `total_query` counts (requests).
    PROPORTION = "proportion"
    #: `query` counts events within the interval, compared per second of measuring.
    RATE = "rate"


class Judgement(StrEnum):
    """How many looks at the same release become one decision."""

    #: Each look by itself; the failed ones are counted (PipeCD, Flagger). Every look of a
    #: comparison may raise a false alarm, so their chance grows with the number of looks.
    EACH = "each"
    #: All looks so far together; the chance of a false alarm over the whole analysis stays
    #: below `significance`, however often one looks. For comparisons, and for proportions
    #: and rates against a threshold.
    SEQUENTIAL = "sequential"


class FailureCount(StrEnum):
    """Which failed looks count towards `failure_limit`."""

    #: All of them, also with good ones in between (PipeCD, Flagger).
    CUMULATIVE = "cumulative"
    #: Only those in a row; a good look begins again at zero.
    CONSECUTIVE = "consecutive"


class NoData(StrEnum):
    """What it means that there is nothing to judge."""

    #: Wait for data until the deadline, then fail.
    HOLD = "hold"
    #: A failed look.
    FAIL = "fail"
    #: A look that does not count (PipeCD: ``skipOnNoData``).
    PASS = "pass"


class Decider(StrEnum):
    """Whose verdict decides when a release runs on several clusters."""

    #: Each cluster goes by its own.
    PER_CLUSTER = "perCluster"
    #: All go by the one over all clusters; an outlier is named only.
    POOLED = "pooled"
    #: All go by the pooled one, and a cluster whose own data condemn it fails by itself.
    BOTH = "both"


class Result(StrEnum):
    """What a verdict, or one look, comes to."""

    PASS = "pass"
    FAIL = "fail"
    #: Not enough to say either; never treated as a pass without a policy that says so.
    INCONCLUSIVE = "inconclusive"


class PodMetric(StrEnum):
    """What a cluster tells of a variant's pods by itself: one value for each of them."""

    #: Of all containers, since the pod began.
    RESTARTS = "pod-restarts"
    #: Containers that ended last for lack of memory.
    OUT_OF_MEMORY = "pod-oom-kills"
    #: Cores.
    CPU = "pod-cpu"
    #: Bytes.
    MEMORY = "pod-memory"
    #: The share of its memory limit that a pod's fullest container used at least at the last three
    #: measurements.
    MEMORY_LIMIT = "pod-memory-limit"

    @property
    def is_count(self) -> bool:
        """Whether it grows with the age of a pod."""
        return self in (PodMetric.RESTARTS, PodMetric.OUT_OF_MEMORY)


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds; None: open on that side."""

    minimum: float | None = None
    maximum: float | None = None

    def __contains__(self, value: float) -> bool:
        """Say whether `value` lies within; NaN never does."""
        above = self.minimum is None or value >= self.minimum
        below = self.maximum is None or value <= self.maximum
        return above and below and not math.isnan(value)

    def __str__(self) -> str:
        if self.minimum is None:
            return "any value" if self.maximum is None else f"≤ {self.maximum:g}"
        if self.maximum is None:
            return f"≥ {self.minimum:g}"
        return f"{self.minimum:g} to {self.maximum:g}"


@dataclass(frozen=True, slots=True)
class MetricJob:
    """A container in the cluster that decides: its Job succeeds, or it fails."""

    spec: Annotated[
        Mapping[str, Any],
        options.Option(
            "`spec` of a Job. `backoffLimit` is 0 and `restartPolicy` Never where it says "
            "nothing; `VOLARY_CLUSTER`, `VOLARY_VARIANT`, `VOLARY_SERVICE` and so on are in the "
            "environment of its containers."
        ),
    ]


@dataclass(frozen=True, slots=True)
class BurnRate:
    """How many times too fast an error budget may burn, over two windows."""

    rate: Annotated[
        float,
        options.Option(
            "So many times the rate at which the budget lasts exactly its window.", above=0
        ),
    ]
    long: Annotated[timedelta, options.Option("Says that it matters.")]
    short: Annotated[timedelta, options.Option("Says that it goes on.")]


#: Shares of the budget that may burn in a window, with a shorter one that says whether it goes
#: on: the pages of Google's SRE workbook, 14.4 and 6 times the rate of 30 days.
_PAGES = (
    (0.02, timedelta(hours=1), timedelta(minutes=5)),
    (0.05, timedelta(hours=6), timedelta(minutes=30)),
)


@dataclass(frozen=True, slots=True)
class Slo:
    """A service level objective, whose error budget a release may not burn too fast."""

    objective: Annotated[
        float, options.Option("Percent of the events that have to be good, as `99.9`.", above=0)
    ]
    window: timedelta = options.option("Over how long, as `30d`.", timedelta(days=30))
    burn_rates: tuple[BurnRate, ...] = options.option(
        "A release fails when both windows of one of these are above its rate. Default: 2 % of "
        "the budget in an hour, with 5 minutes, and 5 % in 6 hours, with 30 minutes; of 30 days "
        "that is 14.4 and 6 times. Of a shorter analysis all windows are scaled down, so that "
        "the longest one is all of it.",
        (),
    )

    @property
    def budget(self) -> float:
        """The share of events that may be bad."""
        # 99.9 has no exact binary form, and users see what is made of it.
        return round((100 - self.objective) / 100, 12)

    def bounds(self, length: timedelta) -> tuple[BurnRate, ...]:
        """Return the bounds for an analysis of that length."""
        rates = self.burn_rates or tuple(
            BurnRate(round(share * (self.window / long), 6), long, short)
            for share, long, short in _PAGES
        )
        scale = min(1.0, length / max(bound.long for bound in rates))
        return tuple(BurnRate(one.rate, one.long * scale, one.short * scale) for one in rates)


@dataclass(frozen=True, slots=True)
class History:
    """What was usual at the same hour before, instead of a range that somebody chose."""

    offset: timedelta = options.option(
        "How far apart the times are that are looked at, as `7d` (the same hour of the weeks "
        "before) or `1d`.",
        timedelta(days=7),
    )
    count: int = options.option(
        "How many of them are asked for, once each, when the analysis begins. The middle one is "
        "usual.",
        4,
        least=1,
        most=8,
    )
    window: timedelta = options.option(
        "How much of each is looked at, up to when the analysis ends.", timedelta(hours=1)
    )
    tolerance: float = options.option(
        "By so much of what is usual it may be worse, as `0.2`.", 0.2, least=0, most=10
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """One metric: what to ask whom, how often, and what the answers have to be."""

    name: str = options.option(
        "As shown. `request-success-rate`, `request-duration` (ms) and, for `kind: proportion`, "
        "`request-errors` without a `query` are measured at the application's router; "
        "`pod-restarts`, `pod-oom-kills`, `pod-cpu` (cores), `pod-memory` (bytes) and "
        "`pod-memory-limit` (share of the limit), for each pod of the variant, are asked of the "
        "cluster itself. Default: `metrics-0` and so on.",
        "",
    )
    provider: str = options.option(
        "Name in `analysisProviders` of the fleet file or the controller's settings. "
        "May be left out when there is only one.",
        "",
    )
    query: str = options.option(
        "As the provider understands it, with `{{ .App.Name }}`, `{{ .Variant.Name }}`, "
        "`{{ .VariantCustomArgs.x }}`, `{{ .AppCustomArgs.x }}`.",
        "",
    )
    total_query: str = options.option(
        "What `query` counts events of; only for `kind: proportion`.", ""
    )
    kind: Kind = options.option(
        "`value`: any quantity, compared by rank. `proportion`: `query` counts events "
        "among those of `totalQuery`. `rate`: `query` counts events of an interval.",
        Kind.VALUE,
    )
    interval: timedelta = options.option("Time between two looks.", timedelta(minutes=1))
    timeout: timedelta = options.option("Limit of each query, at most 5m.", timedelta(seconds=30))
    #: `query` names it for people then, and `expected` is 1: a Job that succeeded.
    job: MetricJob | None = options.option(
        "A Job that is run in the cluster at each look, in place of a query: it measures 1 when "
        "it succeeds and 0 when it fails, and is removed afterwards. One that gives no answer "
        "within `timeout` (default 5m, at most 1h) is no data.",
        None,
    )
    strategy: Strategy = options.option(
        "`THRESHOLD`: against `expected`. `CANARY_BASELINE`, `CANARY_PRIMARY`: "
        "against the other variant. `CANARY_BASELINE_PRIMARY`: against both, and what baseline "
        "has against primary too is not the release's. `PREVIOUS`: against the last successful "
        "analysis.",
        Strategy.THRESHOLD,
    )
    #: Of a proportion or of a rate per second where it is one.
    expected: Range | None = options.option("Good values, for `THRESHOLD`.", None)
    success_condition: str = options.option(
        "An expression in CEL over the answer of each look instead of `expected`: `result` is one "
        "number (`result < 0.05`) or the list of all values (`result[0] < 0.05`), as it is taken "
        "for. A look is good when it is true; failed when it is false and there is no "
        "`failureCondition`.",
        "",
    )
    failure_condition: str = options.option(
        "Likewise: a look has failed when it is true, and is good when it is false and there is no "
        "`successCondition`. With both, a look of which neither is true is inconclusive.",
        "",
    )
    deviation: Deviation = options.option(
        "Which difference is bad when compared: `EITHER`, `HIGH`, `LOW`.", Deviation.EITHER
    )
    #: The new version may have so many times the other side's value (1.1: ten percent more);
    #: None: they have to be alike. With `Deviation.LOW` it is the least share, such as 0.9.
    ratio_limit: float | None = None
    minimum_effect: float = options.option(
        "Compared without `max` or `min`: a difference up to this share of the other side's value "
        "(of proportions: of its odds) never counts. `0`: any difference does.",
        0.05,
        least=0,
        most=10,
        key="minEffect",
    )
    judgement: Judgement = options.option(
        "`each`: every look by itself, failed ones are counted. `sequential`: all "
        "looks together, at a chance of false alarm that holds however often one looks.",
        Judgement.EACH,
    )
    significance: float = options.option(
        "Accepted chance that a healthy release is condemned by this metric, on any of its "
        "clusters. The metrics of a stage that do not say share the default.",
        0.05,
        above=0,
        most=0.5,
    )
    failure_limit: int = options.option(
        "Fails when more looks than this failed (not with `sequential`).", 0, least=0
    )
    failure_count: FailureCount = options.option(
        "`cumulative`: failed looks are counted over the whole analysis; "
        "`consecutive`: a good one begins again at zero.",
        FailureCount.CUMULATIVE,
    )
    count: int | None = options.option(
        "So many looks, after the warm-up, and the metric is done before `duration` is over. "
        "Default: as many as there is time for.",
        None,
        least=1,
    )
    inconclusive_limit: int | None = options.option(
        "Fails when more looks than this were inconclusive: there were data, and they said neither "
        "(not with `sequential`). Up to so many are allowed, the last one too. Default: any "
        "number, and at the end something that can be judged is waited for, as with `noData`.",
        None,
        least=0,
    )
    consecutive_error_limit: int | None = options.option(
        "Fails when more looks than this in a row were not answered, or not readably. Default: any "
        "number; `noData` says what it means that nothing can be judged.",
        None,
        least=0,
    )
    no_data: NoData = options.option("When there is nothing to judge.", NoData.HOLD)
    #: Before a comparison or a sequential rule may pass; of rates: looks; with `EACH` that many
    #: per look.
    minimum_samples: int = options.option(
        "Points (proportions: requests) that each side must have to be judged.",
        1,
        least=1,
        key="minSamples",
    )
    median_per_look: bool = options.option(
        "Compare only the middle value of each look: for queries whose points overlap "
        "in time, as `rate(…[5m])` every minute, which are not independent of each other.",
        False,
    )
    warm_up: timedelta = options.option(
        "Looks whose interval begins this early are shown and not judged.", timedelta(0)
    )
    delay: timedelta = options.option(
        "For systems whose data come late: each look asks about the interval that ended so long "
        "before it, and the first look that is judged comes as much later. At most 1h.",
        timedelta(0),
    )
    dry_run: bool = options.option("Measured and shown, decides nothing.", False)
    decider: Decider = options.option(
        "`perCluster`: each cluster goes by its own verdict. `pooled`: all go by the "
        "one over all clusters. `both`: by that one, and a cluster that is bad by itself fails.",
        Decider.PER_CLUSTER,
        key="scope",
    )
    #: `expected` is then its lowest bound.
    slo: Slo | None = options.option(
        "A service level objective instead of `expected`, for `kind: proportion` (which it "
        "implies) and `judgement: sequential` (likewise): `query` counts bad events among those "
        "of `totalQuery`, and the release fails when it burns the error budget too fast.",
        None,
    )
    #: `expected` is then made of what was measured of it.
    history: History | None = options.option(
        "Instead of `expected`: the same query is asked about primary at the same hour of earlier "
        "weeks, and what was usual then may not be exceeded by more than a tolerance. Nothing "
        "known of them is no data.",
        None,
    )
    critical: bool = options.option(
        "With `scoreThresholds`: when this one fails, the release does, whatever the score is.",
        False,
    )
    group: str = options.option(
        "With `scoreThresholds`: metrics of one group share its weight. Default: `name`, so that "
        "each is a group of its own.",
        "",
    )
    weight: float = options.option(
        "With `scoreThresholds`: its part of the group's weight, beside those of the group's "
        "other metrics.",
        1.0,
        above=0,
    )
    #: Name of a query that Volary brings along, for the application's router, or of a `PodMetric`;
    #: `query` is empty.
    built_in: str = ""
    #: A look at which the other side is nearly as bad says nothing: of what is judged unasked,
    #: against `expected`.
    spares_alike: bool = False
    #: Arguments of the query for every variant (PipeCD: ``appArgs``, ``appCustomArgs``).
    arguments: Mapping[str, str] = field(default_factory=dict)
    canary_arguments: Mapping[str, str] = options.option(
        "`{{ .VariantCustomArgs.x }}` for canary.", {}, key="canaryArgs"
    )
    baseline_arguments: Mapping[str, str] = options.option("For baseline.", {}, key="baselineArgs")
    primary_arguments: Mapping[str, str] = options.option("For primary.", {}, key="primaryArgs")

    @property
    def unjudged(self) -> timedelta:
        """How long before its first judged interval is looked at: what came before is no part."""
        return self.warm_up + self.delay

    @property
    def length(self) -> timedelta | None:
        """How long its looks take when there are so many and no more."""
        if self.count is None:
            return None
        # Looks are whole intervals after the beginning.
        unjudged = math.ceil(self.unjudged / self.interval)
        return (unjudged + self.count) * self.interval

    @property
    def is_directed(self) -> bool:
        """Whether it counts in which direction something differs."""
        return self.strategy.compares or self.history is not None

    @property
    def has_conditions(self) -> bool:
        """Whether expressions say what the answers have to be, and no range."""
        return bool(self.success_condition or self.failure_condition)

    @property
    def is_of_pods(self) -> bool:
        """Whether the cluster itself is asked, and no provider."""
        return self.built_in in tuple(PodMetric)

    @property
    def is_of_usage(self) -> bool:
        """Whether the metrics API is asked: what pods use."""
        return self.is_of_pods and not PodMetric(self.built_in).is_count

    @property
    def is_of_cluster(self) -> bool:
        """Whether no provider is asked: the cluster tells it, or a Job there."""
        return self.is_of_pods or self.job is not None

    @property
    def allowed_ratio(self) -> float:
        """How many times the other side's value is still not worse; 1: the same is."""
        if self.ratio_limit is not None:
            return self.ratio_limit
        ratio = 1 + self.minimum_effect
        return 1 / ratio if self.deviation is Deviation.LOW else ratio

    @property
    def goes_by_chance(self) -> bool:
        """Whether a healthy release may be condemned by chance, which `significance` limits."""
        if self.judgement is Judgement.SEQUENTIAL:
            return self.can_be_sequential
        is_test = self.kind is not Kind.VALUE or self.ratio_limit is None
        return self.strategy.compares and is_test

    @property
    def can_be_sequential(self) -> bool:
        """Whether all looks can be judged together: not a quantity against a range."""
        return self.strategy.compares or self.kind is not Kind.VALUE


#: What the verdict on the score of an analysis is called, where metrics have their names.
SCORE = "score"


@dataclass(frozen=True, slots=True)
class ScoreThresholds:
    """Bounds of the score, of 100 (Kayenta's names)."""

    least: Annotated[
        float, options.Option("The least score that passes.", above=0, most=100, key="pass")
    ]
    marginal: float | None = options.option(
        "Below it the release fails at once. From there up to `pass` it is measured until the "
        "end, so that all that is wrong is known, and fails then. Default: as `pass`.",
        None,
        least=0,
        most=100,
    )

    @property
    def lowest(self) -> float:
        """Below it nothing is waited for."""
        return self.least if self.marginal is None else self.marginal


@dataclass(frozen=True, slots=True)
class ScorePart:
    """What a group of metrics adds to a score, in points."""

    group: str
    #: What is still to be reached.
    points: float
    #: The most that it can add.
    worth: float


@dataclass(frozen=True, slots=True)
class Score:
    """What a score is made of, and held to."""

    thresholds: ScoreThresholds
    parts: tuple[ScorePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the verdicts of several metrics become one."""

    thresholds: ScoreThresholds
    #: By group, of 100; empty: all groups weigh the same.
    group_weights: Mapping[str, float] = field(default_factory=dict)

    def points(self, rules: Iterable[Rule]) -> dict[str, dict[str, float]]:
        """Return what each of these metrics is worth, by group and name; 100 together.

        A metric that names no group is one by its own name.
        """
        groups: dict[str, list[Rule]] = {}
        for rule in rules:
            if not rule.weight:
                # Worth nothing, as it is critical anyway.
                continue
            groups.setdefault(rule.group or rule.name, []).append(rule)
        weights = {name: self.group_weights.get(name, 0.0) for name in groups}
        if not self.group_weights:
            weights = dict.fromkeys(groups, 1.0)
        every = math.fsum(weights.values())
        return {
            name: {
                rule.name: 100 * weights[name] / every * rule.weight / _weight(members)
                for rule in members
            }
            for name, members in groups.items()
            if weights[name]
        }


def _weight(rules: Iterable[Rule]) -> float:
    return math.fsum(rule.weight for rule in rules)


@dataclass(frozen=True, slots=True)
class ExpectedTraffic:
    """What an application is said to get, so that its rules can be tried before they judge."""

    rate: Annotated[
        float,
        options.Option(
            "Requests a second on each cluster, before they are divided between variants.", above=0
        ),
    ]
    errors: float = options.option("Share of them that fails anyway.", 0.01, least=0, most=1)


@dataclass(frozen=True, slots=True)
class HttpCheck:
    """A request whose status is judged (PipeCD: ``https``)."""

    #: How it is judged: its measurements are statuses, `expected` is the one wanted.
    rule: Rule
    url: str
    method: str = "GET"
    #: In the order they are sent; a name may come twice.
    headers: tuple[tuple[str, str], ...] = ()


def false_alarms(rule: Rule, duration: timedelta) -> float:
    """Return how many healthy releases at most are condemned by chance, as a share.

    Only comparisons have such a chance. Look by look it grows with the number of looks, each
    of which may raise a false alarm; judged together it stays at `Rule.significance`.
    """
    if not rule.goes_by_chance:
        return 0.0
    if rule.judgement is Judgement.SEQUENTIAL:
        return rule.significance
    looks = max(0, math.floor((duration - rule.unjudged) / rule.interval))
    looks = looks if rule.count is None else min(looks, rule.count)
    if rule.failure_count is FailureCount.CONSECUTIVE:
        row = rule.significance ** (rule.failure_limit + 1)
        return 1 - (1 - row) ** max(0, looks - rule.failure_limit)
    allowed = range(min(rule.failure_limit, looks) + 1)
    passing = (
        math.comb(looks, failed)
        * rule.significance**failed
        * (1 - rule.significance) ** (looks - failed)
        for failed in allowed
    )
    return max(0.0, 1 - math.fsum(passing))


class Reading(StrEnum):
    """How a query went."""

    VALUES = "values"
    #: It was answered, with nothing in it.
    NO_DATA = "noData"
    #: It was not answered, or with something that cannot be read.
    ERROR = "error"


class Role(StrEnum):
    """Which side of a comparison a measurement belongs to."""

    #: The new version; the only side of `Strategy.THRESHOLD`.
    JUDGED = "judged"
    #: Baseline, primary, or what ran before.
    REFERENCE = "reference"
    #: A third side, primary, that canary and baseline are both held against.
    CONTROL = "control"
    #: None of them: the same query of an earlier week, once.
    HISTORY = "history"
    #: None of them: what was counted over an SLO's window before the analysis, once.
    BUDGET = "budget"
    #: None of them: the bounds of the histogram's bucket that the other side's quantile falls
    #: into, once: the lower and the upper one.
    BUCKET = "bucket"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One query at one moment, with its answer."""

    metric: str
    #: As it was sent.
    query: str
    #: Of the look, in UTC: both sides of a comparison bear the same, also when the query asked
    #: about another time.
    time: datetime
    #: The cluster; empty where a metric is not about one.
    target: str = ""
    #: As shown to people: canary, baseline, primary, previous.
    variant: str = "canary"
    role: Role = Role.JUDGED
    #: All points of all series, in the order they were sent; NaN and infinities are kept.
    values: tuple[float, ...] = ()
    #: For proportions: what `total_query` counted, one for each of `values`.
    totals: tuple[float, ...] = ()
    reading: Reading = Reading.VALUES
    #: Why there are no values, in words; beside values: what else is to be said of them.
    message: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Everything measured for one rule on one cluster."""

    #: When the analysis began.
    started: datetime
    #: When it has seen enough: a verdict from here on may be a final pass.
    ends: datetime
    #: How long `NoData.HOLD` may wait; not before `ends`.
    deadline: datetime
    target: str = ""
    #: In the order of time.
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a verdict rests on; None where a number does not apply."""

    #: Points (of a proportion: requests; of a rate: events) that were judged.
    samples: int = 0
    reference_samples: int = 0
    #: The median of the values, the proportion, or the rate per second.
    value: float | None = None
    reference: float | None = None
    #: Effect size. By rank: the chance that a value of the new version exceeds one of the
    #: other side (0.5: alike). Of proportions and rates: how many times the other side's.
    effect: float | None = None
    #: Its interval of 95 %.
    effect_low: float | None = None
    effect_high: float | None = None
    #: Of a sequential rule it is valid after any number of looks.
    p_value: float | None = None
    #: Of a pass: the least bad level (as `value`; by rank: as `effect`) that would have been
    #: found in 80 % of the releases that have it.
    detectable: float | None = None
    #: Looks that were judged, and how they went.
    looks: int = 0
    failed_looks: int = 0
    empty_looks: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One look at one rule on one cluster, judged by itself."""

    result: Result
    #: Why, in one sentence without a full stop.
    sentence: str
    time: datetime
    #: There was nothing to judge: `Rule.no_data` says what follows.
    is_empty: bool = False
    #: Whoever was asked did not answer, or not readably.
    is_error: bool = False
    numbers: Numbers = Numbers()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says about a release so far."""

    result: Result
    #: Why, in one sentence without a full stop; names the metric and the cluster.
    sentence: str
    metric: str
    #: The cluster; empty: all of them together.
    target: str = ""
    numbers: Numbers = Numbers()
    #: Nothing that is still to be measured changes it.
    is_final: bool = False
    #: It is shown and decides nothing.
    dry_run: bool = False
    #: It failed because of what was measured, not because there was too little.
    is_condemned: bool = False
    #: Clusters that differ from the others more than chance explains.
    outliers: tuple[str, ...] = ()
    #: Of the verdict on several metrics, whose score is the value of `numbers`; None: it is on one.
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class FleetVerdict:
    """One rule over all clusters of a release."""

    #: By target: what each cluster has to go by, after the rule's `decider`.
    decided: Mapping[str, Verdict]
    #: By target: what its own data say.
    own: Mapping[str, Verdict]
    pooled: Verdict
