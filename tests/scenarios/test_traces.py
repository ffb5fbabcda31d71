"""A release as one trace: the run, its stages, what was done on each cluster, each request."""

import asyncio
import json
import signal
from pathlib import Path

import aiohttp

import command_world
import process_time
import span_collector
import team_world


async def test_a_release_is_one_trace_and_counted(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of-the-collector\n")
    async with (
        span_collector.collecting() as collector,
        command_world.world(tmp_path, "us", "eu") as world,
        team_world.team(
            tmp_path,
            world,
            more=f"tracing: {{endpoint: '{collector.url}', tokenFile: {tmp_path}/token}}\n",
            arguments=("--log-format", "json"),
        ) as people,
    ):
        await people.known()
        ended = await people.volary("status", "simple", "--wait")
        runs = json.loads((await people.volary("get", "runs", "-o", "json")).out)
        metrics = await _metrics(people)
        run = await collector.until("run release")
        stage = await collector.until("K8S_SYNC")
        people.process.interrupt(signal.SIGTERM)
        log = (await people.process.ended()).err

    tasks = [span for span in collector.within(run) if "volary.attempt" in span.attributes]
    written = [span for span in collector.within(run) if span.name == "PATCH"]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert ended.code == 0
    assert run.attributes["volary.run.id"] == runs[0]["id"]
    assert (run.attributes["volary.application"], run.failed) == ("simple", False)
    assert stage.trace == run.trace
    assert {task.attributes["volary.cluster"] for task in tasks} == {"us", "eu"}
    assert {span.attributes["volary.cluster"] for span in written} == {"us", "eu"}
    assert all(span.attributes["http.response.status_code"] in (200, 201) for span in written)
    assert [span.trace for span in collector.named("plan")] == [run.trace]
    assert collector.named("GET /api/v1/applications/{application}")
    assert collector.authorizations == {"Bearer of-the-collector"}
    assert 'volary_run_seconds_count{kind="release",status="succeeded"} 1.0' in metrics
    assert 'volary_stage_seconds_count{stage="K8S_SYNC",status="succeeded"} 1.0' in metrics
    assert lines
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


async def _metrics(people: team_world.Team) -> str:
    async with (
        asyncio.timeout(process_time.HANG),
        aiohttp.ClientSession() as session,
        session.get(
            f"{people.url}/metrics", headers={"authorization": f"Bearer {people.token}"}
        ) as answer,
    ):
        return await answer.text()
