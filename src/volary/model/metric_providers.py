"""Systems that are asked for measurements, as the settings describe them.

Secrets are named here and read by whoever needs them, so that none lies in a settings object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from volary.model import options

#: Stands in an address for the name of the cluster that is asked about.
CLUSTER = "${CLUSTER}"
#: How often Prometheus looks at a pod where nobody says (Flagger's and many charts' setting).
USUAL_SCRAPE = timedelta(seconds=15)


class ProviderType(StrEnum):
    """What a provider speaks."""

    PROMETHEUS = "prometheus"
    DATADOG = "datadog"
    CLOUDWATCH = "cloudwatch"
    NEW_RELIC = "newrelic"
    GRAPHITE = "graphite"
    INFLUXDB = "influxdb"
    DYNATRACE = "dynatrace"
    #: Logs that are counted.
    LOKI = "loki"
    #: Logs that are counted, also OpenSearch's.
    ELASTICSEARCH = "elasticsearch"
    #: Spans that are counted and measured.
    TEMPO = "tempo"
    #: Google Cloud Monitoring, by its former name as in Flagger.
    STACKDRIVER = "stackdriver"
    #: Splunk Observability Cloud, formerly SignalFx.
    SPLUNK = "splunk"
    #: Any system that answers with JSON.
    HTTP = "http"


class Points(StrEnum):
    """Which points of a series count as measured."""

    #: The newest one (Flagger; of Prometheus an instant query).
    LAST = "last"
    #: Every one of the interval (PipeCD; of Prometheus a range query).
    ALL = "all"


class Metrics(StrEnum):
    """Whose metrics the queries read that Volary brings along."""

    ISTIO = "istio"
    LINKERD = "linkerd"
    ENVOY = "envoy"
    ENVOY_GATEWAY = "envoy-gateway"
    NGINX = "nginx"
    TRAEFIK = "traefik"
    #: The application's own histogram `http_request_duration_seconds`.
    APPLICATION = "application"


class Language(StrEnum):
    """What Google Cloud Monitoring is asked in."""

    #: Monitoring Query Language (Flagger).
    MQL = "mql"
    PROMQL = "promql"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is: in a file, or in a variable of the environment."""

    file: str = ""
    variable: str = ""

    def __bool__(self) -> bool:
        return bool(self.file or self.variable)


@dataclass(frozen=True, slots=True)
class ProviderTls:
    """Certificates."""

    ca_file: options.File = options.option(
        "Authorities that are believed, PEM; empty: the system's.", ""
    )
    cert_file: options.File = options.option("A certificate to show, PEM; with `keyFile`.", "")
    key_file: options.File = options.option("Its private key, PEM.", "")
    server_name: str = options.option(
        "The name in the provider's certificate; empty: of the address.", ""
    )
    insecure_skip_verify: bool = options.option("Believe any certificate.", False)


@dataclass(frozen=True, slots=True)
class Access:
    """Where a provider is and how it lets one in."""

    address: str
    #: By cluster, where they have others.
    addresses: Mapping[str, str] = field(default_factory=dict)
    username: Secret = Secret()
    #: As it is written; empty: `username`.
    literal_username: str = ""
    password: Secret = Secret()
    #: Sent as a bearer token.
    token: Secret = Secret()
    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: Mapping[str, Secret] = field(default_factory=dict)
    tls: ProviderTls = ProviderTls()

    def address_of(self, cluster: str) -> str:
        """Return where to ask about a cluster; empty: about none in particular."""
        return self.addresses.get(cluster, self.address).replace(CLUSTER, cluster)


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """What only Prometheus, Thanos, Mimir and their like have; built-in queries are for them."""

    metrics: Metrics | None = options.option(
        "Whose metrics the built-in queries read. Default: those of the application's router.", None
    )
    cluster_label: str = options.option(
        "Label with the cluster's name, for built-in queries, where several clusters' data are in "
        "one place.",
        "",
    )
    namespace_label: options.Text = options.option(
        "Label with a pod's namespace, for `metrics: application`.", "kubernetes_namespace"
    )
    pod_label: options.Text = options.option(
        "Label with a pod's name, for `metrics: application`.", "kubernetes_pod_name"
    )
    scrape_interval: timedelta = options.option(
        "How often it looks at a pod. Metrics whose ranges are too short for that are a warning.",
        USUAL_SCRAPE,
    )


@dataclass(frozen=True, slots=True)
class DatadogOptions:
    """Keys of Datadog."""

    api_key: Secret
    application_key: Secret


@dataclass(frozen=True, slots=True)
class CloudWatchOptions:
    """Region and keys of CloudWatch."""

    region: Annotated[options.Text, options.Option("Such as `eu-central-1`.")]
    access_key: Secret
    secret_key: Secret
    session_token: Secret = Secret()


@dataclass(frozen=True, slots=True)
class NewRelicOptions:
    """Account and key of New Relic."""

    account: Annotated[str, options.Option("Number of the account, in quotes.")]
    api_key: Secret
    #: Ask the older Insights API, with a query key (Flagger).
    insights: bool = False


@dataclass(frozen=True, slots=True)
class GraphiteOptions:
    """Graphite has nothing of its own."""


@dataclass(frozen=True, slots=True)
class InfluxDbOptions:
    """Organization and token of InfluxDB."""

    organization: Annotated[options.Text, options.Option("Name of the organization.")]
    token: Secret


@dataclass(frozen=True, slots=True)
class DynatraceOptions:
    """Token of Dynatrace."""

    token: Secret


@dataclass(frozen=True, slots=True)
class LokiOptions:
    """Loki has nothing of its own."""


@dataclass(frozen=True, slots=True)
class TempoOptions:
    """Tempo has nothing of its own."""


@dataclass(frozen=True, slots=True)
class ElasticsearchOptions:
    """What is searched, and the key for it."""

    index: Annotated[
        options.Text,
        options.Option(
            "The index, data stream or alias that is searched; several with commas, and with `*`. "
            "One that is not there is an error, not a count of zero."
        ),
    ]
    time_field: options.Text = options.option(
        "The field with the time of a document.", "@timestamp"
    )
    api_key: Secret = Secret()


@dataclass(frozen=True, slots=True)
class StackdriverOptions:
    """Project and identity in Google Cloud."""

    project: Annotated[options.Text, options.Option("Id of the project that is asked.")]
    language: Language = options.option(
        "What queries are written in: `mql` as in Flagger, or `promql`.", Language.MQL
    )
    #: A document; empty: the token of the settings, or else the machine's own identity.
    service_account_key: Secret = Secret()
    metadata_address: options.Text = options.option(
        "Where the machine's own identity is asked for, when neither a key nor a token is given.",
        "http://metadata.google.internal",
    )


@dataclass(frozen=True, slots=True)
class SplunkOptions:
    """Token of Splunk Observability Cloud."""

    token: Secret


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How answers of any system are read."""

    json_path: options.Text = options.option(
        "Where the numbers are, when the query does not say.", "$"
    )
    allow_post: bool = options.option(
        "Let queries send `POST` with a body. They come from whoever may write application files, "
        "and are sent with this provider's credentials.",
        False,
    )


Options = (
    PrometheusOptions
    | DatadogOptions
    | CloudWatchOptions
    | NewRelicOptions
    | GraphiteOptions
    | InfluxDbOptions
    | DynatraceOptions
    | LokiOptions
    | ElasticsearchOptions
    | TempoOptions
    | StackdriverOptions
    | SplunkOptions
    | HttpOptions
)


@dataclass(frozen=True, slots=True)
class Provider:
    """One system that is asked for measurements."""

    #: Unique in the settings; metrics refer to it.
    name: str
    type: ProviderType
    access: Access
    options: Options
    points: Points = Points.LAST
    #: Queries at one time; others wait for their turn.
    concurrency: int = 8
    #: How long answers are shared by those who ask the same.
    share: timedelta = timedelta(seconds=5)


def merged(first: Iterable[Provider], second: Iterable[Provider]) -> tuple[Provider, ...]:
    """Return both; of the same name the first counts (a server's settings before a fleet's)."""
    by_name = {provider.name: provider for provider in second} | {
        provider.name: provider for provider in first
    }
    return tuple(by_name.values())
