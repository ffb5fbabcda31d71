"""Releases that are judged by logs in Loki, and by a webhook, against real HTTP servers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import command_world
import loki_server
import scripted_server
from measured_world import V1, V2, findings

_STREAM = '{app="{{ name }}",cluster="{{ cluster }}",variant="{{ variant }}"}'
LINES = f"""\
- name: errors-in-logs
  provider: judge
  interval: 1s
  kind: proportion
  query: |-
    sum(count_over_time({_STREAM} |= "level=error" [1s])) or vector(0)
  totalQuery: |-
    sum(count_over_time({_STREAM} [1s]))
  expected: {{max: 0.05}}
"""
WEBHOOK = """\
- name: smoke-test
  provider: judge
  interval: 1s
  query: |
    POST /judge?strict=true
    $.verdict.passed
    {{ context }}
  expected: {min: 1}
"""


async def given_release(
    given: command_world.World, metric: str, provider: dict[str, object]
) -> None:
    """Given: v1 everywhere, whoever is asked, and a new version that this metric judges."""
    await given.deployed()
    fleet = Path(given.fleet)
    entry = {"analysisProviders": [{"name": "judge", **provider}]}
    fleet.write_text(f"{fleet.read_text().rstrip()}\n{yaml.safe_dump(entry)}")
    stages: list[dict[str, Any]] = [
        {"name": "K8S_CANARY_ROLLOUT", "with": {"replicas": 1}},
        {
            "name": "ANALYSIS",
            "with": {
                "duration": "3s",
                "holdFor": "1s",
                "judgePods": False,
                "metrics": yaml.safe_load(metric),
            },
        },
        {"name": "K8S_PRIMARY_ROLLOUT"},
        {"name": "K8S_CANARY_CLEAN"},
    ]
    application = {
        "apiVersion": "volary.dev/v1",
        "kind": "Application",
        "metadata": {"name": "simple", "labels": {"team": "web"}},
        "spec": {
            "service": {"kind": "Service", "name": "simple"},
            "workloads": [{"kind": "Deployment", "name": "simple"}],
            "pipeline": {"stages": stages},
        },
    }
    (given.directory / "app.pipecd.yaml").unlink(missing_ok=True)
    given.write({"volary.yaml": yaml.safe_dump(application, sort_keys=False)}, message="Measure")
    given.edit("deployment.yaml", V1, V2, message="Release v2")


async def released(given: command_world.World) -> command_world.Ended:
    return await given.run("--strategy", "pipeline", "--output", "json")


@pytest.mark.parametrize("errors", [0, 30])
async def test_logs_in_loki_judge_a_release(tmp_path: Path, errors: int) -> None:
    def lines(labels: Mapping[str, str]) -> Iterable[str]:
        assert labels["app"] == "simple"
        bad = errors if labels["cluster"] == "eu" and labels["variant"] == "canary" else 0
        return ["level=error msg=broken"] * bad + ["level=info msg=served"] * 100

    async with loki_server.serve() as loki, command_world.world(tmp_path, "us", "eu") as given:
        loki.lines = lines
        config = {"address": loki.server.url, "tenant": "web"}
        await given_release(given, LINES, {"type": "loki", "config": config})
        ended = await released(given)
        measured = [each["document"] for each in findings(ended, "measurement")]

        assert measured
        assert {tuple(each["totals"]) for each in measured} == {(100.0,), (100.0 + errors,)}
        if not errors:
            assert ended.code == 0, ended
            assert {*map(given.images, ("us", "eu"))} == {"example/simple:v2 2/2"}
            return
        assert ended.code == 1, ended
        assert ended.events[-1]["status"] == "rolled_back", ended
        assert "errors-in-logs on eu: " in ended.events[-1]["reason"]
        assert {*map(given.images, ("us", "eu"))} == {"example/simple:v1 2/2"}
        assert given.find("eu", "Deployment", "simple-canary") is None


async def test_a_canary_without_logs_is_no_good_one(tmp_path: Path) -> None:
    async with loki_server.serve() as loki, command_world.world(tmp_path, "us") as given:
        config = {"address": loki.server.url, "tenant": "web"}
        await given_release(given, LINES, {"type": "loki", "config": config})
        ended = await released(given)

        assert ended.code == 1, ended
        assert "until the deadline" in ended.events[-1]["reason"]
        assert given.images("us") == "example/simple:v1 2/2"


@pytest.mark.parametrize("is_good", [True, False])
async def test_a_webhook_judges_what_it_is_told_about(tmp_path: Path, is_good: bool) -> None:
    async def judge(asked: scripted_server.Asked) -> web.StreamResponse:
        assert asked.method == "POST"
        context = asked.json
        assert isinstance(context, dict)
        passed = is_good or context["cluster"] != "eu"
        return scripted_server.answer({"verdict": {"passed": passed, "by": "hand"}})

    async with (
        scripted_server.serve() as server,
        command_world.world(tmp_path, "us", "eu") as given,
    ):
        server.handler = judge
        config = {"address": server.url, "allowPost": True}
        await given_release(given, WEBHOOK, {"type": "http", "config": config})
        ended = await released(given)
        told = [asked.json for asked in server.seen]

        assert {each["cluster"] for each in told if isinstance(each, dict)} == {"us", "eu"}
        first = told[0]
        assert isinstance(first, dict)
        names = ("application", "labels", "metric", "variant", "workload", "namespace")
        assert [first[name] for name in names] == [
            "simple",
            {"team": "web"},
            "smoke-test",
            "canary",
            "simple-canary",
            "default",
        ]
        assert {each["run"] for each in told if isinstance(each, dict)} == {first["run"]} != {""}
        assert len(first["commit"]) == 40
        if is_good:
            assert ended.code == 0, ended
            assert {*map(given.images, ("us", "eu"))} == {"example/simple:v2 2/2"}
            return
        assert ended.code == 1, ended
        assert ended.events[-1]["status"] == "rolled_back", ended
        assert "smoke-test on eu: " in ended.events[-1]["reason"]
        assert "0 is outside the expected ≥ 1" in ended.events[-1]["reason"]
        assert {*map(given.images, ("us", "eu"))} == {"example/simple:v1 2/2"}
