"""`volary run` waits for a cluster, and goes on the moment the cluster is back."""

import asyncio
from datetime import timedelta
from pathlib import Path

import command_world
import process_time
from volary.clusters.client import client_pool
from volary.clusters.transport import retries, transports
from volary.controller import local_runs, system_clock
from volary.controller.persistence import redaction
from volary.controller.planning import opened_applications, preparation
from volary.controller.runs import ready_runs
from volary.engine.runs import policies
from volary.model import statuses
from volary.model.fleet import cluster_health

LIMITS = transports.Limits(retry=retries.Policy(tries=1))
HEALTH = cluster_health.HealthRules(interval=timedelta(milliseconds=50))


async def test_a_local_run_that_waits_goes_on_because_a_probe_sees_the_cluster(
    tmp_path: Path,
) -> None:
    """Its timer would not let it go on for days, so that nothing but the probe is the cause."""
    clock = system_clock.SystemClock()
    async with command_world.world(tmp_path, "us", "eu", speed=60.0) as given:
        wish = preparation.RunOptions(
            str(given.directory), on_unreachable=policies.OnUnreachable.WAIT
        )
        members = opened_applications.load_fleet(given.fleet, "")
        opened = await opened_applications.open_application(str(given.directory))
        async with (
            client_pool.open_pool(members, clock=clock, limits=LIMITS) as clusters,
            local_runs.open_store(local_runs.IN_MEMORY, clock) as store,
        ):
            dependencies = ready_runs.Dependencies(
                local_runs.LocalRepositories(),
                clusters,
                clock,
                secrets=redaction.SecretValues(),
                again_after=timedelta(days=1),
            )
            prepared = await preparation.prepare(wish, clusters, opened)
            name = local_runs.key_of(opened, members).name
            async with local_runs.hold(
                store, name, dependencies, clusters, health=HEALTH
            ) as application:
                session = await application.begin(prepared, (), "ana", ())
                given.running.clusters["eu"].faults.change({"lost": "refuse"})
                async with asyncio.TaskGroup() as group:
                    running = group.create_task(application.carry_out(session))
                    await process_time.until(lambda: session.runner.awaited == ("eu",))
                    waits = session.runner.run
                    given.running.clusters["eu"].faults.clear()
                    ended = await running

    waiting, done = (run.current.task("eu") for run in (waits, ended))
    assert waiting is not None
    assert done is not None
    assert (waiting.status, waiting.attempt) == (statuses.TaskStatus.WAITING, 1)
    assert (done.status, done.attempt) == (statuses.TaskStatus.SUCCEEDED, 2)
    assert ended.status is statuses.RunStatus.SUCCEEDED
