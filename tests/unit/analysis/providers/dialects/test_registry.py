"""Which dialect belongs to which kind of provider."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from volary.analysis.providers import query
from volary.analysis.providers.dialects import dialect, registry
from volary.config.fleet import provider_configs
from volary.model import metric_providers

SECRET = metric_providers.Secret()
REQUIRED = {
    metric_providers.DatadogOptions: (SECRET, SECRET),
    metric_providers.CloudWatchOptions: (
        "eu",
        SECRET,
        SECRET,
    ),
    metric_providers.NewRelicOptions: ("1", SECRET),
    metric_providers.InfluxDbOptions: ("shop", SECRET),
    metric_providers.DynatraceOptions: (SECRET,),
    metric_providers.ElasticsearchOptions: ("logs-*",),
    metric_providers.StackdriverOptions: ("shop-123456",),
    metric_providers.SplunkOptions: (SECRET,),
}


@pytest.mark.parametrize("options", get_args(metric_providers.Options))
def test_every_kind_of_provider_has_a_dialect(options: Any) -> None:
    provider = metric_providers.Provider(
        "metrics",
        metric_providers.ProviderType.HTTP,
        metric_providers.Access("https://metrics"),
        options(*REQUIRED.get(options, ())),
    )
    asked = query.Query("up", datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1))

    assert isinstance(registry.make(provider, asked), dialect.Dialect)


@pytest.mark.parametrize("kind", metric_providers.ProviderType)
def test_every_type_that_can_be_written_has_options(kind: metric_providers.ProviderType) -> None:
    assert provider_configs.CONFIGS[kind].definition in get_args(metric_providers.Options)
