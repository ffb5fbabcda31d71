"""A dry run writes nothing: one without an answer leaves the cluster as untouched as it was."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

import stage_world
from fixed_clock import FixedClock
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
