"""A variant stays while its router tells of requests that are under way to it."""

from pathlib import Path

import command_world
import metrics_server

GAUGE = "envoy_cluster_upstream_rq_active"
DRAIN = "      trafficRouting: {drainDelay: 1s}\n      service:\n"


async def test_clean_up_waits_for_requests_under_way(tmp_path: Path) -> None:
    async with (
        metrics_server.serve() as metrics,
        command_world.world(tmp_path, "us") as given,
    ):
        fleet = Path(given.fleet)
        written = metrics.fleet_text(fleet.read_text())
        fleet.write_text(written.replace("config: {", "config: {metrics: envoy, "))
        await given.deployed()
        # Canary's Service is asked about a few times before its requests have ended.
        counts = iter((3.0, 3.0, 2.0))
        pods: list[int] = []

        def answer(query: str, _: float) -> float:
            if "simple-canary" not in query:
                return 0.0
            pods.append("simple-canary" in str(given.running.clusters["us"].view.list("Pod")))
            return next(counts, 0.0)

        metrics.answer = answer
        given.edit("app.pipecd.yaml", "      service:\n", DRAIN)
        given.edit("deployment.yaml", "simple:v1", "simple:v2", message="Release v2")
        ended = await given.run("--strategy", "pipeline", "--output", "json")

        assert ended.code == 0, ended
        asked = [query for query in metrics.queries if "simple-canary" in query]
        assert all(query.startswith(f"sum(last_over_time({GAUGE}{{") for query in asked)
        assert pods == [True] * 4
        lines = [each["line"] for each in ended.events if each["event"] == "task-logged"]
        told = "no request is under way to {}, as the provider of metrics tells"
        assert told.format("canary") in lines
        assert told.format("baseline") in lines
