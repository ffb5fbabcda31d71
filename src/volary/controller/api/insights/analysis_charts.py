"""What analyses measured over time, as series that a chart can draw. Pure.

Of each stage on each cluster the newest attempt counts. A look's number is the middle of its
values, or the share of its total: what judges decide by all values is said by their verdicts.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median

from msgspec import structs

from volary.analysis.verdicts import histories, scores
from volary.controller.api import analysis_representations
from volary.engine.runs import state
from volary.model import analysis, json, phrases, statuses
from volary.stages.judgement import findings
from volary.store import records

#: Samples of all series of an answer, and of one series at least and at most.
_MOST_SAMPLES = 40_000
_LEAST_OF_SERIES, _MOST_OF_SERIES = 20, 400
#: Verdicts of a metric, the newest.
_MOST_VERDICTS = 100
#: Metrics of an answer.
_MOST_METRICS = 200
_POOLED = ""
#: What was usual does not depend on when an analysis was.
_NO_TIME = datetime.min.replace(tzinfo=UTC)
_UNITS = {analysis.Kind.PROPORTION: "ratio", analysis.Kind.RATE: "perSecond"}
#: Of the queries that Volary brings along.
_BUILT_IN_UNITS = {
    "request-duration": "milliseconds",
    "request-success-rate": "percent",
    analysis.PodMetric.CPU.value: "cores",
    analysis.PodMetric.MEMORY.value: "bytes",
    analysis.PodMetric.MEMORY_LIMIT.value: "share of the limit",
}


@dataclass(slots=True)
class _Metric:
    """A metric of a stage, as its findings are read."""

    stage: str
    name: str
    query: str = ""
    samples: dict[tuple[str, str], list[analysis_representations.Sample]] = field(
        default_factory=dict
    )
    verdicts: list[analysis_representations.MetricVerdict] = field(default_factory=list)
    #: By cluster, what was measured of the weeks before: bounds are made of it.
    before: dict[str, list[analysis.Measurement]] = field(default_factory=dict)
    #: Of each cluster the newest verdict's document.
    newest: dict[str, json.JsonObject] = field(default_factory=dict)
    #: By cluster, where it is a score: when it was told, and the verdict's document.
    told: dict[str, list[tuple[datetime, json.JsonObject]]] = field(default_factory=dict)
    #: By cluster, when it was measured.
    looks: dict[str, set[datetime]] = field(default_factory=dict)


def chart(
    run_id: str,
    found: Iterable[records.Finding],
    rules: "Rules | None" = None,
    *,
    omitted: int = 0,
) -> analysis_representations.RunAnalysis:
    """Return what a run measured.

    Args:
        run_id: The run.
        found: Its findings, in the order they were kept.
        rules: What was to be measured; None: nobody knows any more.
        omitted: Findings that were not read because there are too many.
    """
    metrics = _read(found)
    series_count = sum(len(metric.samples) + len(metric.told) for metric in metrics)
    most = _MOST_SAMPLES // max(1, series_count)
    most = min(_MOST_OF_SERIES, max(_LEAST_OF_SERIES, most))
    shown, rules = metrics[:_MOST_METRICS], rules or Rules()
    return analysis_representations.RunAnalysis(
        run_id,
        _sentence(metrics, rules),
        tuple(_metric(metric, rules, most, _looks(metrics, metric.stage)) for metric in shown),
        omitted=omitted,
        metrics_omitted=len(metrics) - len(shown),
    )


# The rules.


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a run's stages, by the stage's id and the metric's name."""

    #: By id, of stages in which nothing more is measured: whether they succeeded.
    ended: dict[str, bool] = field(default_factory=dict)
    by_stage: dict[tuple[str, str], analysis.Rule] = field(default_factory=dict)

    def of(self, stage: str, metric: str) -> analysis.Rule | None:
        """Return the rule of a metric; None: the stage has none of that name."""
        return self.by_stage.get((stage, metric))


def rules_of(run: state.Run) -> Rules:
    """Return the rules of a run's stages, wherever their options have some."""
    stages = (*run.stages, *((run.rollback,) if run.rollback else ()))
    return Rules(
        {
            stage.id: stage.status is statuses.TaskStatus.SUCCEEDED
            for stage in stages
            if stage.is_final
        },
        {(stage.id, rule.name): rule for stage in stages for rule in _rules_in(stage.stage)},
    )


def _rules_in(value: object) -> Iterator[analysis.Rule]:
    if isinstance(value, analysis.Rule):
        yield value
    elif isinstance(value, tuple):
        for element in value:
            yield from _rules_in(element)
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from _rules_in(getattr(value, each.name))


# The findings.


def _read(found: Iterable[records.Finding]) -> list[_Metric]:
    attempts: dict[tuple[str, str], int] = {}
    kept: dict[tuple[str, str], list[records.Finding]] = {}
    for finding in found:
        task = (finding.stage, finding.target)
        if finding.attempt > attempts.get(task, -1):
            attempts[task], kept[task] = finding.attempt, []
        if finding.attempt == attempts[task]:
            kept[task].append(finding)
    metrics: dict[tuple[str, str], _Metric] = {}
    for finding in sorted(
        (finding for of_task in kept.values() for finding in of_task),
        key=lambda finding: (finding.at, finding.position),
    ):
        key = (finding.stage, finding.metric)
        _add(metrics.setdefault(key, _Metric(*key)), finding)
    return [metrics[key] for key in sorted(metrics)]


def _add(metric: _Metric, finding: records.Finding) -> None:
    document = finding.document
    if document.get("role") == analysis.Role.HISTORY:
        values, totals = (tuple(_numbers(document, key)) for key in ("values", "totals"))
        measured = analysis.Measurement(
            metric.name, "", finding.at, role=analysis.Role.HISTORY, values=values, totals=totals
        )
        metric.before.setdefault(finding.target, []).append(measured)
        return
    if document.get("role") in (analysis.Role.BUDGET, analysis.Role.BUCKET):
        # Of another stretch of time, or bounds; the verdicts say what it comes to.
        return
    if finding.kind == findings.MEASUREMENT:
        # What is compared with other clusters is measured there.
        cluster = str(document.get("target") or finding.target)
        side = (cluster, str(document.get("variant", "")))
        metric.query = metric.query or str(document.get("query", ""))
        metric.samples.setdefault(side, []).append(_sample(finding))
        metric.looks.setdefault(finding.target, set()).add(_moment(finding))
    elif finding.kind == findings.VERDICT:
        metric.newest[finding.target] = document
        if _object(document, "score"):
            told = metric.told.setdefault(finding.target, [])
            told.append((_moment(finding), document))
        metric.verdicts.extend(_verdicts(finding))


def _moment(finding: records.Finding) -> datetime:
    """Return the moment of a finding's look, as all that was found at it has it."""
    try:
        return datetime.fromisoformat(str(finding.document.get("time")))
    except ValueError:
        return finding.at


def _sample(finding: records.Finding) -> analysis_representations.Sample:
    values, totals = (_numbers(finding.document, key) for key in ("values", "totals"))
    usable = [value for value in values if math.isfinite(value)]
    counted: float = math.fsum(total for total in totals if math.isfinite(total))
    if totals:
        value = math.fsum(usable) / counted if counted > 0 else None
    else:
        value, counted = (median(usable) if usable else None), float(len(values))
    return analysis_representations.Sample(finding.at, value, counted if values else None)


def _numbers(document: json.JsonObject, key: str) -> list[float]:
    listed = document.get(key)
    if not isinstance(listed, list):
        return []
    return [number for number in map(_number, listed) if number is not None]


def _number(value: object) -> float | None:
    """Read a number; NaN and infinities are texts."""
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None


def _verdicts(finding: records.Finding) -> Iterator[analysis_representations.MetricVerdict]:
    document = finding.document
    yield _verdict(finding.at, finding.target, document)
    # A score is that of its cluster, whichever data its metrics were judged by.
    if (pooled := _object(document, "pooled")) and "score" not in document:
        is_final = document.get("isFinal")
        yield _verdict(finding.at, _POOLED, {**pooled, "isFinal": is_final})


def _verdict(
    at: datetime, cluster: str, document: json.JsonObject
) -> analysis_representations.MetricVerdict:
    result = analysis_representations.result_of(document)
    sentence = str(document.get("sentence", ""))
    numbers = _object(document, "numbers")
    return analysis_representations.MetricVerdict(at, cluster, result, sentence, numbers)


def _object(document: json.JsonObject, key: str) -> json.JsonObject:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


# The answer.


def _metric(
    metric: _Metric, rules: Rules, most: int, looks: Mapping[str, set[datetime]]
) -> analysis_representations.MetricAnalysis:
    rule = rules.of(metric.stage, metric.name)
    series = [
        _series(cluster, variant, samples, most)
        for (cluster, variant), samples in sorted(metric.samples.items())
    ]
    for cluster, told in sorted(metric.told.items()):
        series += _score_series(cluster, told, looks.get(cluster, set()), most)
    return analysis_representations.MetricAnalysis(
        stage=metric.stage,
        metric=metric.name,
        query=metric.query,
        unit="points" if metric.told else _unit(metric.name, rule),
        bounds=_bounds(rule, metric),
        series=tuple(series),
        verdicts=tuple(_newest_verdicts(metric, rules.ended.get(metric.stage))),
        outlier=_outlier(metric),
        strategy=rule.strategy.value if rule else "",
    )


def _looks(metrics: Iterable[_Metric], stage: str) -> dict[str, set[datetime]]:
    """Return when the metrics of a stage were measured, by cluster."""
    looks: dict[str, set[datetime]] = {}
    for metric in metrics:
        if metric.stage == stage:
            for cluster, own in metric.looks.items():
                looks.setdefault(cluster, set()).update(own)
    return looks


def _bounds(rule: analysis.Rule | None, metric: _Metric) -> analysis_representations.Bounds:
    for told in metric.told.values():
        score = _object(told[-1][1], "score")
        return analysis_representations.Bounds(
            _number(score.get("pass")), None, marginal=_number(score.get("marginal"))
        )
    expected = _expected(rule, metric) if rule and not rule.strategy.compares else None
    least, most = (expected.minimum, expected.maximum) if expected else (None, None)
    return analysis_representations.Bounds(least, most, marginal=None)


def _expected(rule: analysis.Rule, metric: _Metric) -> analysis.Range | None:
    """Return the range of a rule; of one with a history that of the clusters' middle."""
    series = [
        analysis.Series(_NO_TIME, _NO_TIME, _NO_TIME, cluster, tuple(measured))
        for cluster, measured in sorted(metric.before.items())
    ]
    return histories.resolved(rule, series).expected


def _unit(name: str, rule: analysis.Rule | None) -> str:
    if rule is None:
        return ""
    if rule.built_in or not rule.query:
        return _BUILT_IN_UNITS.get(rule.built_in or name, _UNITS.get(rule.kind, ""))
    return _UNITS.get(rule.kind, "")


def _series(
    cluster: str,
    variant: str,
    samples: Sequence[analysis_representations.Sample],
    most: int,
    *,
    worth: float | None = None,
) -> analysis_representations.Series:
    kept = thin(samples, most)
    return analysis_representations.Series(
        cluster, variant, kept, thinned=len(samples) - len(kept), worth=worth
    )


def _score_series(
    cluster: str,
    told: Sequence[tuple[datetime, json.JsonObject]],
    looks: Iterable[datetime],
    most: int,
) -> Iterator[analysis_representations.Series]:
    """Yield the score at each look, and what each group of metrics added to it."""
    at_looks = scores.at_looks(told, looks)
    values = [(at, _object(document, "numbers").get("value")) for at, document in at_looks]
    yield _points(cluster, analysis.SCORE, values, scores.WHOLE, most)
    parts = [(at, _parts(document)) for at, document in at_looks]
    worth = {name: part.get("worth") for name, part in _parts(told[-1][1]).items()}
    for group in dict.fromkeys(name for _, by_name in parts for name in by_name):
        points = [(at, by_name.get(group, {}).get("points")) for at, by_name in parts]
        yield _points(cluster, group, points, _number(worth.get(group)) or 0.0, most)


def _parts(document: json.JsonObject) -> dict[str, json.JsonObject]:
    """Return the parts of a score by the names of their groups."""
    listed = _object(document, "score").get("parts")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    return {str(part.get("group", "")): part for part in parts}


def _points(
    cluster: str, name: str, values: Iterable[tuple[datetime, object]], worth: float, most: int
) -> analysis_representations.Series:
    samples = [
        analysis_representations.Sample(at, _number(value), count=None) for at, value in values
    ]
    return _series(cluster, name, samples, most, worth=worth)


def thin(
    samples: Sequence[analysis_representations.Sample], most: int
) -> tuple[analysis_representations.Sample, ...]:
    """Return at most so many samples: of each stretch of time the least and the greatest.

    So no peak gets lost. A stretch without any number keeps one sample, which shows the gap.
    """
    if len(samples) <= most:
        return tuple(samples)
    stretches = max(1, most // 2)
    kept: list[analysis_representations.Sample] = []
    for number in range(stretches):
        begin, end = (len(samples) * place // stretches for place in (number, number + 1))
        known = [place for place in range(begin, end) if samples[place].value is not None]
        if known:
            key = lambda place: samples[place].value or 0.0  # noqa: E731 - used twice, here only
            places = sorted({min(known, key=key), max(known, key=key)})
        else:
            places = [begin]
        kept += [samples[place] for place in places]
    return tuple(kept)


def _newest_verdicts(
    metric: _Metric, has_succeeded: bool | None
) -> list[analysis_representations.MetricVerdict]:
    """Return the newest first; what was said of all clusters at a moment is said once.

    `has_succeeded` is said of the stage; None: it goes on.
    """
    newest_first = sorted(metric.verdicts, key=lambda verdict: verdict.at, reverse=True)
    shown: dict[tuple[object, ...], analysis_representations.MetricVerdict] = {}
    for verdict in newest_first:
        moment = () if verdict.cluster == _POOLED else (verdict.at,)
        shown.setdefault((verdict.cluster, verdict.sentence, *moment), verdict)
    kept = list(shown.values())[:_MOST_VERDICTS]
    if has_succeeded is None:
        return kept
    # Nothing is to come any more. What was broken off before it was decided is no success.
    result = (
        analysis_representations.SUCCESS if has_succeeded else analysis_representations.INCONCLUSIVE
    )
    return [
        structs.replace(verdict, result=result)
        if verdict.result == analysis_representations.RUNNING
        else verdict
        for verdict in kept
    ]


def _outlier(metric: _Metric) -> str:
    """Return the cluster that the newest verdicts name most."""
    named: dict[str, int] = {}
    for document in metric.newest.values():
        outliers = document.get("outliers")
        for name in outliers if isinstance(outliers, list) else ():
            named[str(name)] = named.get(str(name), 0) + 1
    return min(named, key=lambda name: (-named[name], name), default="")


def _sentence(metrics: Sequence[_Metric], rules: Rules) -> str:
    """Say how it went: what failed first, else what is not decided, else how much passed.

    A pass that is not final is none yet: later looks can find what this one did not.
    """
    verdicts = [
        (metric, cluster, document)
        for metric in metrics
        for cluster, document in metric.newest.items()
        # Where there is a score, it is what decides.
        if not document.get("dryRun") and not document.get("isScored")
    ]
    for result, verb in (
        (analysis.Result.FAIL.value, "failed"),
        (analysis.Result.INCONCLUSIVE.value, "not decided"),
    ):
        said = [
            str(document.get("sentence", ""))
            for _, _, document in verdicts
            if document.get("result") == result
        ]
        if said:
            more = f", and {phrases.count(len(said) - 1, 'further verdict')}" if said[1:] else ""
            return f"{verb}: {said[0]}{more}"
    if not verdicts:
        return ""
    names = {(metric.stage, metric.name) for metric, _, _ in verdicts}
    clusters = {cluster for _, cluster, _ in verdicts}
    measured, where = phrases.count(len(names), "metric"), phrases.count(len(clusters), "cluster")
    undecided = [metric for metric, _, document in verdicts if not document.get("isFinal")]
    if not undecided and all(metric.name == analysis.SCORE for metric, _, _ in verdicts):
        more = f", and {phrases.count(len(verdicts) - 1, 'further score')}" if verdicts[1:] else ""
        return f"passed: {verdicts[0][2].get('sentence', '')}{more}"
    if not undecided:
        return f"{measured} passed on {where}"
    if all(metric.stage in rules.ended for metric in undecided):
        # In the background of a stage, or ended early by a person.
        return f"{measured} on {where}: nothing found until the analysis ended"
    return f"not decided: {measured} on {where}, nothing found so far"
