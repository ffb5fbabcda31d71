"""The queries that Volary brings along, in PromQL, and nothing else: this file is their data.

Texts for a family (`metric_providers.Metrics`) and one name. `request-success-rate` is a
percentage, `request-duration` the 99th percentile in milliseconds (Flagger's names and units;
of NGINX it is the mean, which is all it tells). `request-errors` counts failed requests of an
interval among all of them, for proportion tests. A failed request is answered with 5xx.
`IN_FLIGHT` is no metric of users: requests that are under way, where a router tells them.

Beside the placeholders of users' queries these texts have, in ``<…>``: ``<more>``, a matcher
for the cluster's label where the provider keeps several clusters; ``<namespace label>`` and
``<pod label>``, which depend on how Prometheus scrapes; ``<canary>``, a matcher that tells NGINX'
canary from the rest; ``<position>``, the variant's place in a rule of a Gateway API route.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from volary.model import analysis, errors, metric_providers, routing_options
from volary.model.pipeline import variant as variants

SUCCESS_RATE = "request-success-rate"
DURATION = "request-duration"
ERRORS = "request-errors"
IN_FLIGHT = "requests-in-flight"
NAMES = (SUCCESS_RATE, DURATION, ERRORS)


@dataclass(frozen=True, slots=True)
class Text:
    """A query; `total` counts what `query` counts events of."""

    query: str
    total: str = ""


@dataclass(frozen=True, slots=True)
class _Family:
    """How one family of metrics is asked."""

    #: A counter of requests, and the matchers of a variant.
    requests: str
    which: str
    #: The label that tells failed requests, and its values with them.
    label: str
    #: The 99th percentile in milliseconds; ``<which>`` are the matchers.
    duration: str
    failures: str = "5.*"
    #: A gauge of requests that are under way; empty: nothing tells them.
    in_flight: str = ""

    @property
    def failed(self) -> str:
        """A matcher for failed requests."""
        return f'{self.label}=~"{self.failures}"'

    @property
    def succeeded(self) -> str:
        """A matcher for the others."""
        return f'{self.label}!~"{self.failures}"'


_MILLISECOND_QUANTILE = (
    "histogram_quantile(0.99, sum(rate(%s{<which><more>}[{{ interval }}])) by (le))"
)
_ENVOY_ACTIVE = "envoy_cluster_upstream_rq_active"
_SECOND_QUANTILE = f"{_MILLISECOND_QUANTILE} * 1000"

_FAMILIES: Mapping[metric_providers.Metrics, _Family] = {
    metric_providers.Metrics.ISTIO: _Family(
        requests="istio_requests_total",
        which=(
            'reporter="destination",destination_workload_namespace="{{ namespace }}",'
            'destination_workload=~"{{ target }}"'
        ),
        label="response_code",
        duration=_MILLISECOND_QUANTILE % "istio_request_duration_milliseconds_bucket",
    ),
    metric_providers.Metrics.LINKERD: _Family(
        requests="response_total",
        which='namespace="{{ namespace }}",deployment=~"{{ target }}",direction="inbound"',
        label="classification",
        duration=_MILLISECOND_QUANTILE % "response_latency_ms_bucket",
        failures="failure",
    ),
    # Clusters as Contour names them: namespace, Service, port and a hash.
    metric_providers.Metrics.ENVOY: _Family(
        requests="envoy_cluster_upstream_rq",
        which='envoy_cluster_name=~"{{ namespace }}_{{ service }}_[0-9a-zA-Z-]+(_[0-9a-f]+)?"',
        label="envoy_response_code",
        duration=_MILLISECOND_QUANTILE % "envoy_cluster_upstream_rq_time_bucket",
        in_flight=_ENVOY_ACTIVE,
    ),
    # Envoy Gateway has one cluster for a whole rule, canary and primary together. When a backend
    # of the rule has a filter (or its policy routes by zone) it has one for each backend, named by
    # its place in the rule. Without that there is no such series: no data, not somebody else's.
    metric_providers.Metrics.ENVOY_GATEWAY: _Family(
        requests="envoy_cluster_upstream_rq",
        which=(
            'envoy_cluster_name=~"(http|grpc)route/{{ namespace }}/{{ route }}'
            '/rule/[0-9]+/backend/<position>"'
        ),
        label="envoy_response_code",
        duration=_MILLISECOND_QUANTILE % "envoy_cluster_upstream_rq_time_bucket",
        in_flight=_ENVOY_ACTIVE,
    ),
    metric_providers.Metrics.NGINX: _Family(
        requests="nginx_ingress_controller_requests",
        which='namespace="{{ namespace }}",ingress="{{ ingress }}",<canary>',
        label="status",
        duration=(
            "sum(rate(nginx_ingress_controller_response_duration_seconds_sum"
            "{<which><more>}[{{ interval }}])) / "
            "sum(rate(nginx_ingress_controller_response_duration_seconds_count"
            "{<which><more>}[{{ interval }}])) * 1000"
        ),
    ),
    # Of a TraefikService: namespace, Service and port; of an HTTPRoute the same with the number
    # of the backend, after much about the route.
    metric_providers.Metrics.TRAEFIK: _Family(
        requests="traefik_service_requests_total",
        which=(
            'service=~"(.*-svc-)?{{ namespace }}-{{ service }}-[0-9a-zA-Z]+'
            '@kubernetes(crd|gateway|ingress)?"'
        ),
        label="code",
        duration=_SECOND_QUANTILE % "traefik_service_request_duration_seconds_bucket",
        # Of Traefik 2; version 3 counts connections by entry point only, which is no data here.
        in_flight="traefik_service_open_connections",
    ),
    # Pods of a Deployment (name, hash, id) or of another workload (name, number or id).
    metric_providers.Metrics.APPLICATION: _Family(
        requests="http_request_duration_seconds_count",
        which=(
            '<namespace label>="{{ namespace }}",'
            '<pod label>=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)?"'
        ),
        label="status",
        duration=_SECOND_QUANTILE % "http_request_duration_seconds_bucket",
    ),
}

#: The order in which `stages.routing` lists the variants in a rule.
_POSITIONS: Mapping[str, str] = {
    variant.value: str(position) for position, variant in enumerate(variants.Variant)
}

#: Metrics of a router's own, where they tell variants apart. Gateway API has no metrics of its
#: own, and Pod selection no router; both are asked for the application's (Flagger).
_BY_METHOD: Mapping[routing_options.RoutingMethod, metric_providers.Metrics] = {
    routing_options.RoutingMethod.ISTIO: metric_providers.Metrics.ISTIO,
    routing_options.RoutingMethod.SMI: metric_providers.Metrics.LINKERD,
    routing_options.RoutingMethod.NGINX: metric_providers.Metrics.NGINX,
    routing_options.RoutingMethod.TRAEFIK: metric_providers.Metrics.TRAEFIK,
}


def metrics_of(
    method: routing_options.RoutingMethod, settings: metric_providers.Provider | None = None
) -> metric_providers.Metrics:
    """Return whose metrics are read: what the provider's settings say, else the router's."""
    options = settings.options if settings else None
    chosen = options.metrics if isinstance(options, metric_providers.PrometheusOptions) else None
    return chosen or _BY_METHOD.get(method, metric_providers.Metrics.APPLICATION)


def find(
    name: str,
    method: routing_options.RoutingMethod,
    settings: metric_providers.Provider,
    *,
    variant: str = "canary",
) -> Text:
    """Return the query of a name of `NAMES`, with placeholders for `query_placeholders.fill`.

    Raises:
        errors.UserError: The provider does not speak PromQL, or nothing has that name.
    """
    if name not in NAMES:
        raise errors.user_error(f"no query {name} is built in", hint=f"one of {', '.join(NAMES)}")
    options = _options(name, settings)
    family = _FAMILIES[metrics_of(method, settings)]

    def finish(text: str) -> str:
        return _finish(text, family, options, variant)

    if name == DURATION:
        return Text(finish(family.duration))
    if name == SUCCESS_RATE:
        good, everything = _rate(family, family.succeeded), _rate(family)
        return Text(finish(f"{good} / {everything} * 100"))
    # Without a failed request since the start there is no such series: zero, not nothing.
    failed = f"{_increase(family, family.failed)} or vector(0)"
    return Text(finish(failed), finish(_increase(family)))


def in_flight(
    method: routing_options.RoutingMethod,
    settings: metric_providers.Provider,
    *,
    variant: str = "canary",
) -> Text:
    """Return the query for requests under way as they were told last within an interval.

    Raises:
        errors.UserError: The provider does not speak PromQL, or its metrics tell no such thing.
    """
    options = _options(IN_FLIGHT, settings)
    metrics = metrics_of(method, settings)
    family = _FAMILIES[metrics]
    if not family.in_flight:
        raise errors.user_error(f"metrics of {metrics.value} tell no requests under way")
    text = f"sum(last_over_time({family.in_flight}{{<which><more>}}[{{{{ interval }}}}]))"
    return Text(_finish(text, family, options, variant))


def _options(name: str, settings: metric_providers.Provider) -> metric_providers.PrometheusOptions:
    if not isinstance(settings.options, metric_providers.PrometheusOptions):
        raise errors.user_error(
            f"the built-in query {name} is for Prometheus, and {settings.name} is of the type "
            f"{settings.type.value}",
            hint="write the query, or name a provider of the type prometheus",
        )
    return settings.options


def for_rule(
    rule: analysis.Rule,
    method: routing_options.RoutingMethod,
    settings: metric_providers.Provider,
    *,
    variant: str = "canary",
) -> Text:
    """Return the queries of a rule: its own, or the built-in ones it names.

    Raises:
        errors.UserError: See `find`.
    """
    if not rule.built_in:
        return Text(rule.query, rule.total_query)
    if rule.built_in == IN_FLIGHT:
        return in_flight(method, settings, variant=variant)
    return find(rule.built_in, method, settings, variant=variant)


def _rate(family: _Family, matcher: str = "") -> str:
    return f"sum(rate({_series(family, matcher)}[{{{{ interval }}}}]))"


def _increase(family: _Family, matcher: str = "") -> str:
    return f"sum(increase({_series(family, matcher)}[{{{{ interval }}}}]))"


def _series(family: _Family, matcher: str) -> str:
    return f"{family.requests}{{<which>{',' if matcher else ''}{matcher}<more>}}"


def _finish(
    text: str, family: _Family, options: metric_providers.PrometheusOptions, variant: str
) -> str:
    more = f',{options.cluster_label}="{{{{ cluster }}}}"' if options.cluster_label else ""
    filled = text.replace("<which>", family.which).replace("<more>", more)
    filled = filled.replace("<position>", _POSITIONS[variant])
    filled = filled.replace("<namespace label>", options.namespace_label)
    filled = filled.replace("<pod label>", options.pod_label)
    return filled.replace("<canary>", f'canary{"!=" if variant == "canary" else "="}""')
