import itertools
import re
from datetime import timedelta

import pytest

from volary.analysis.metering import query_templates
from volary.config.stages import query_placeholders
from volary.model import analysis, errors, metric_providers, routing_options

Method, Metrics = routing_options.RoutingMethod, metric_providers.Metrics
VALUES = query_placeholders.Values(
    "shop",
    "canary",
    "web",
    "shop-canary",
    "shop",
    "us",
    timedelta(minutes=1),
    "shop-canary",
    "i",
    "shop",
)


def prometheus(**options: object) -> metric_providers.Provider:
    return metric_providers.Provider(
        "prometheus",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access("http://x"),
        metric_providers.PrometheusOptions(**options),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("method", "metric"),
    [
        (Method.ISTIO, "istio_requests_total"),
        (Method.SMI, "response_total"),
        (Method.NGINX, "nginx_ingress_controller_requests"),
        (Method.TRAEFIK, "traefik_service_requests_total"),
        (Method.GATEWAY_API, "http_request_duration_seconds_count"),
        (Method.POD_SELECTOR, "http_request_duration_seconds_count"),
    ],
)
def test_the_router_says_whose_metrics_are_read(method: Method, metric: str) -> None:
    found = query_templates.find(query_templates.SUCCESS_RATE, method, prometheus())

    assert metric in found.query


def test_the_settings_say_whose_metrics_are_read() -> None:
    found = query_templates.find(
        query_templates.SUCCESS_RATE, Method.GATEWAY_API, prometheus(metrics=Metrics.LINKERD)
    )

    assert "response_total" in found.query


@pytest.mark.parametrize(
    ("name", "family", "variant"),
    list(itertools.product(query_templates.NAMES, Metrics, ("canary", "baseline", "primary"))),
)
def test_every_text_can_be_filled(name: str, family: Metrics, variant: str) -> None:
    settings = prometheus(metrics=family, cluster_label="cluster")
    found = query_templates.find(name, Method.ISTIO, settings, variant=variant)

    for text in filter(None, (found.query, found.total)):
        filled = query_placeholders.fill(text, VALUES)
        assert not re.search(r"<\w|\{\{", filled)
        assert 'cluster="us"' in filled
        assert "[1m]" in filled


def test_flaggers_query_of_istio() -> None:
    found = query_templates.find(query_templates.SUCCESS_RATE, Method.ISTIO, prometheus())

    which = (
        'reporter="destination",destination_workload_namespace="web",'
        'destination_workload=~"shop-canary"'
    )
    assert query_placeholders.fill(found.query, VALUES) == (
        f'sum(rate(istio_requests_total{{{which},response_code!~"5.*"}}[1m])) / '
        f"sum(rate(istio_requests_total{{{which}}}[1m])) * 100"
    )


def test_nginx_tells_canary_from_the_rest() -> None:
    canary = query_templates.find(query_templates.ERRORS, Method.NGINX, prometheus())
    primary = query_templates.find(
        query_templates.ERRORS, Method.NGINX, prometheus(), variant="primary"
    )

    assert 'canary!=""' in canary.query
    assert 'canary=""' in primary.query


def test_the_pods_of_primary_are_not_those_of_canary() -> None:
    found = query_templates.find(query_templates.SUCCESS_RATE, Method.POD_SELECTOR, prometheus())
    values = query_placeholders.Values(
        "shop", "primary", "web", "shop", "shop", "us", timedelta(minutes=1)
    )
    pattern = re.search(
        r'kubernetes_pod_name=~"([^"]*)"', query_placeholders.fill(found.query, values)
    )

    assert pattern is not None
    assert re.fullmatch(pattern[1], "shop-6d4f8-x7x2z")
    assert re.fullmatch(pattern[1], "shop-0")
    assert not re.fullmatch(pattern[1], "shop-canary-6d4f8-x7x2z")


def test_only_prometheus_knows_them() -> None:
    graphite = metric_providers.Provider(
        "paper",
        metric_providers.ProviderType.GRAPHITE,
        metric_providers.Access("http://x"),
        metric_providers.GraphiteOptions(),
    )

    with pytest.raises(errors.UserError, match="is for Prometheus, and paper is of the type"):
        query_templates.find(query_templates.DURATION, Method.ISTIO, graphite)
    with pytest.raises(errors.UserError, match="no query request-latency is built in"):
        query_templates.find("request-latency", Method.ISTIO, prometheus())


def test_a_rule_has_its_own_query_or_a_built_in_one() -> None:
    own = analysis.Rule("errors", "p", "up", total_query="all")
    built_in = analysis.Rule("request-duration", "p", "", built_in="request-duration")

    assert query_templates.for_rule(own, Method.ISTIO, prometheus()) == query_templates.Text(
        "up", "all"
    )
    assert "quantile" in query_templates.for_rule(built_in, Method.ISTIO, prometheus()).query


@pytest.mark.parametrize("variant", ["primary", "canary", "baseline"])
def test_traefiks_services_are_told_apart(variant: str) -> None:
    """Labels as Traefik 3.7 writes them, for TraefikServices, HTTPRoutes and Ingresses."""
    services = {
        each: (
            f"default-{each}-80@kubernetescrd",
            f"httproute-default-shop-gw-default-web-ep-web-0-c2e72dd0ffd30b935364-svc-default-{each}-"
            f"{number}@kubernetesgateway",
            f"default-{each}-http@kubernetes",
        )
        for number, each in enumerate(("shop", "shop-canary", "shop-baseline"))
    }
    own = "shop" if variant == "primary" else f"shop-{variant}"
    values = query_placeholders.Values(
        "shop", variant, "default", own, "shop", "us", timedelta(minutes=1), service=own
    )
    found = query_templates.find(
        query_templates.SUCCESS_RATE, Method.TRAEFIK, prometheus(), variant=variant
    )
    pattern = re.search(r'service=~"([^"]*)"', query_placeholders.fill(found.query, values))

    assert pattern is not None
    for name, labels in services.items():
        assert [bool(re.fullmatch(pattern[1], each)) for each in labels] == [name == own] * 3


def test_envoy_gateway_tells_variants_by_their_place_in_the_rule() -> None:
    settings = prometheus(metrics=Metrics.ENVOY_GATEWAY)
    found = query_templates.find(query_templates.SUCCESS_RATE, Method.GATEWAY_API, settings)

    which = 'envoy_cluster_name=~"(http|grpc)route/web/shop/rule/[0-9]+/backend/1"'
    assert query_placeholders.fill(found.query, VALUES) == (
        f'sum(rate(envoy_cluster_upstream_rq{{{which},envoy_response_code!~"5.*"}}[1m])) / '
        f"sum(rate(envoy_cluster_upstream_rq{{{which}}}[1m])) * 100"
    )
    primary = query_templates.find(
        query_templates.ERRORS, Method.GATEWAY_API, settings, variant="primary"
    )
    assert "/backend/0" in primary.query
    duration = query_templates.find(
        query_templates.DURATION, Method.GATEWAY_API, settings, variant="baseline"
    )
    assert "/backend/2" in duration.query
    assert "envoy_cluster_upstream_rq_time_bucket" in duration.query


def test_requests_under_way_are_those_that_a_router_told_last() -> None:
    settings = prometheus(metrics=Metrics.ENVOY, cluster_label="k8s")
    rule = analysis.Rule("x", built_in=query_templates.IN_FLIGHT)

    found = query_templates.for_rule(rule, Method.GATEWAY_API, settings, variant="canary")

    assert query_placeholders.fill(found.query, VALUES) == (
        "sum(last_over_time(envoy_cluster_upstream_rq_active{"
        'envoy_cluster_name=~"web_shop-canary_[0-9a-zA-Z-]+(_[0-9a-f]+)?",k8s="us"}[1m]))'
    )


@pytest.mark.parametrize(
    ("method", "gauge"),
    [
        (Method.TRAEFIK, "traefik_service_open_connections"),
        (Method.ISTIO, ""),
        (Method.NGINX, ""),
        (Method.POD_SELECTOR, ""),
    ],
)
def test_not_every_router_tells_requests_under_way(method: Method, gauge: str) -> None:
    if gauge:
        assert gauge in query_templates.in_flight(method, prometheus()).query
        return
    with pytest.raises(errors.UserError, match="tell no requests under way"):
        query_templates.in_flight(method, prometheus())
