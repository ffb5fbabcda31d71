"""ANALYSIS on real clusters, against a real HTTP server that speaks like Prometheus."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import command_world
import metrics_server
from controller_process import Nursery

V1, V2 = "simple:v1", "simple:v2"
ANALYSIS = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_BASELINE_ROLLOUT, with: {replicas: 1}}
    - name: ANALYSIS
      with:
        duration: 3s
        holdFor: 1s
        metrics:
        - name: errors
          provider: prom
          query: 'errors{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
          interval: 1s
          expected: {max: 0.05}
          MORE
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
    - {name: K8S_BASELINE_CLEAN}
"""


@dataclass
class World:
    """Clusters with v1 everywhere, v2 committed, and somebody who knows the numbers."""

    clusters: command_world.World
    metrics: metrics_server.MetricsServer

    def measures(self, more: str = "{}") -> None:
        """Given: an application file with an analysis, and a new version."""
        text = ANALYSIS.replace("MORE", f"<<: {more}")
        (self.clusters.directory / "app.pipecd.yaml").unlink(missing_ok=True)
        self.clusters.write({"volary.yaml": text}, message="Measure")
        self.clusters.edit("deployment.yaml", V1, V2, message="Release v2")

    async def run(self) -> command_world.Ended:
        """When the new version is released."""
        return await self.clusters.run("--strategy", "pipeline", "--output", "json")

    def found(self, ended: command_world.Ended, kind: str) -> list[dict[str, Any]]:
        """Then: what the analyses reported."""
        return [
            each for each in ended.events if each["event"] == "task-found" and each["kind"] == kind
        ]


@contextlib.asynccontextmanager
async def world(base: Path, *names: str) -> AsyncIterator[World]:
    async with (
        metrics_server.serve() as metrics,
        command_world.world(base, *names) as clusters,
    ):
        fleet = Path(clusters.fleet)
        fleet.write_text(metrics.fleet_text(fleet.read_text()))
        await clusters.deployed()
        yield World(clusters, metrics)


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, "us", "eu") as found:
        yield found


async def test_good_numbers_let_the_release_pass(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.01
    given.measures()
    ended = await given.run()

    assert ended.code == 0, ended
    for name in ("us", "eu"):
        assert given.clusters.images(name) == "example/simple:v2 2/2"
    measured = given.found(ended, "measurement")
    assert {each["document"]["query"] for each in measured} == {
        f'errors{{cluster="{name}",variant="canary"}}' for name in ("us", "eu")
    }
    assert [each["document"]["values"] for each in measured if each["target"] == "us"] == [
        [0.01],
        [0.01],
        [0.01],
    ]
    assert set(given.metrics.queries) == {each["document"]["query"] for each in measured}


async def test_bad_numbers_take_the_release_back_everywhere(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
    given.measures()
    ended = await given.run()

    assert ended.code == 1, ended
    last = ended.events[-1]
    assert last["status"] == "rolled_back", last
    assert "errors on eu: " in last["reason"]
    assert "0.5 is outside the expected ≤ 0.05" in last["reason"]
    for name in ("us", "eu"):
        assert given.clusters.images(name) == "example/simple:v1 2/2"
        assert given.clusters.find(name, "Deployment", "simple-canary") is None


async def test_no_data_and_errors_are_no_pass(given: World) -> None:
    given.metrics.answer = lambda query, time: None if 'cluster="us"' in query else "overloaded"
    given.measures()
    ended = await given.run()
    said = {
        each["target"]: each["document"]["message"] for each in given.found(ended, "measurement")
    }

    assert ended.code == 1, ended
    assert "until the deadline" in ended.events[-1]["reason"]
    assert said["us"] == "prom has no data for the query"
    assert "overloaded" in said["eu"]
    assert given.clusters.images("us") == "example/simple:v1 2/2"


async def test_a_provider_that_is_down_is_no_pass(given: World) -> None:
    async with metrics_server.serve() as other:
        gone = other.url
    fleet = Path(given.clusters.fleet)
    fleet.write_text(fleet.read_text().replace(given.metrics.url, gone))
    given.measures()
    ended = await given.run()

    assert ended.code == 1, ended
    assert "errors on " in ended.events[-1]["reason"]
    assert "until the deadline" in ended.events[-1]["reason"]
    assert given.found(ended, "measurement")[0]["document"]["reading"] == "error"


async def test_a_pooled_verdict_goes_over_one_bad_region_and_names_it(tmp_path: Path) -> None:
    names = ("us", "eu", "asia", "africa")
    async with world(tmp_path, *names) as given:
        given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
        given.measures("{scope: pooled, failureLimit: 1}")
        ended = await given.run()

        assert ended.code == 0, ended
        verdicts = given.found(ended, "verdict")
        sentences = " ".join(each["document"]["sentence"] for each in verdicts)
        assert "eu differs from the other clusters" in sentences
        own = {each["target"]: each["document"]["own"]["result"] for each in verdicts}
        assert own == {"us": "pass", "asia": "pass", "africa": "pass", "eu": "fail"}


# The controller.

_STATUS = "select status from runs order by created desc limit 1"
_LOOKS = "select count(*) from findings where kind = 'measurement' and target = 'us'"


async def test_killed_in_the_middle_an_analysis_goes_on_and_counts_what_it_saw(
    tmp_path: Path,
) -> None:
    """Four failed looks are allowed; five are there only with those of before the crash."""
    async with world(tmp_path, "us") as given:
        given.metrics.answer = lambda query, time: 0.5
        given.measures("{failureLimit: 4}")
        file = given.clusters.directory / "volary.yaml"
        file.write_text(file.read_text().replace("duration: 3s", "duration: 60s"))
        command_world.commit(given.clusters.directory, "Longer")
        nest = Nursery(tmp_path / "volary.db", given.clusters.directory, given.clusters.fleet)
        async with nest.life() as process:
            await _until(nest, _LOOKS, lambda found: found and found >= 3)
            os.kill(process, signal.SIGKILL)
        kept = json.loads(nest.ask("select document from task_memories")[0][0])
        async with nest.life():
            await _until(nest, _STATUS, lambda found: found in ("failed", "rolled_back"))
            await _until(nest, _LOOKS, lambda found: found >= 5)
        reason = nest.ask("select reason from runs order by created desc limit 1")[0][0]
        looks = nest.ask(_LOOKS)[0][0]

        assert "errors on us: 5 of " in reason, reason
        assert looks <= 7, "it did not begin again"
        assert json.loads(nest.ask("select document from task_memories")[0][0]) == kept


async def _until(nest: Any, query: str, holds: Any) -> None:
    async with asyncio.timeout(40):
        while True:
            rows = nest.ask(query)
            if rows and holds(rows[0][0]):
                return
            await asyncio.sleep(0.02)


# Without a release.


async def test_metrics_are_tried_without_a_release(given: World) -> None:
    given.metrics.answer = lambda query, time: 0.5 if 'cluster="eu"' in query else 0.01
    given.measures()
    before = given.clusters.versions()
    words = ("analysis", "test", ".", "--fleet", given.clusters.fleet)
    ended = await given.clusters.volary(*words, "--at", "-10m", "--looks", "3")
    one = await given.clusters.volary(*words, "--cluster", "us")

    assert ended.code == 1, ended
    assert "fail: errors on eu: " in ended.out
    assert "pass: errors on us: " in ended.out
    assert 'errors (canary): errors{cluster="us",variant="canary"}' in ended.out
    assert (one.code, "eu" in one.out) == (0, False), one
    assert given.clusters.versions() == before
    times = {
        float(each.query["time"]) for each in given.metrics.server.seen if "time" in each.query
    }
    assert len(times) >= 4
