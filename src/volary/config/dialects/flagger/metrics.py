"""Metrics of an analysis: Flagger's built-in ones, templates, and the old inline queries."""

import re
from typing import Any

from volary.config.dialects import drafts
from volary.config.dialects.flagger import schema, source
from volary.config.text import yaml

_SUCCESS_RATE = "request-success-rate"
_BUILT_IN = (_SUCCESS_RATE, "request-duration")
#: What a query looks back on when the metric says nothing (Flagger).
_WINDOW = "1m"
_PROMETHEUS = "prometheus"
_SPLUNK, _SPLUNK_ADDRESS = "splunk", re.compile(r"^(?:https|wss)://(?:api|stream)\.")
#: Flagger's `target` is the Deployment, which is canary there; its `service` leads to primary.
_TARGET, _SERVICE = r"\{\{\s*target\s*\}\}", r"\{\{\s*service\s*\}\}"
_PODS_OF_PRIMARY = re.compile(rf"{_TARGET}-primary-")
_VARIABLE = re.compile(r"\{\{\s*variables\.([A-Za-z0-9_-]+)\s*\}\}")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")


def translate(read: source.Source, step: source.Step) -> None:
    """Write the checks of a stage, and name what has to be in the settings for them."""
    assert read.analysis is not None
    types = [_type(read, metric) for metric in read.analysis.metrics]
    seen: set[str] = set()
    count = 0
    for i, listed_metric in enumerate(read.analysis.metrics):
        at = (*read.analysis_path, "metrics", i)
        name = listed_metric.name
        while name in seen:
            name += "-2"
        seen.add(name)
        made: dict[str, Any] = {"name": name}
        if len(set(types)) > 1:
            made["provider"] = types[i]
        if query := _query(read, listed_metric, at):
            made["query"] = query
        elif listed_metric.name not in _BUILT_IN:
            continue
        made["interval"] = listed_metric.interval or _WINDOW
        made["expected"] = _expected(listed_metric)
        made["noData"] = "fail"
        place = (*step.path, "with", "metrics", count)
        for field, value in made.items():
            read.put((*place, field), value, at)
        read.draft.came_from(place, read.reading.where(at))
        count += 1
    _settings(read, types)


def _expected(metric: schema.Metric) -> dict[str, float]:
    """Return the bounds; without a range the old threshold is one of them."""
    if metric.threshold_range is not None:
        bounds = {"min": metric.threshold_range.min, "max": metric.threshold_range.max}
        return {name: value for name, value in bounds.items() if value is not None}
    return {_bound(metric): metric.threshold or 0.0}


def _bound(metric: schema.Metric) -> str:
    return "min" if metric.name == _SUCCESS_RATE else "max"


def _query(read: source.Source, metric: schema.Metric, at: yaml.Path) -> str:
    """Return the query; empty: a built-in one, or none, which is noted."""
    if metric.query and metric.template_ref is not None:
        message = "query and templateRef are both given, and Flagger asks both"
        read.reading.error((*at, "query"), message, "write a metric for each")
    if metric.threshold_range is not None and metric.threshold is not None:
        message = "has no effect beside thresholdRange, in Flagger neither"
        read.reading.warn((*at, "threshold"), message, "remove it")
    elif metric.threshold_range is None and not metric.threshold and _bound(metric) == "min":
        message = f"{metric.name} has no threshold, so every value passes, in Flagger too"
        read.reading.warn(at, message, "write thresholdRange: {min: 99}")
    if metric.query:
        read.reading.warn((*at, "query"), "Flagger calls this form deprecated", "use templateRef")
        return _adapted(read, metric, metric.query, (*at, "query"))
    if metric.template_ref is None:
        if metric.name not in _BUILT_IN:
            message = f"{metric.name} is no built-in metric and has no template"
            hint = f"write templateRef, or one of {' and '.join(_BUILT_IN)}"
            read.reading.error((*at, "name"), message, hint)
        return ""
    reference = (*at, "templateRef")
    template = read.read_neighbour(schema.MetricTemplate, metric.template_ref)
    if template is None:
        read.reading.error(
            reference,
            f"the MetricTemplate {metric.template_ref.name} is not in the application's directory",
            "put its file beside the Canary; other namespaces are not looked into",
        )
        return ""
    if template.spec.provider.type not in source.PROVIDERS:
        kind = template.spec.provider.type
        hint = f"carried out: {', '.join(source.PROVIDERS)}"
        read.reading.error(reference, f"the provider {kind} is not carried out", hint)
    read.reading.warn(
        reference,
        f"address and credentials of the MetricTemplate {metric.template_ref.name} are not taken",
        "write them to analysisProviders in the fleet file or the controller's settings",
    )
    _add_provider(read, template.spec.provider, reference)
    return _adapted(read, metric, template.spec.query, reference)


def _adapted(read: source.Source, metric: schema.Metric, query: str, at: yaml.Path) -> str:
    """Return the query for our names: the target is primary here, and canary in Flagger."""
    target = read.spec.target_ref.name
    if not read.is_service:
        _warn(read, target, query, at)
    renamed = _renamed(read, query)
    for name in _VARIABLE.findall(renamed):
        if name not in metric.template_variables:
            message = f"the query needs the variable {name}"
            read.reading.error(at, message, "write it to templateVariables")
    return _VARIABLE.sub(lambda part: metric.template_variables.get(part[1], ""), renamed)


def _warn(read: source.Source, target: str, query: str, at: yaml.Path) -> None:
    """Note names that mean other pods here than in Flagger."""
    literal = re.search(rf"(?<![\w-]){re.escape(target)}(?![\w-])", _PLACEHOLDER.sub("", query))
    if literal:
        message = f"the query names {target}, which is canary in Flagger and primary here"
        read.reading.warn(at, message, "write {{ target }} where canary is meant")
    if _PODS_OF_PRIMARY.search(query):
        message = "the query means primary's pods by how their names begin; canary's begin so too"
        read.reading.warn(at, message, f"choose them by the label {source.VARIANT}=primary")


def _renamed(read: source.Source, query: str) -> str:
    """Return the query with our names in place of Flagger's where they mean something else.

    Our `target` is canary's workload with the suffix in it, `primary` is primary's, and our
    `service` is the variant's. Where a Service is the target, its variants are Services of those
    names, as Flagger's are, and our words mean the pods behind them.
    """
    if read.is_service:
        return re.sub(f"{_TARGET}|{_SERVICE}", read.service, query)
    query = re.sub(f"{_TARGET}-primary", "{{ primary }}", query)
    query = re.sub(f"{_TARGET}-canary", "{{ target }}", query)
    return re.sub(_SERVICE, read.service, query)


def _type(read: source.Source, metric: schema.Metric) -> str:
    if metric.query or metric.template_ref is None:
        return _PROMETHEUS
    document = read.find_referenced("MetricTemplate", metric.template_ref)
    spec = document.value.get("spec") if document else None
    provider = spec.get("provider") if isinstance(spec, dict) else None
    return drafts.text(provider, "type") or _PROMETHEUS


def _add_provider(read: source.Source, provider: schema.TemplateProvider, at: yaml.Path) -> None:
    """Put a template's provider into the settings, once for each type."""
    known = read.settings.setdefault("analysisProviders", [])
    assert isinstance(known, list)
    config: dict[str, Any] = {}
    if provider.address:
        config["address"] = _address(provider)
    if provider.headers:
        config["headers"] = {name: ", ".join(texts) for name, texts in provider.headers.items()}
    if provider.region:
        config["region"] = provider.region
    if provider.insecure_skip_verify:
        config["tls"] = {"insecureSkipVerify": True}
    made: dict[str, Any] = {"name": provider.type, "type": provider.type}
    made = {**made, "config": config} if config else made
    same_type = [entry for entry in known if entry["name"] == provider.type]
    if not same_type:
        known.append(made)
    elif made not in same_type:
        message = f"MetricTemplates ask two different providers of the type {provider.type}"
        hint = "write one address for all of them, or a file of ours, where a metric names its own"
        read.reading.error(at, message, hint)


def _address(provider: schema.TemplateProvider) -> str:
    """Return where a provider is asked: of Splunk, Flagger takes the address of its API too."""
    if provider.type != _SPLUNK:
        return provider.address
    return _SPLUNK_ADDRESS.sub("https://stream.", provider.address)


def _settings(read: source.Source, types: list[str]) -> None:
    """Say what has to be in the settings, where the Canary says something about it."""
    named = sorted(set(types))
    hint = "write it to analysisProviders in the fleet file or the controller's settings"
    if read.spec.metrics_server and named:
        message = "the address of Prometheus is not taken from here"
        read.reading.warn(("spec", "metricsServer"), message, hint)
    if len(named) > 1:
        message = f"{' and '.join(named)} are asked: each is a provider of that name"
        read.reading.warn((*read.analysis_path, "metrics"), message, hint)
