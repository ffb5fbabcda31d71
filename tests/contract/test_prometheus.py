"""Providers and built-in queries against a real Prometheus, which scrapes a page of the test's.

It tells of an application whose canary fails one request of twenty, and whose primary fails
none, in the naming of every family of metrics, for two clusters.
"""

import contextlib
import math
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
import aiohttp.web
import pytest
import yaml

import process_time
import scripted_server
from kube_sandbox import prometheus
from kube_sandbox.dataplane import programs
from volary.analysis.metering import query_templates
from volary.analysis.providers import provider_pool, query
from volary.config.stages import query_placeholders
from volary.controller import system_clock
from volary.model import analysis, metric_providers, routing_options

pytestmark = pytest.mark.skipif(
    not prometheus.is_installed(), reason="the program prometheus is not installed"
)

Metrics, Method = metric_providers.Metrics, routing_options.RoutingMethod
#: Requests between two scrapes, of which so many fail.
STEPS = {"canary": (20, 1), "primary": (100, 0)}


class Page:
    """The metrics of the application; they grow with every scrape."""

    def __init__(self) -> None:
        self.scrapes = 0
        self.first = system_clock.SystemClock().now()

    async def handle(self, asked: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        if not self.scrapes:
            self.first = system_clock.SystemClock().now()
        self.scrapes += 1
        lines: list[str] = []
        for cluster in ("us", "eu"):
            for variant, (requests, failed) in STEPS.items():
                # Nothing ever failed in the cluster eu.
                bad = failed * self.scrapes if cluster == "us" else 0
                lines += families(cluster, variant, requests * self.scrapes, bad)
        return aiohttp.web.Response(text="\n".join([*sorted(lines), ""]))


def families(cluster: str, variant: str, requests: int, failed: int) -> list[str]:
    workload = "shop" if variant == "primary" else f"shop-{variant}"
    mark = "shop-web-80" if variant == "canary" else ""
    which = [
        (
            "istio_requests_total",
            f'reporter="destination",destination_workload="{workload}",'
            'destination_workload_namespace="web",response_code="CODE"',
        ),
        (
            "response_total",
            f'namespace="web",deployment="{workload}",direction="inbound",classification="CLASS"',
        ),
        *(
            ("envoy_cluster_upstream_rq", f'{each},envoy_response_code="CODE"')
            for each in of_envoy(workload, variant)
        ),
        (
            "nginx_ingress_controller_requests",
            f'namespace="web",ingress="shop",canary="{mark}",status="CODE"',
        ),
        (
            "traefik_service_requests_total",
            f'service="web-{workload}-80@kubernetescrd",code="CODE"',
        ),
        (
            "http_request_duration_seconds_count",
            f'kubernetes_namespace="web",kubernetes_pod_name="{workload}-6d4f-x7x2",status="CODE"',
        ),
    ]
    lines = []
    for name, labels in which:
        for code, kind, count in (
            ("200", "success", requests - failed),
            ("503", "failure", failed),
        ):
            if count:
                text = labels.replace("CODE", code).replace("CLASS", kind)
                lines.append(f'{name}{{cluster="{cluster}",{text}}} {count}')
    return lines + durations(cluster, workload, variant, requests)


def of_envoy(workload: str, variant: str) -> tuple[str, str]:
    """Return the clusters of App Mesh' and of Envoy Gateway's Envoy, as labels."""
    place = list(STEPS)[::-1].index(variant)
    return (
        f'envoy_cluster_name="web_{workload}_80_0a1b2c3d4e"',
        f'envoy_cluster_name="httproute/web/shop/rule/0/backend/{place}"',
    )


def durations(cluster: str, workload: str, variant: str, requests: int) -> list[str]:
    """All requests take between 50 and 100 milliseconds."""
    pod = f'kubernetes_namespace="web",kubernetes_pod_name="{workload}-6d4f-x7x2"'
    istio = f'destination_workload="{workload}",destination_workload_namespace="web"'
    mark = "shop-web-80" if variant == "canary" else ""
    of_all = [
        ("istio_request_duration_milliseconds", 1000, f'reporter="destination",{istio}'),
        (
            "response_latency_ms",
            1000,
            f'namespace="web",deployment="{workload}",direction="inbound"',
        ),
        *(("envoy_cluster_upstream_rq_time", 1000, each) for each in of_envoy(workload, variant)),
        (
            "traefik_service_request_duration_seconds",
            1,
            f'service="web-{workload}-80@kubernetescrd"',
        ),
        ("http_request_duration_seconds", 1, pod),
    ]
    lines = []
    for name, scale, labels in of_all:
        for bound, count in ((0.05, 0), (0.1, requests), ("+Inf", requests)):
            le = bound if isinstance(bound, str) else f"{bound * scale:g}"
            lines.append(f'{name}_bucket{{cluster="{cluster}",{labels},le="{le}"}} {count}')
    nginx = f'cluster="{cluster}",namespace="web",ingress="shop",canary="{mark}"'
    name = "nginx_ingress_controller_response_duration_seconds"
    return [
        *lines,
        f"{name}_sum{{{nginx}}} {requests * 0.08}",
        f"{name}_count{{{nginx}}} {requests}",
    ]


@pytest.fixture(scope="module")
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Place:
    """A Prometheus, and what it is asked about: always the same, however long asking takes."""

    address: str
    moment: datetime
    #: From its first scrape to the moment, in whole seconds.
    window: timedelta


@contextlib.asynccontextmanager
async def scraping(directory: Path, port: int) -> AsyncIterator[Place]:
    """Run Prometheus; gives its place once it has enough to tell."""
    page = Page()
    async with scripted_server.serve() as server:
        server.handler = page.handle
        job = {"job_name": "page", "static_configs": [{"targets": [server.url.partition("//")[2]]}]}
        config = {"global": {"scrape_interval": "250ms"}, "scrape_configs": [job]}
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        words = [
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        log = directory / "log"
        program = await programs.start("prometheus", words, log=log, directory=directory)

        async def has_scraped(count: int) -> None:
            async def is_ready() -> bool:
                return page.scrapes >= count

            await program.until(is_ready, seconds=process_time.HANG)

        try:
            await has_scraped(8)
            moment = system_clock.SystemClock().now()
            window = timedelta(seconds=math.ceil((moment - page.first).total_seconds()))
            # What was scraped before the moment is kept when the next but one has begun.
            await has_scraped(page.scrapes + 2)
            yield Place(f"http://127.0.0.1:{port}", moment, window)
        finally:
            await program.stop()


def settings(address: str, **options: object) -> metric_providers.Provider:
    return metric_providers.Provider(
        "prometheus",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access(address),
        metric_providers.PrometheusOptions(**options),  # type: ignore[arg-type]
    )


def filled(place: Place, text: str, variant: str, cluster: str = "us") -> str:
    workload = "shop" if variant == "primary" else f"shop-{variant}"
    values = query_placeholders.Values(
        application="shop",
        variant=variant,
        namespace="web",
        workload=workload,
        primary="shop",
        cluster=cluster,
        interval=place.window,
        service=workload,
        ingress="shop",
        route="shop",
    )
    return query_placeholders.fill(text, values)


async def ask(
    providers: provider_pool.Providers,
    place: Place,
    text: str,
    shape: query.Shape = query.Shape.POINTS,
) -> query.Answer:
    asked = query.Query(text, place.moment, place.window, shape=shape, provider="prometheus")
    return await providers.measure(asked)


async def test_a_real_prometheus_is_asked(tmp_path: Path, free_port: int) -> None:
    async with scraping(tmp_path, free_port) as place:
        await check_answers(place)
        await check_ranges(place)
        for family in Metrics:
            await check_family(place, family)
        await check_clusters(place)


async def check_answers(place: Place) -> None:
    """Whatever PromQL can give: values, several, none, NaN, infinity, a matrix, an error."""
    async with provider_pool.open_providers(
        [settings(place.address)], clock=system_clock.SystemClock()
    ) as providers:
        assert (await ask(providers, place, "scalar(vector(4))")).values == (4.0,)
        several = await ask(providers, place, 'vector(1) or label_replace(vector(2),"a","b","","")')
        assert sorted(several.values) == [1.0, 2.0]
        total = await ask(
            providers,
            place,
            'vector(1) or label_replace(vector(2),"a","b","","")',
            query.Shape.TOTAL,
        )
        assert total.values == (3.0,)
        assert (await ask(providers, place, "vector(1)/0")).values == (float("inf"),)
        nan = await ask(providers, place, "vector(0)/0")
        assert nan.values[0] != nan.values[0]
        assert (
            await ask(providers, place, "nobody_counts_this")
        ).reading is analysis.Reading.NO_DATA
        matrix = await ask(providers, place, "up[1m]")
        assert "a range of points for each series (a matrix)" in matrix.message
        text = await ask(providers, place, '"hello"')
        assert text.message.endswith("the query has to give numbers")
        wrong = await ask(providers, place, "sum(rate(up[1m])")
        assert wrong.message.startswith("prometheus answered 400:")
        assert "parse error" in wrong.message
        long = " or ".join(f'up{{instance="{i}"}}' for i in range(200))
        assert (await ask(providers, place, f"{long} or vector(5)")).values == (5.0,)
    page = settings(f"{place.address}/graph")
    async with provider_pool.open_providers([page], clock=system_clock.SystemClock()) as providers:
        assert (await ask(providers, place, "up")).reading is analysis.Reading.ERROR


async def check_ranges(place: Place) -> None:
    every = replace(settings(place.address), points=metric_providers.Points.ALL)
    async with provider_pool.open_providers([every], clock=system_clock.SystemClock()) as providers:
        asked = query.Query("vector(1)", system_clock.SystemClock().now(), timedelta(minutes=5))
        assert (await providers.measure(asked)).values == (1.0,) * 6


async def check_family(place: Place, family: Metrics) -> None:
    one = settings(place.address, metrics=family, cluster_label="cluster")
    async with provider_pool.open_providers([one], clock=system_clock.SystemClock()) as providers:

        async def built_in(name: str, variant: str) -> tuple[float, ...]:
            found = query_templates.find(name, Method.POD_SELECTOR, one, variant=variant)
            shape = query.Shape.TOTAL if found.total else query.Shape.POINTS
            texts = [each for each in (found.query, found.total) if each]
            answers = [
                await ask(providers, place, filled(place, each, variant), shape) for each in texts
            ]
            assert all(each.values for each in answers), (family, name, variant, answers)
            return tuple(each.values[0] for each in answers)

        assert await built_in(query_templates.SUCCESS_RATE, "canary") == (pytest.approx(95.0),)
        assert await built_in(query_templates.SUCCESS_RATE, "primary") == (pytest.approx(100.0),)
        milliseconds = 80.0 if family is Metrics.NGINX else 99.5
        for variant in STEPS:
            assert await built_in(query_templates.DURATION, variant) == (
                pytest.approx(milliseconds),
            )
        failed, everything = await built_in(query_templates.ERRORS, "canary")
        assert failed / everything == pytest.approx(0.05)
        none, everything = await built_in(query_templates.ERRORS, "primary")
        assert none == 0
        assert everything > 0


async def check_clusters(place: Place) -> None:
    """Of several clusters in one place, one's failures do not count for the other."""
    one = settings(place.address, metrics=Metrics.ISTIO, cluster_label="cluster")
    found = query_templates.find(query_templates.SUCCESS_RATE, Method.ISTIO, one)
    async with provider_pool.open_providers([one], clock=system_clock.SystemClock()) as providers:
        us = await ask(providers, place, filled(place, found.query, "canary", "us"))
        eu = await ask(providers, place, filled(place, found.query, "canary", "eu"))
        asia = await ask(providers, place, filled(place, found.query, "canary", "asia"))

    assert us.values == (pytest.approx(95.0),)
    assert eu.values == (pytest.approx(100.0),)
    assert asia.reading is analysis.Reading.NO_DATA
