"""Systems that are asked for measurements, as the settings describe them.

Secrets are named here and read by whoever needs them, so that none lies in a settings object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is: in a file, or in a variable of the environment."""

    file: str = ""
    variable: str = ""

    def __bool__(self) -> bool:
        return bool(self.file or self.variable)


@dataclass(frozen=True, slots=True)
class Tls:
    """How the provider proves itself, and Volary to it; files are PEM."""

    #: Empty: the system's authorities.
    authority_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    #: Empty: the address' host.
    server_name: str = ""
    #: The provider's certificate is not looked at.
    insecure: bool = False


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
    tls: Tls = Tls()

    def address_of(self, cluster: str) -> str:
        """Return where to ask about a cluster; empty: about none in particular."""
        return self.addresses.get(cluster, self.address).replace(CLUSTER, cluster)


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """What only Prometheus, Thanos, Mimir and their like have; built-in queries are for them."""

    #: Metrics that built-in queries read; None: those of the application's router.
    metrics: Metrics | None = None
    #: Label with the cluster's name, for built-in queries; empty: it has one cluster's data.
    cluster_label: str = ""
    namespace_label: str = "kubernetes_namespace"
    pod_label: str = "kubernetes_pod_name"
    #: Time between two looks at a pod.
    scrape_interval: timedelta = USUAL_SCRAPE


@dataclass(frozen=True, slots=True)
class DatadogOptions:
    """Keys of Datadog."""

    api_key: Secret
    application_key: Secret


@dataclass(frozen=True, slots=True)
class CloudWatchOptions:
    """Region and keys of CloudWatch."""

    region: str
    access_key: Secret
    secret_key: Secret
    session_token: Secret = Secret()


@dataclass(frozen=True, slots=True)
class NewRelicOptions:
    """Account and key of New Relic."""

    account: str
    api_key: Secret
    #: Ask the older Insights API, with a query key (Flagger).
    insights: bool = False


@dataclass(frozen=True, slots=True)
class GraphiteOptions:
    """Graphite has nothing of its own."""


@dataclass(frozen=True, slots=True)
class InfluxDbOptions:
    """Organisation and token of InfluxDB."""

    organisation: str
    token: Secret


@dataclass(frozen=True, slots=True)
class DynatraceOptions:
    """Token of Dynatrace."""

    token: Secret


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How answers of any system are read."""

    #: Where the numbers are, when the query does not say.
    path: str = "$"
    #: Queries, which come out of Git, may be more than a GET.
    may_post: bool = False


Options = (
    PrometheusOptions
    | DatadogOptions
    | CloudWatchOptions
    | NewRelicOptions
    | GraphiteOptions
    | InfluxDbOptions
    | DynatraceOptions
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
