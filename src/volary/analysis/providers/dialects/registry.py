"""Which dialect belongs to which kind of provider."""

from typing import assert_never

from volary.analysis.providers import query
from volary.analysis.providers.dialects import (
    cloudwatch,
    datadog,
    dialect,
    dynatrace,
    generic,
    graphite,
    influxdb,
    newrelic,
    prometheus,
)
from volary.model import metric_providers

_Service = (
    metric_providers.DatadogOptions
    | metric_providers.CloudWatchOptions
    | metric_providers.NewRelicOptions
    | metric_providers.DynatraceOptions
)


def make(settings: metric_providers.Provider, asked: query.Query) -> dialect.Dialect:
    """Return what a provider speaks, about one query."""
    match settings.options:
        case metric_providers.PrometheusOptions():
            return prometheus.Prometheus(settings, asked)
        case metric_providers.GraphiteOptions():
            return graphite.Graphite(settings, asked)
        case metric_providers.InfluxDbOptions() as options:
            return influxdb.InfluxDb(settings, options, asked)
        case metric_providers.HttpOptions() as options:
            return generic.Generic(settings, options, asked)
        case _ as service:
            return _service(settings, service, asked)


def _service(
    settings: metric_providers.Provider, options: _Service, asked: query.Query
) -> dialect.Dialect:
    match options:
        case metric_providers.DatadogOptions():
            return datadog.Datadog(settings, options, asked)
        case metric_providers.CloudWatchOptions():
            return cloudwatch.CloudWatch(settings, options, asked)
        case metric_providers.NewRelicOptions():
            return newrelic.NewRelic(settings, options, asked)
        case metric_providers.DynatraceOptions():
            return dynatrace.Dynatrace(settings, options, asked)
        case _ as never:
            assert_never(never)
