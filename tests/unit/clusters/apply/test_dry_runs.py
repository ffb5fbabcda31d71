"""A dry run writes nothing: one without an answer leaves the cluster as untouched as it was."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

import stage_world
from scripted_server import Asked, ScriptedServer, answer, serve
from stage_world import NEW, OLD
from volary.clusters.client import client_pool
from volary.clusters.transport import circuit_breaker, retries, transports
from volary.model import statuses
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import rollout_stages

#: Asked once: a write without an answer is not repeated.
LIMITS = transports.Limits(
    retry=retries.Policy(tries=1), circuit=circuit_breaker.Rules(failures=100, lasting=60, pause=60)
)


@dataclass
class Gateway:
    """Passes requests on to a cluster, but says of some that nobody answered in time."""

    url: str
    session: aiohttp.ClientSession
    #: Of patches: whether those that write nothing are lost, or those that write.
    loses_dry_runs: bool

    async def __call__(self, asked: Asked) -> web.StreamResponse:
        if asked.method == "PATCH" and ("dryRun" in asked.query) is self.loses_dry_runs:
            body = {"kind": "Status", "status": "Failure", "code": 504, "reason": "Timeout"}
            return answer({**body, "message": "it took too long"}, 504)
        kept = {
            name: asked.headers[name]
            for name in ("Accept", "Authorization", "Content-Type")
            if name in asked.headers
        }
        async with self.session.request(
            asked.method, self.url + str(asked.raw.rel_url), data=asked.body, headers=kept
        ) as reply:
            return web.Response(
                body=await reply.read(), status=reply.status, content_type=reply.content_type
            )


@contextlib.asynccontextmanager
async def behind(
    given: stage_world.World, folder: Path, *, loses_dry_runs: bool
) -> AsyncIterator[ScriptedServer]:
    """Given: requests to the cluster pass a gateway."""
    us = given.running.clusters["us"]
    async with serve() as server, aiohttp.ClientSession() as session:
        server.handler = Gateway(us.url, session, loses_dry_runs)
        config = us.kubeconfig_path.read_text().replace(us.url, server.url)
        (folder / "config").write_text(config)
        member = fleets.Cluster("us", kubeconfig=(str(folder / "config"),))
        async with client_pool.open_pool(
            fleets.Fleet((member,)), clock=stage_world.Clock(), limits=LIMITS
        ) as clients:
            given.clients = clients
            yield server


@pytest.mark.parametrize(
    ("loses_dry_runs", "touched"), [(True, False), (False, True)], ids=["dry runs", "writes"]
)
async def test_only_a_write_without_an_answer_may_have_touched_the_cluster(
    tmp_path: Path, loses_dry_runs: bool, touched: bool
) -> None:
    async with stage_world.world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = [
            *given.sources[NEW][:2],
            stage_world.made(stage_world.config(greeting="hi")),
        ]
        async with behind(given, tmp_path, loses_dry_runs=loses_dry_runs):
            outcomes = await given.run(
                rollout_stages.SYNC.name, rollout_stages.SyncOptions(), limit=5.0
            )

    assert outcomes["us"].status is not statuses.TaskStatus.SUCCEEDED, outcomes["us"]
    assert "it took too long" in outcomes["us"].reason
    assert outcomes["us"].touched is touched
