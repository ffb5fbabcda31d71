"""Which dialect belongs to which kind of provider."""

from typing import assert_never

from volary.analysis.providers import (
    cloudwatch,
    datadog,
    dialect,
    dynatrace,
    generic,
    graphite,
    influxdb,
    newrelic,
    prometheus,
    query,
)
from volary.model import provider

_Service = (
    provider.DatadogOptions
    | provider.CloudWatchOptions
    | provider.NewRelicOptions
    | provider.DynatraceOptions
)


def make(settings: provider.Provider, asked: query.Query) -> dialect.Dialect:
    """Return what a provider speaks, about one query."""
    match settings.options:
        case provider.PrometheusOptions():
            return prometheus.Prometheus(settings, asked)
        case provider.GraphiteOptions():
            return graphite.Graphite(settings, asked)
        case provider.InfluxDbOptions() as options:
            return influxdb.InfluxDb(settings, options, asked)
        case provider.HttpOptions() as options:
            return generic.Generic(settings, options, asked)
        case _ as service:
            return _service(settings, service, asked)


def _service(settings: provider.Provider, options: _Service, asked: query.Query) -> dialect.Dialect:
    match options:
        case provider.DatadogOptions():
            return datadog.Datadog(settings, options, asked)
        case provider.CloudWatchOptions():
            return cloudwatch.CloudWatch(settings, options, asked)
        case provider.NewRelicOptions():
            return newrelic.NewRelic(settings, options, asked)
        case provider.DynatraceOptions():
            return dynatrace.Dynatrace(settings, options, asked)
        case _ as never:
            assert_never(never)
