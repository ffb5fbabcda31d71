"""Reads what is to be measured and judged, and refuses what could never say anything.

An analysis that would pass in silence, as PipeCD lets it (an interval longer than the
analysis, a threshold without bounds), is an error in both dialects.
"""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Generic, TypeVar
from urllib import parse

from volary.config.decoding import base_sections, readings
from volary.config.stages import (
    condition_rules,
    history_rules,
    http_queries,
    job_rules,
    look_limits,
    metric_sections,
    pod_rules,
    query_placeholders,
    score_rules,
    slo_rules,
)
from volary.config.text import yaml
from volary.model import analysis
from volary.model.pipeline.stage_kinds import waiting_stages

#: Queries that Volary brings along, with what is worse; the last one counts failed requests
#: among all.
COUNTED = "request-errors"
_DURATION = "request-duration"
BUILT_IN = {
    "request-success-rate": analysis.Deviation.LOW,
    _DURATION: analysis.Deviation.HIGH,
    COUNTED: analysis.Deviation.HIGH,
    **dict.fromkeys((metric.value for metric in analysis.PodMetric), analysis.Deviation.HIGH),
}

_QUANTILE = "histogram_quantile("

#: Between two looks.
SHORTEST = timedelta(seconds=1)
_LONGEST_QUERY = timedelta(minutes=5)
_LONGEST_DELAY = timedelta(hours=1)
_ADDRESS = re.compile(r"https?://[^\s/?#@]+([/?#]\S*)?")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METRICS, _HTTPS, _TRAFFIC = "metrics", "https", "expectedTraffic"
_LITERAL = analysis.Strategy.THRESHOLD
_WITH_PRIMARY = (
    analysis.Strategy.CANARY_PRIMARY,
    analysis.Strategy.CANARY_BASELINE_PRIMARY,
)
#: Share of healthy releases above which a rule is worth a warning.
_MANY_FALSE_ALARMS = 0.2

Entry = TypeVar("Entry", metric_sections.Metric, metric_sections.HttpCheck)


@dataclass(frozen=True, slots=True)
class _Place(Generic[Entry]):
    """An entry, and where it is written: at its place in the stage, or in the template."""

    entry: Entry
    reading: readings.Reading
    path: yaml.Path
    #: What it is called when it does not say.
    name: str


def convert(
    reading: readings.Reading, read: metric_sections.Analysis, path: yaml.Path
) -> waiting_stages.AnalysisOptions:
    """Return the options of ``ANALYSIS``; what is wrong with them is noted."""
    is_scored = read.score_thresholds is not None
    options = convert_stage_analysis(reading, read, path, is_scored=is_scored)
    measured = (*options.metrics, *(http_check.rule for http_check in options.http))
    length = look_limits.duration(reading, read, measured, path)
    options = replace(
        options,
        duration=length,
        hold_for=read.hold_for,
        pods=pod_rules.convert(reading, read, [rule.name for rule in measured], length, path),
        scoring=score_rules.convert(reading, read, measured, path),
        expected_traffic=read.expected_traffic,
    )
    if read.expected_traffic is not None:
        reading.refuse_in_pipecd((*path, _TRAFFIC), _TRAFFIC)
    if read.duration is not None:
        check_unit(reading, read.duration, (*path, "duration"))
    for rule in measured:
        first = rule.unjudged + rule.interval
        if rule.count is None and timedelta(0) < options.duration < first:
            after = query_placeholders.interval_text(first)
            message = f"{rule.name} is never judged: its first look is after {after}"
            reading.error((*path, "duration"), message)
    for i, rule in enumerate(options.metrics):
        _check_false_alarms(reading, rule, options.duration, (*path, _METRICS, i))
    return options


def _check_false_alarms(
    reading: readings.Reading, rule: analysis.Rule, duration: timedelta, path: yaml.Path
) -> None:
    """Warn where looking again and again condemns healthy releases."""
    share = analysis.false_alarms(rule, duration)
    if share > _MANY_FALSE_ALARMS and not rule.dry_run:
        message = (
            f"{rule.name}: up to {100 * share:.0f} % of healthy releases fail by chance, as each "
            f"look may be wrong in {100 * rule.significance:g} %"
        )
        reading.warn(
            path, message, "judgement: sequential keeps that chance for all looks together"
        )


def convert_stage_analysis(
    reading: readings.Reading,
    read: metric_sections.StageAnalysis,
    path: yaml.Path,
    *,
    is_scored: bool = False,
) -> waiting_stages.AnalysisOptions:
    """Return what is measured beside another stage; what is wrong with it is noted."""
    if read.logs:
        hint = "remove it, or ask the system that keeps the logs by a metric or a request"
        reading.error((*path, "logs"), "no provider of logs is carried out", hint)
    elif not read.metrics and not read.https:
        reading.error(path, "nothing is measured", "add metrics or https")
    return waiting_stages.AnalysisOptions(
        duration=timedelta(0),
        metrics=rules(reading, read.metrics, (*path, _METRICS), is_scored=is_scored),
        http=http_checks(reading, read.https, (*path, _HTTPS), is_scored=is_scored),
    )


def rules(
    reading: readings.Reading,
    read: Sequence[metric_sections.Metric],
    path: yaml.Path,
    *,
    interval: timedelta | None = None,
    is_scored: bool = False,
) -> tuple[analysis.Rule, ...]:
    """Return the rules of the metrics at `path`; what is wrong with them is noted.

    Args:
        reading: The file.
        read: The metrics.
        path: Of their list.
        interval: Of metrics that name none; None: each has to.
        is_scored: Their verdicts make up a score.
    """
    metric_rules: list[analysis.Rule] = []
    sharing: set[str] = set()
    for i, metric in enumerate(read):
        place = _place(reading, metric_sections.Metric, metric, _METRICS, (*path, i))
        if place is None:
            continue
        arguments = dict(reading.arguments) | (metric.template.app_args if metric.template else {})
        rule = replace(_rule(place, interval), arguments=arguments)
        _check_name(reading, rule.name, (other.name for other in metric_rules), (*path, i))
        score_rules.check_fields(place.reading, place.path, is_scored=is_scored)
        look_limits.check_fields(place.reading, rule, place.path)
        if rule.strategy is analysis.Strategy.NOT_UPDATED and path[:2] != ("spec", "waves"):
            message = "NOT_UPDATED is for the gate of a wave"
            reading.error((*path, i, "strategy"), message, "write it into the wave's gate.analysis")
        wrong = (*query_placeholders.of_rule(rule), *http_queries.unsendable_fields(rule))
        for name, finding in wrong:
            place.reading.error((*place.path, name), finding.message, finding.hint)
        metric_rules.append(rule)
        if not reading.is_pipecd and "significance" not in place.entry.model_fields_set:
            sharing.add(rule.name)
    return _shared(metric_rules, sharing)


def _shared(
    metric_rules: Sequence[analysis.Rule], names: Container[str]
) -> tuple[analysis.Rule, ...]:
    """Let the rules of those names share the accepted chance of a false alarm.

    Those that go by no chance, or decide nothing, need none of it.
    """
    sharing = [
        rule
        for rule in metric_rules
        if rule.name in names and rule.goes_by_chance and not rule.dry_run
    ]
    return tuple(
        replace(rule, significance=rule.significance / len(sharing)) if rule in sharing else rule
        for rule in metric_rules
    )


def http_checks(
    reading: readings.Reading,
    read: Sequence[metric_sections.HttpCheck],
    path: yaml.Path,
    *,
    is_scored: bool,
) -> tuple[analysis.HttpCheck, ...]:
    """Return the requests at `path`; what is wrong with them is noted."""
    checks: list[analysis.HttpCheck] = []
    for i, http_check in enumerate(read):
        place = _place(reading, metric_sections.HttpCheck, http_check, _HTTPS, (*path, i))
        if place is None:
            continue
        if http_check.template is not None and http_check.template.app_args:
            message = "a request has no placeholders: appArgs have no effect"
            reading.lenient((*path, i, "template", "appArgs"), message, "remove them")
        made = _http(place)
        score_rules.check_fields(place.reading, place.path, is_scored=is_scored)
        look_limits.check_fields(place.reading, made.rule, place.path)
        _check_name(reading, made.rule.name, (other.rule.name for other in checks), (*path, i))
        checks.append(made)
    return tuple(checks)


def _place(
    reading: readings.Reading, kind: type[Entry], read: Entry, section: str, path: yaml.Path
) -> _Place[Entry] | None:
    """Return the entry that counts; None when it cannot be read, which is noted."""
    if read.template is None:
        return _Place(read, reading, path, f"{section}-{path[-1]}")
    name, at = read.template.name, (*path, "template", "name")
    shared = reading.templates
    reading.problems += [problem for problem in shared.problems if problem not in reading.problems]
    document = shared.document
    if document is None or (section, name) not in shared.entries:
        known = sorted(word for where, word in shared.entries if where == section)
        there = "an AnalysisTemplate in the directory .pipe of the repository would have it"
        hint = readings.did_you_mean(name, known) if known else there
        message = f"analysis template {name} not found despite template specified"
        reading.error(at, message, hint)
        return None
    fields = type(read).model_fields
    ignored = sorted(fields[name].alias or name for name in read.model_fields_set - {"template"})
    if ignored:
        message = f"{', '.join(ignored)} beside a template has no effect"
        reading.lenient(path, message, "write it into the template")
    source = readings.Reading(document, shared.dialect, reading.problems)
    template_path: yaml.Path = ("spec", section, name)
    entry = source.read(kind, source.written(template_path), template_path)
    if entry is not None and entry.template is not None:
        source.error((*template_path, "template"), "a template cannot name another one")
        return None
    return None if entry is None else _Place(entry, source, template_path, name)


def _rule(place: _Place[metric_sections.Metric], interval: timedelta | None) -> analysis.Rule:
    place = replace(place, entry=job_rules.filled(place.reading, place.entry, place.path))
    read, reading, path = place.entry, place.reading, place.path
    name = read.name or place.name
    rule = base_sections.value_of(
        analysis.Rule,
        read,
        name=name,
        interval=read.interval or interval or timedelta(minutes=1),
        expected=read.expected and analysis.Range(read.expected.min, read.expected.max),
        deviation=_deviation(read) or analysis.Deviation.EITHER,
        ratio_limit=read.max if read.max is not None else read.min,
        no_data=_no_data(place, analysis.NoData.HOLD),
        slo=None,
        history=None,
    )
    rule = slo_rules.with_slo(reading, read, _taken_together(reading, read, rule, path), path)
    rule = history_rules.with_history(reading, read, rule, path)
    is_built_in = not rule.query and name in BUILT_IN
    if not rule.query and not is_built_in:
        hint = f"or write a name that is built in: {', '.join(BUILT_IN)}"
        reading.error((*path, "query"), 'missing "query" field', hint)
    _check_times(place, given=interval)
    _check_comparison(reading, read, rule, path)
    built_in = name if is_built_in else ""
    rule = replace(rule, kind=_kind(reading, read, rule, built_in, path), built_in=built_in)
    condition_rules.check(reading, read, rule, path)
    history_rules.check_queries(reading, rule, path)
    _check_values(reading, rule, path)
    _check_pods(reading, rule, path)
    if rule.delay > _LONGEST_DELAY:
        reading.error((*path, "delay"), "must be at most 1h")
    return _with_direction(reading, read, rule, path)


def _taken_together(
    reading: readings.Reading, read: metric_sections.Metric, rule: analysis.Rule, path: yaml.Path
) -> analysis.Rule:
    """Return a rule with three sides, whose looks are judged together; what else it says is noted.

    One look of three sides would say nothing more often than not.
    """
    name = rule.strategy.value
    if not rule.strategy.has_control or reading.refuse_in_pipecd((*path, "strategy"), name):
        return rule
    if "judgement" in read.model_fields_set and rule.judgement is analysis.Judgement.EACH:
        reading.error((*path, "judgement"), f"{name} implies sequential", "remove it")
    return replace(rule, judgement=analysis.Judgement.SEQUENTIAL)


def _check_values(reading: readings.Reading, rule: analysis.Rule, path: yaml.Path) -> None:
    """Warn of comparisons of values that healthy releases fail."""
    if rule.strategy is _LITERAL or rule.kind is not analysis.Kind.VALUE or rule.dry_run:
        return
    if rule.ratio_limit is not None and not rule.goes_by_chance:
        message = f"{rule.name}: look by look max and min are plain thresholds, and values scatter"
        hint = "judgement: sequential asks for a difference; volary analysis plan says how often"
        reading.warn(path, message, hint)
    is_quantile = rule.built_in == _DURATION or _QUANTILE in rule.query
    if is_quantile and rule.strategy in _WITH_PRIMARY:
        message = f"{rule.name}: the quantile of few requests is another one than that of many"
        hint = "CANARY_BASELINE compares as many; or count slow requests, kind: proportion"
        reading.warn(path, message, hint)


def _check_pods(reading: readings.Reading, rule: analysis.Rule, path: yaml.Path) -> None:
    """Note what cannot be asked of a cluster about its pods."""
    if not rule.is_of_pods:
        return
    if rule.provider:
        message = f"the cluster itself is asked for {rule.name}"
        reading.error((*path, "provider"), message, "remove it")
    if rule.delay:
        message = f"a cluster tells {rule.name} as it is now"
        reading.error((*path, "delay"), message, "remove it")
    if rule.strategy is _LITERAL:
        return
    if rule.strategy not in (analysis.Strategy.CANARY_BASELINE, *_WITH_PRIMARY):
        message = f"a cluster tells {rule.name} of its own pods, as they are now"
        reading.error((*path, "strategy"), message, "write THRESHOLD or CANARY_BASELINE")
    elif rule.strategy in _WITH_PRIMARY and analysis.PodMetric(rule.built_in).is_count:
        message = f"{rule.name} counts since a pod began, and primary's pods are older"
        reading.error((*path, "strategy"), message, "write THRESHOLD or CANARY_BASELINE")


def _with_direction(
    reading: readings.Reading, read: metric_sections.Metric, rule: analysis.Rule, path: yaml.Path
) -> analysis.Rule:
    """Return a comparison with the difference that counts; what it does not say is noted.

    What PipeCD has keeps PipeCD's meaning in its files: any difference, however small.
    """
    if not rule.is_directed:
        return rule
    default = BUILT_IN.get(rule.built_in)
    if rule.kind is analysis.Kind.PROPORTION:
        default = analysis.Deviation.HIGH
    if default is not None:
        return rule if _deviation(read) else replace(rule, deviation=default)
    is_said = _deviation(read) is not None
    if not reading.is_pipecd:
        if not is_said:
            hint = "write deviation: HIGH (errors, latency), LOW (success rate) or EITHER"
            reading.error((*path, "deviation"), "which difference is bad?", hint)
        return rule
    if reading.written((*path, "minEffect")) is not None or rule.ratio_limit is not None:
        return rule
    better = "" if is_said else ", for the better too"
    reading.warn(
        path,
        f"{rule.name}: any difference fails the release, however small{better}",
        "minEffect: 0.05 with deviation: HIGH (latency) or LOW (throughput) asks for what matters",
    )
    return replace(rule, minimum_effect=0.0)


def _http(place: _Place[metric_sections.HttpCheck]) -> analysis.HttpCheck:
    read, reading, path = place.entry, place.reading, place.path
    if not read.url:
        reading.error((*path, "url"), "is required")
    elif "@" in read.url.partition("://")[2].partition("/")[0]:
        hint = "write it to headers, or let what is asked need none"
        reading.error((*path, "url"), "must not contain a user or password", hint)
    elif not _ADDRESS.fullmatch(read.url) or not _has_host(read.url):
        reading.error((*path, "url"), "must be an address with https:// or http://")
    for i, header in enumerate(read.headers):
        is_bad = not _HEADER.fullmatch(header.key) or any(
            ord(character) < ord(" ") for character in header.value
        )
        if is_bad:
            reading.error((*path, "headers", i), "is not a header of a request")
    _check_times(place, given=None)
    code = float(read.expected_code)
    rule = base_sections.value_of(
        analysis.Rule,
        read,
        name=read.name or place.name,
        query=f"{read.method} {read.url}",
        interval=read.interval or timedelta(minutes=1),
        expected=analysis.Range(code, code),
        no_data=_no_data(place, analysis.NoData.FAIL),
    )
    headers = tuple((header.key, header.value) for header in read.headers)
    return analysis.HttpCheck(rule, read.url, read.method, headers)


def _has_host(url: str) -> bool:
    try:
        return bool(parse.urlsplit(url).hostname)
    except ValueError:
        return False


def _no_data(place: _Place[Entry], otherwise: analysis.NoData) -> analysis.NoData:
    """Return the policy; PipeCD's word is read too, and its danger is named."""
    read, reading = place.entry, place.reading
    path: yaml.Path = (*place.path, "skipOnNoData")
    written = reading.written(path)
    if read.no_data is not None:
        if written is not None:
            reading.error(path, "skipOnNoData and noData are both given", "keep noData")
        return read.no_data
    if written is True:
        message = "skipOnNoData: a release whose metrics are silent passes"
        reading.warn(path, message, "noData: hold waits for data and fails without")
        return analysis.NoData.PASS
    return analysis.NoData.FAIL if written is False else otherwise


def _deviation(read: metric_sections.Metric) -> analysis.Deviation | None:
    """Return which difference is said to be bad; None: it is not said."""
    if read.max is not None:
        return analysis.Deviation.HIGH
    return analysis.Deviation.LOW if read.min is not None else read.deviation


def _check_times(place: _Place[Entry], *, given: timedelta | None) -> None:
    read, reading = place.entry, place.reading
    path: yaml.Path = place.path
    if read.interval is None:
        if given is None:
            reading.error((*path, "interval"), 'missing "interval" field')
    else:
        check_unit(reading, read.interval, (*path, "interval"), least=SHORTEST)
    check_unit(reading, read.timeout, (*path, "timeout"))
    is_job = getattr(read, "job", None) is not None
    if read.timeout > (job_rules.LONGEST if is_job else _LONGEST_QUERY):
        reading.error((*path, "timeout"), f"must be at most {'1h' if is_job else '5m'}")


def check_unit(
    reading: readings.Reading,
    read: timedelta,
    path: yaml.Path,
    *,
    least: timedelta = timedelta(0),
) -> None:
    """Note a duration of nothing, and numbers, which are nanoseconds in PipeCD."""
    written = reading.written(path)
    if isinstance(written, int | float) and written:
        reading.error(path, f"{written} means {written} nanoseconds", f"write a unit: {written}s")
    elif read <= timedelta(0):
        reading.error(path, "must be more than 0")
    elif read < least:
        reading.error(path, f"must be at least {query_placeholders.interval_text(least)}")


def _check_comparison(
    reading: readings.Reading, read: metric_sections.Metric, rule: analysis.Rule, path: yaml.Path
) -> None:
    bounds = read.expected
    if rule.strategy is _LITERAL:
        is_said = read.slo is not None or read.history is not None or rule.has_conditions
        if not is_said and (bounds is None or (bounds.min is None and bounds.max is None)):
            message = '"expected" is required to analyze with the THRESHOLD strategy'
            reading.error((*path, "expected"), message, "write expected: {max: …} or {min: …}")
        for name in ("max", "min"):
            if getattr(read, name) is not None:
                hint = f"write expected: {{{name}: …}}, or a strategy that compares"
                reading.error((*path, name), "THRESHOLD compares nothing", hint)
    elif bounds is not None:
        message = f"expected has no effect with {rule.strategy.value}"
        reading.lenient((*path, "expected"), message, then="it is ignored")
    if bounds and bounds.min is not None and bounds.max is not None and bounds.min > bounds.max:
        reading.error((*path, "expected"), "min is greater than max: no value is good")
    if read.max is not None and read.min is not None:
        reading.error((*path, "min"), "max and min are both given", "write two metrics")
    elif reading.written((*path, "deviation")) and _deviation(read) is not read.deviation:
        message = f"contradicts {'max' if read.max is not None else 'min'}"
        reading.error((*path, "deviation"), message, "remove it")
    _check_idle(reading, rule, path)


def _check_idle(reading: readings.Reading, rule: analysis.Rule, path: yaml.Path) -> None:
    """Note options that mean nothing beside the others; PipeCD's files may have them."""
    sequential = rule.judgement is analysis.Judgement.SEQUENTIAL
    is_range = rule.strategy is _LITERAL
    for name, is_idle, why in (
        ("deviation", not rule.is_directed, "THRESHOLD compares nothing"),
        ("minEffect", is_range, "THRESHOLD compares nothing"),
        ("minEffect", rule.ratio_limit is not None, "max and min say what is allowed"),
        ("significance", is_range and not sequential, "THRESHOLD goes by no chance"),
        ("failureLimit", sequential, "a sequential judgement takes all looks together"),
        ("failureCount", sequential, "a sequential judgement takes all looks together"),
    ):
        if is_idle and reading.written((*path, name)) is not None:
            reading.lenient((*path, name), f"{name} has no effect: {why}")


def _kind(
    reading: readings.Reading,
    read: metric_sections.Metric,
    rule: analysis.Rule,
    built_in: str,
    path: yaml.Path,
) -> analysis.Kind:
    """Return what the numbers are; what does not go with it is noted."""
    kind = analysis.Kind.PROPORTION if built_in == COUNTED else rule.kind
    if built_in and kind is not rule.kind and "kind" in read.model_fields_set:
        reading.error((*path, "kind"), f"{built_in} is a proportion", "remove it")
    elif built_in and built_in != COUNTED and kind is not analysis.Kind.VALUE:
        reading.error((*path, "kind"), f"{built_in} is a value", f"remove it, or measure {COUNTED}")
    is_proportion = kind is analysis.Kind.PROPORTION
    if is_proportion and rule.query and not rule.total_query:
        reading.error((*path, "totalQuery"), "is required: what does query count events of?")
    elif rule.total_query and not is_proportion:
        reading.error((*path, "totalQuery"), "is for kind: proportion only")
    sequential = rule.judgement is analysis.Judgement.SEQUENTIAL
    if sequential and rule.strategy is _LITERAL and kind is analysis.Kind.VALUE:
        message = "values against a threshold have no chance of false alarm to keep"
        reading.error((*path, "judgement"), message, "write each, or a strategy that compares")
    is_compared = rule.strategy is not _LITERAL and kind is analysis.Kind.VALUE
    if rule.median_per_look and not is_compared:
        reading.error((*path, "medianPerLook"), "is for values that are compared")
    return kind


def _check_name(
    reading: readings.Reading, name: str, others: Iterable[str], path: yaml.Path
) -> None:
    if name in others:
        reading.error(path, f"two are called {name}", "give one of them another name")
