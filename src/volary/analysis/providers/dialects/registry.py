"""Which dialect belongs to which kind of provider."""

from collections.abc import Mapping
from typing import Any

from volary.analysis.providers import query
from volary.analysis.providers.dialects import (
    cloudwatch,
    datadog,
    dialect,
    dynatrace,
    elasticsearch,
    generic,
    graphite,
    influxdb,
    loki,
    newrelic,
    prometheus,
    splunk,
    stackdriver,
    tempo,
)
from volary.model import metric_providers

_DIALECTS: Mapping[type[metric_providers.Options], type[dialect.Dialect[Any]]] = {
    metric_providers.PrometheusOptions: prometheus.Prometheus,
    metric_providers.GraphiteOptions: graphite.Graphite,
    metric_providers.InfluxDbOptions: influxdb.InfluxDb,
    metric_providers.HttpOptions: generic.Generic,
    metric_providers.DatadogOptions: datadog.Datadog,
    metric_providers.CloudWatchOptions: cloudwatch.CloudWatch,
    metric_providers.NewRelicOptions: newrelic.NewRelic,
    metric_providers.DynatraceOptions: dynatrace.Dynatrace,
    metric_providers.LokiOptions: loki.Loki,
    metric_providers.ElasticsearchOptions: elasticsearch.Elasticsearch,
    metric_providers.TempoOptions: tempo.Tempo,
    metric_providers.StackdriverOptions: stackdriver.Stackdriver,
    metric_providers.SplunkOptions: splunk.Splunk,
}


def make(settings: metric_providers.Provider, asked: query.Query) -> dialect.Dialect[Any]:
    """Return what a provider speaks, about one query."""
    return _DIALECTS[type(settings.options)](settings, settings.options, asked)
