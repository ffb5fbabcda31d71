"""The `config` of each type of `analysisProviders`: where a system is and how it is asked."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.model import metric_providers, options

_SECRET = "secrets do not belong into this file: write {0}File or {0}Env, which name a place"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _variable(value: str) -> str:
    if value and not _VARIABLE.fullmatch(value):
        raise ValueError("must be the name of a variable of the environment")
    return value


def _misplaced(*names: str) -> Mapping[str, str]:
    return {name: _SECRET.format(name) for name in names}


Variable = Annotated[str, pydantic.AfterValidator(_variable)]
Points = Annotated[metric_providers.Points, pydantic.BeforeValidator(values.lower)]
Lower = pydantic.BeforeValidator(values.lower)


class Connection(base_sections.Section):
    """What the `config` of every type has."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced("password", "token")

    address: str = options.option(
        "Where it is; `${CLUSTER}` stands for the cluster's name. Datadog, CloudWatch, New "
        "Relic and Stackdriver have one of their own.",
        "",
    )
    addresses: dict[str, str] = options.option(
        "Where it is for single clusters, by their names.", {}
    )
    username: str = options.option("User name, with a password.", "")
    username_file: str = options.option("A file with the user name.", "")
    username_env: Variable = options.option(
        "The variable of the environment with the user name.", ""
    )
    password_file: str = options.option("A file with the password.", "")
    password_env: Variable = options.option(
        "The variable of the environment with the password.", ""
    )
    token_file: str = options.option("A file with a token.", "")
    token_env: Variable = options.option("The variable of the environment with a token.", "")
    headers: dict[str, str] = options.option(
        "Sent along; never secrets, such as `Authorization`.", {}
    )
    header_files: dict[str, str] = options.option(
        "Sent along: files with the value, by header.", {}
    )
    header_env: dict[str, Variable] = options.option(
        "Sent along: variables of the environment with the value, by header.", {}
    )
    tls: metric_providers.ProviderTls = options.option(
        "Certificates.", metric_providers.ProviderTls()
    )
    points: Points = options.option(
        "What of a series is measured: its newest point, or all of the interval (of Prometheus: "
        "an instant query, or a range query as in PipeCD).",
        metric_providers.Points.LAST,
    )
    max_concurrency: int = options.option(
        "Queries at one time; others wait for their turn.", 8, least=1, most=1000
    )
    share: timedelta = options.option(
        "How long an answer is shared by those who ask the same, up to a twentieth of the "
        "metric's interval; at most 5m.",
        timedelta(seconds=5),
    )


class TenantConnection(Connection):
    """What the `config` of systems with tenants has."""

    tenant: str = options.option("Tenant, where there are several (Mimir, Thanos, Loki).", "")
    tenant_header: str = options.option(
        "Header of the tenant; of Thanos: `THANOS-TENANT`.", "X-Scope-OrgID"
    )


class PrometheusConfig(TenantConnection, of=metric_providers.PrometheusOptions):
    """Prometheus, and what speaks like it: Thanos, Mimir, VictoriaMetrics."""

    metrics: metric_providers.Metrics | None


class DatadogConfig(Connection, of=metric_providers.DatadogOptions):
    """Datadog."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced(
        "password", "token", "apiKey", "applicationKey", "apiKeyData", "applicationKeyData"
    )

    api_key_file: str = options.option("A file with the API key.", "")
    api_key_env: Variable = options.option("The variable with the API key.", "")
    application_key_file: str = options.option("A file with the application key.", "")
    application_key_env: Variable = options.option("The variable with the application key.", "")


class CloudWatchConfig(Connection, of=metric_providers.CloudWatchOptions):
    """CloudWatch."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced(
        "password", "token", "accessKey", "secretKey", "sessionToken"
    )

    region: options.Text
    access_key_file: str = options.option("A file with the access key's id.", "")
    access_key_env: Variable = options.option(
        "The variable with it. Default: `AWS_ACCESS_KEY_ID`.", ""
    )
    secret_key_file: str = options.option("A file with the secret access key.", "")
    secret_key_env: Variable = options.option(
        "The variable with it. Default: `AWS_SECRET_ACCESS_KEY`.", ""
    )
    session_token_file: str = options.option("A file with a session token.", "")
    session_token_env: Variable = options.option("The variable with a session token.", "")


class NewRelicConfig(Connection, of=metric_providers.NewRelicOptions):
    """New Relic."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced("password", "token", "apiKey")

    account: Annotated[str, Field(pattern=r"^[0-9]{1,12}$")]
    api_key_file: str = options.option("A file with the user or query key.", "")
    api_key_env: Variable = options.option("The variable with it.", "")
    api: Literal["nerdgraph", "insights"] = options.option(
        "Which API is asked; `insights` is Flagger's.", "nerdgraph"
    )


class GraphiteConfig(Connection, of=metric_providers.GraphiteOptions):
    """Graphite."""


class InfluxDbConfig(Connection, of=metric_providers.InfluxDbOptions):
    """InfluxDB, by Flux; its token is `tokenFile` or `tokenEnv`."""


class DynatraceConfig(Connection, of=metric_providers.DynatraceOptions):
    """Dynatrace; its token is `tokenFile` or `tokenEnv`."""


class LokiConfig(TenantConnection, of=metric_providers.LokiOptions):
    """Loki: metrics of logs, by LogQL."""


class ElasticsearchConfig(Connection, of=metric_providers.ElasticsearchOptions):
    """Elasticsearch and OpenSearch: counts of logs."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced("password", "token", "apiKey")

    api_key_file: str = options.option("A file with an API key, in its encoded form.", "")
    api_key_env: Variable = options.option("The variable with it.", "")


class TempoConfig(TenantConnection, of=metric_providers.TempoOptions):
    """Tempo: metrics of traces, by TraceQL."""


class StackdriverConfig(Connection, of=metric_providers.StackdriverOptions):
    """Google Cloud Monitoring."""

    misplaced: ClassVar[Mapping[str, str]] = _misplaced("password", "token", "serviceAccountKey")

    language: Annotated[metric_providers.Language, pydantic.BeforeValidator(values.lower)]
    service_account_key_file: str = options.option(
        "A file with the key of a service account, JSON. Default: the identity that the machine or "
        "the pod has by itself (Workload Identity).",
        "",
    )
    service_account_key_env: Variable = options.option("The variable with it, on one line.", "")


class SplunkConfig(Connection, of=metric_providers.SplunkOptions):
    """Splunk Observability Cloud, by SignalFlow; its token is `tokenFile` or `tokenEnv`."""

    realm: str = options.option("Such as `us1`, in place of an address.", "")


class HttpConfig(Connection, of=metric_providers.HttpOptions):
    """Any system that answers with JSON."""


CONFIGS: Mapping[metric_providers.ProviderType, type[Connection]] = {
    metric_providers.ProviderType.PROMETHEUS: PrometheusConfig,
    metric_providers.ProviderType.DATADOG: DatadogConfig,
    metric_providers.ProviderType.CLOUDWATCH: CloudWatchConfig,
    metric_providers.ProviderType.NEW_RELIC: NewRelicConfig,
    metric_providers.ProviderType.GRAPHITE: GraphiteConfig,
    metric_providers.ProviderType.INFLUXDB: InfluxDbConfig,
    metric_providers.ProviderType.DYNATRACE: DynatraceConfig,
    metric_providers.ProviderType.LOKI: LokiConfig,
    metric_providers.ProviderType.ELASTICSEARCH: ElasticsearchConfig,
    metric_providers.ProviderType.TEMPO: TempoConfig,
    metric_providers.ProviderType.STACKDRIVER: StackdriverConfig,
    metric_providers.ProviderType.SPLUNK: SplunkConfig,
    metric_providers.ProviderType.HTTP: HttpConfig,
}
