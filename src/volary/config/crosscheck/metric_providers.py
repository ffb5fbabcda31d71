"""The metrics of an application compared with the systems there are to be asked."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from volary.config.application import cluster_strategies
from volary.config.decoding import readings, values
from volary.config.stages import query_placeholders
from volary.config.text import yaml
from volary.model import analysis, applications, errors, metric_providers, phrases
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import traffic_stages, waiting_stages

Finding = tuple[yaml.Path, str, str, errors.Severity]
_ERROR, _WARNING = errors.Severity.ERROR, errors.Severity.WARNING
#: A rate needs two samples in its range; a shorter one often has but one.
_SCRAPES = 2
#: A range of PromQL, or the first part of a subquery's.
_RANGE = re.compile(r"\[\s*(?:\{\{\s*(interval)\s*\}\}|([0-9a-z]+))\s*[:\]]")
_HINT = "list it in analysisProviders of the fleet file or of the controller's settings"


_LONGER = (
    "write a longer interval, such as 1m, or say scrapeInterval in the provider's config when it "
    "looks more often"
)


def findings(
    app: applications.Application, clusters: fleets.Fleet, targets: Sequence[fleets.Cluster]
) -> Iterator[Finding]:
    """Yield every metric that nobody can be asked for, or that is not told for each cluster.

    Without any provider it is a warning: the metrics are inconclusive then, which is not passed
    over either.

    Args:
        app: The application.
        clusters: The fleet, with its providers.
        targets: The clusters that it is deployed to.
    """
    for where, rule in all_rules(app):
        problem = _problem(rule, clusters.providers)
        if problem is not None:
            message, hint, severity = problem
            yield (*where, "provider"), f"{rule.name}: {message}", hint, severity
        for asked in () if rule.is_of_cluster else _providers_of_metric(rule, clusters.providers):
            yield from _mixed_findings(where, rule, asked, [target.name for target in targets])
    yield from provider_findings(app, clusters.providers)


def provider_findings(
    app: applications.Application, providers: Sequence[metric_providers.Provider]
) -> Iterator[Finding]:
    """Yield what the systems that are asked would not, or hardly, answer."""
    for where, rule in all_rules(app):
        for asked in () if rule.is_of_cluster else _providers_of_metric(rule, providers):
            if message := _too_short(rule, asked):
                yield (*where, "interval"), f"{rule.name}: {message}", _LONGER, _WARNING
            yield from _form_findings(where, rule, asked)


def _mixed_findings(
    where: yaml.Path, rule: analysis.Rule, asked: metric_providers.Provider, targets: Sequence[str]
) -> Iterator[Finding]:
    """Yield that clusters are judged by the same numbers, which count once for each of them."""
    addresses = [asked.access.address_of(name) for name in targets]
    together = sum(addresses.count(address) > 1 for address in addresses)
    if not together:
        return
    field, hint = "query", "write {{ cluster }} in the query"
    says_cluster = query_placeholders.says_cluster(f"{rule.query} {rule.total_query}")
    if rule.built_in and isinstance(asked.options, metric_providers.PrometheusOptions):
        field, says_cluster = "name", bool(asked.options.cluster_label)
        hint = "say in the provider's config which label has it: clusterLabel"
    if not says_cluster:
        message = (
            f"{rule.name}: {asked.name} is asked about {phrases.count(together, 'cluster')} in "
            "one place, and not which is meant: each is judged by the numbers of all"
        )
        hint += ", or ${CLUSTER} in the provider's address"
        yield (*where, field), message, hint, _WARNING


def _form_findings(
    where: yaml.Path, rule: analysis.Rule, asked: metric_providers.Provider
) -> Iterator[Finding]:
    from volary.config.stages import query_forms  # all languages of queries: once there is one

    for name, fault in query_forms.faults(rule, asked.options):
        message = f"{rule.name}: {asked.name} is not asked: {fault.message}"
        yield (*where, name), message, fault.hint, _ERROR
    for name, doubt in query_forms.doubts(rule, asked.options):
        yield (*where, name), f"{rule.name}: {doubt.message}", doubt.hint, _WARNING


def _providers_of_metric(
    rule: analysis.Rule, providers: Sequence[metric_providers.Provider]
) -> Sequence[metric_providers.Provider]:
    """Return the system that is asked; nothing where that cannot be said."""
    matching = [one for one in providers if rule.provider in ("", one.name)]
    return matching[:1] if rule.provider or len(providers) == 1 else ()


def all_rules(app: applications.Application) -> Iterator[tuple[yaml.Path, analysis.Rule]]:
    """Yield every metric with where it is written: in stages, and at the end of waves."""
    for stage in app.pipeline:
        for path, rule in _rules(stage):
            yield (*cluster_strategies.where(app, stage), *path), rule
    for place, wave in enumerate(app.waves.waves):
        for number, rule in enumerate(wave.gate.analysis.metrics if wave.gate.analysis else ()):
            at = ("spec", "waves", place, "gate", "analysis", "metrics", number)
            yield at, rule


def _too_short(rule: analysis.Rule, asked: metric_providers.Provider) -> str:
    """Return why a metric may find nothing; empty when it looks back far enough."""
    options = asked.options
    if not isinstance(options, metric_providers.PrometheusOptions):
        return ""
    scrape = options.scrape_interval
    short_ranges = [window for window in _ranges(rule) if window < _SCRAPES * scrape]
    if not short_ranges:
        return ""
    looked, between = (f"{length.total_seconds():g}s" for length in (min(short_ranges), scrape))
    return (
        f"looks back on {looked} and may find nothing: {asked.name} is taken to look at pods every "
        f"{between}, and a rate needs {_SCRAPES} of its looks"
    )


def _ranges(rule: analysis.Rule) -> Iterator[timedelta]:
    """Yield how far the queries of a metric look back; nothing for one that takes what is now."""
    if rule.is_of_cluster:
        return
    if rule.built_in:
        yield rule.interval
        return
    for by_name, written in _RANGE.findall(f"{rule.query} {rule.total_query}"):
        if by_name:
            yield rule.interval
            continue
        try:
            yield values.duration(written)
        except ValueError:
            continue


def _rules(stage: pipelines.Stage) -> Iterator[tuple[yaml.Path, analysis.Rule]]:
    """Yield the metrics of a stage with the path of each."""
    options = stage.options
    lists: dict[yaml.Path, tuple[analysis.Rule, ...]] = {}
    if isinstance(
        options, waiting_stages.AnalysisOptions | traffic_stages.ProgressiveTrafficOptions
    ):
        lists[("with", "metrics")] = options.metrics
    elif isinstance(options, traffic_stages.BlueGreenOptions):
        for name, checks in (
            ("prePromotion", options.pre_promotion),
            ("postPromotion", options.post_promotion),
        ):
            lists[("with", name, "metrics")] = checks.metrics if checks else ()
    if stage.beside is not None:
        lists[("analysis", "metrics")] = stage.beside.metrics
    for path, rules in lists.items():
        yield from (((*path, i), rule) for i, rule in enumerate(rules))


def _problem(
    rule: analysis.Rule, providers: tuple[metric_providers.Provider, ...]
) -> tuple[str, str, errors.Severity] | None:
    if rule.is_of_cluster:
        return None
    if not providers:
        return "there are no analysisProviders to query", _HINT, _WARNING
    names = [provider.name for provider in providers]
    if not rule.provider and len(providers) > 1:
        hint = f"write provider: {' or '.join(names)}"
        return "names no provider, and there are several", hint, _ERROR
    matching = [provider for provider in providers if rule.provider in ("", provider.name)]
    if not matching:
        message = f"there is no provider {rule.provider}"
        return message, readings.did_you_mean(rule.provider, names), _ERROR
    if rule.built_in and matching[0].type is not metric_providers.ProviderType.PROMETHEUS:
        message = (
            f"is built in for Prometheus only, and {matching[0].name} is {matching[0].type.value}"
        )
        return message, "write its query", _ERROR
    return None
