"""A directory with Flagger's files is released as it is."""

import contextlib
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib import parse

import pytest
from aiohttp import web

import command_world
import scripted_server
from kube_sandbox.apiserver.storage import verbs

PROVIDER = """
analysisProviders:
  - name: prometheus
    type: prometheus
    config: {{address: "{url}"}}
"""


PORTS = {"ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]}


@dataclass
class World:
    """Clusters, and what is measured."""

    shell: command_world.World
    prometheus: scripted_server.ScriptedServer
    #: Percent of canary's requests that succeed.
    success: float = 99.9
    queries: set[str] = field(default_factory=set)

    async def answer(self, asked: scripted_server.Asked) -> web.StreamResponse:
        form = dict(parse.parse_qsl(asked.body.decode()))
        query = {**asked.query, **form}["query"]
        self.queries.add(query)
        value = 20.0 if "quantile" in query else self.success
        sample = {"metric": {}, "value": [time.time(), str(value)]}
        data = {"resultType": "vector", "result": [sample]}
        return scripted_server.answer({"status": "success", "data": data})


@contextlib.asynccontextmanager
async def started(base: Path, *names: str) -> AsyncIterator[World]:
    """Given: the example, and a Prometheus that knows how canary does."""
    async with (
        scripted_server.serve() as prometheus,
        command_world.world(base, *names, example="flagger", istio=True) as given,
    ):
        world = World(given, prometheus)
        prometheus.handler = world.answer
        text = Path(given.fleet).read_text()
        Path(given.fleet).write_text(text + PROVIDER.format(url=prometheus.url))
        yield world


async def test_a_canary_is_carried_out_on_every_cluster(tmp_path: Path) -> None:
    """First deployment, then a release by weights: routes, pods, configuration, scaler."""
    async with started(tmp_path, "us", "eu") as world:
        given = world.shell
        first = await given.run()
        assert first.code == 0, first
        for target in ("us", "eu"):
            service = given.find(target, "Service", "greeter")
            assert service["spec"]["selector"] == {"app": "greeter"}
            assert given.find(target, "Canary.flagger.app", "greeter") is None
            await scaled(given, target, to=4)
        given.edit("workload.yaml", "GREETING: hello", "GREETING: good day", message="Say it")
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")
        given.edit("canary.yaml", "stepWeight: 50", "stepWeight: 100", message="At once")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        stages = [each["name"] for each in second.events[0]["stages"]]
        assert stages == [
            "K8S_CANARY_ROLLOUT",
            "K8S_PROGRESSIVE_TRAFFIC",
            "K8S_PRIMARY_ROLLOUT",
            "K8S_CANARY_CLEAN",
        ]
        for target in ("us", "eu"):
            assert given.images(target, "greeter") == "example/greeter:v2 4/4"
            assert given.find(target, "Deployment", "greeter-canary") is None
            assert given.find(target, "ConfigMap", "greeter-canary") is None
            config = given.find(target, "ConfigMap", "greeter")
            assert config["data"] == {"GREETING": "good day"}
            route = given.find(target, "VirtualService.networking.istio.io", "greeter")
            rule = route["spec"]["http"][0]
            assert rule["retries"]["attempts"] == 3
            assert [each["destination"]["subset"] for each in rule["route"]] == ["primary"]
        assert all('destination_workload=~"greeter-canary"' in each for each in world.queries)
        assert len(world.queries) == 2


async def test_failing_checks_bring_everything_back(tmp_path: Path) -> None:
    """Three checks below 99 %, and traffic, pods and configuration are as before."""
    async with started(tmp_path, "us") as world:
        given = world.shell
        await convert(given, threshold=1)
        first = await given.run()
        assert first.code == 0, str(first)
        world.success = 90.0
        given.edit("workload.yaml", "GREETING: hello", "GREETING: good day", message="Say it")
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run()

        assert second.code == 1, str(second)
        assert "request-success-rate" in second.err
        assert given.images("us", "greeter") == "example/greeter:v1 1/1"
        assert given.find("us", "ConfigMap", "greeter")["data"] == {"GREETING": "hello"}
        assert given.find("us", "Deployment", "greeter-canary") is None
        route = given.find("us", "VirtualService.networking.istio.io", "greeter")
        routes = route["spec"]["http"][0]["route"]
        assert [each["destination"]["subset"] for each in routes] == ["primary"]


TEMPLATES = """\
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: failures}
spec:
  provider:
    type: splunk
    address: https://api.us1.signalfx.com
    secretRef: {name: splunk}
  query: data('failures', filter=filter('workload', '{{ target }}')).sum().publish()
---
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: queue}
spec:
  provider: {type: stackdriver, secretRef: {name: google}}
  query: |
    fetch k8s_container
    | metric 'custom.googleapis.com/queue' | filter metric.workload == '{{ target }}'
    | align next_older({{ interval }})
"""


@pytest.mark.parametrize("failures", [0, 7])
async def test_metrics_of_splunk_and_google_are_asked_there(tmp_path: Path, failures: int) -> None:
    secret = tmp_path / "token"
    secret.write_text("secret-of-the-test")
    asked: list[scripted_server.Asked] = []

    async def answer(each: scripted_server.Asked) -> web.StreamResponse:
        asked.append(each)
        if each.path == "/v2/signalflow/execute":
            assert each.headers["X-SF-TOKEN"] == "secret-of-the-test"
            point = {"data": [{"tsId": "A", "value": failures}], "logicalTimestampMs": 1}
            events = (("data", point), ("control-message", {"event": "END_OF_CHANNEL"}))
            text = "".join(f"event: {name}\ndata: {json.dumps(said)}\n\n" for name, said in events)
            return web.Response(text=text, content_type="text/event-stream")
        assert each.path == "/v3/projects/shop-1/timeSeries:query"
        assert each.headers["Authorization"] == "Bearer secret-of-the-test"
        points = [{"values": [{"int64Value": "3"}]}]
        return scripted_server.answer({"timeSeriesData": [{"pointData": points}]})

    async with started(tmp_path, "us") as world, scripted_server.serve() as other:
        given, other.handler = world.shell, answer
        common = {"address": other.url, "tokenFile": str(secret)}
        entries = [
            {"name": "splunk", "type": "splunk", "config": common},
            {
                "name": "stackdriver",
                "type": "stackdriver",
                "config": {**common, "project": "shop-1"},
            },
        ]
        fleet = Path(given.fleet)
        added = "".join(f"  - {json.dumps(each)}\n" for each in entries)
        fleet.write_text(fleet.read_text() + added)
        text = (given.directory / "canary.yaml").read_text()
        start = text[: text.index("      - name: request-duration")]
        for name in ("failures", "queue"):
            start += f"      - name: {name}\n        interval: 1m\n"
            start += f"        thresholdRange: {{max: 5}}\n        templateRef: {{name: {name}}}\n"
        start = start.replace("threshold: 3", "threshold: 1").replace(
            "stepWeight: 50", "stepWeight: 100"
        )
        given.write({"canary.yaml": start, "templates.yaml": TEMPLATES}, message="Measure")
        first = await given.run()
        assert first.code == 0, str(first)
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == bool(failures), str(second)
        bodies = {each.path: each.body.decode() for each in asked}
        assert "'workload', 'greeter-canary'" in bodies["/v2/signalflow/execute"]
        query = json.loads(bodies["/v3/projects/shop-1/timeSeries:query"])["query"]
        assert "metric.workload == 'greeter-canary'" in query
        assert "| within d'" in query
        assert "secret-of-the-test" not in second.out + second.err
        version = "v1" if failures else "v2"
        assert given.images("us", "greeter").startswith(f"example/greeter:{version}")
        if failures:
            assert "failures: 7 is outside the expected ≤ 5" in second.events[-1]["reason"]


async def test_what_skips_the_analysis_still_starts_canary_first(tmp_path: Path) -> None:
    async with started(tmp_path, "us") as world:
        given = world.shell
        text = (given.directory / "canary.yaml").read_text()
        start = text[: text.index("  analysis:")] + "  skipAnalysis: true\n"
        given.write({"canary.yaml": start}, message="No analysis")
        first = await given.run()
        assert first.code == 0, str(first)
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        stages = [each["name"] for each in second.events[0]["stages"]]
        assert stages == ["K8S_CANARY_ROLLOUT", "K8S_PRIMARY_ROLLOUT", "K8S_CANARY_CLEAN"]
        assert given.images("us", "greeter").startswith("example/greeter:v2")


async def test_the_converted_file_is_carried_out_like_the_canary(tmp_path: Path) -> None:
    """In place of the Canary, in steps of a second."""
    async with started(tmp_path, "us") as world:
        given = world.shell
        await convert(given)
        linted = await given.volary("lint", ".")
        assert linted.code == 0, str(linted)
        first = await given.run()
        assert first.code == 0, str(first)
        await scaled(given, "us", to=4)
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        assert given.images("us", "greeter") == "example/greeter:v2 4/4"
        weights = [
            each["observedWeights"]["canary"]
            for each in second.events
            if "canary" in each.get("observedWeights", {})
        ]
        assert weights == sorted(weights)
        assert {50, 100} <= set(weights)
        assert "greeter-canary has 4 pods for 100% of the traffic" in second.out


async def test_blue_green_without_a_mesh(tmp_path: Path) -> None:
    """Provider `kubernetes`: the made Service is switched, and switched back at promotion."""
    async with started(tmp_path, "us") as world:
        given = world.shell
        text = (given.directory / "canary.yaml").read_text()
        text = text.replace("provider: istio", "provider: kubernetes")
        text = re.sub(r"    timeout: 5s\n    retries:\n(      .*\n)+", "", text)
        given.write({"canary.yaml": text.replace("stepWeight: 50", "iterations: 2")})
        await convert(given)
        first = await given.run()
        assert first.code == 0, str(first)
        selector = {"app": "greeter", "pipecd.dev/variant": "primary"}
        assert given.find("us", "Service", "greeter")["spec"]["selector"] == selector
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        assert given.images("us", "greeter") == "example/greeter:v2 1/1"
        assert given.find("us", "Service", "greeter")["spec"]["selector"] == selector
        weights = [
            each["observedWeights"]["canary"]
            for each in second.events
            if "canary" in each.get("observedWeights", {})
        ]
        assert set(weights) == {100}


async def test_what_flagger_made_is_taken_over(tmp_path: Path) -> None:
    """Its Service and VirtualService lead to a copy that goes away."""
    async with started(tmp_path, "us") as world:
        given = world.shell
        flaggers(given, "v1", "Service", {"selector": {"app": "greeter-primary"}, **PORTS})
        route = [{"destination": {"host": "greeter-primary"}, "weight": 100}]
        spec = {"hosts": ["greeter"], "http": [{"route": route}]}
        flaggers(given, "networking.istio.io/v1", "VirtualService", spec)

        ended = await given.run()

        assert ended.code == 0, str(ended)
        service = given.find("us", "Service", "greeter")
        assert service["spec"]["selector"] == {"app": "greeter"}
        live = given.find("us", "VirtualService.networking.istio.io", "greeter")
        (only,) = live["spec"]["http"][0]["route"]
        assert only["destination"] == {"host": "greeter", "subset": "primary"}


async def test_a_conversion_can_be_taken_back(tmp_path: Path) -> None:
    """What runs was described by a Canary, what fails by a file of ours."""
    async with started(tmp_path, "us") as world:
        given = world.shell
        first = await given.run()
        assert first.code == 0, str(first)
        await convert(given, threshold=1)
        world.success = 90.0
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 1, str(second)
        assert second.events[-1]["status"] == "rolled_back", str(second)
        assert given.images("us", "greeter") == "example/greeter:v1 1/1"


def flaggers(given: command_world.World, version: str, kind: str, spec: dict[str, Any]) -> None:
    """Given: an object that Flagger wrote."""
    registry = given.running.clusters["us"].registry
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "greeter"}, "spec": spec}
    options = verbs.Options(manager="flagger", agent="flagger")
    registry.create(registry.kind(version, kind), "default", body, options)


async def convert(given: command_world.World, *, threshold: int = 3) -> None:
    """Given: a file of ours in place of the Canary, in steps of a second."""
    converted = await given.volary("convert", "flagger", "canary.yaml")
    assert converted.code == 0, str(converted)
    (given.directory / "canary.yaml").unlink()
    text = converted.out.replace("10s", "1s").replace("threshold: 3", f"threshold: {threshold}")
    given.write({"volary.yaml": text}, message="Convert")


async def scaled(given: command_world.World, target: str, *, to: int) -> None:
    """Given: an autoscaler has decided how many pods primary has."""
    cluster = given.running.clusters[target]
    cluster.registry.patch(
        cluster.registry.kind("apps/v1", "Deployment"),
        "default",
        "greeter",
        {"spec": {"replicas": to}},
        verbs.PatchType.MERGE,
        verbs.Options(manager="kube-controller-manager", agent="kube-controller-manager"),
    )
    await cluster.until(
        lambda view: view.get("Deployment", "default", "greeter")["status"]["readyReplicas"] == to
    )
