"""Probing a cluster: does it answer, and does it say that it is ready?

``/readyz`` is asked, or ``/healthz`` where there is none (Karmada does the same). A cluster
that answers but does not let us ask counts as ready: it is there, and what may not be done
in it shows where it is tried.
"""

import asyncio
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.client import client_pool
from volary.model import errors
from volary.model.fleet import cluster_health

_READY, _LEGACY = "/readyz", "/healthz"
_State = cluster_health.ClusterState
#: What a gateway answers that finds nobody behind it.
_GATEWAY = frozenset({502, 503, 504})
#: Somebody is there, but not whom we trust.
_ANSWERED = frozenset({api_errors.UnreachableReason.UNTRUSTED, api_errors.UnreachableReason.TLS})


async def probe(
    clusters: client_pool.ClientPool, name: str, patience: timedelta
) -> cluster_health.ProbeResult:
    """Look at a cluster once; every failure is an answer."""
    client = await clusters.client(name)
    if isinstance(client, client_pool.Unavailable):
        return cluster_health.ProbeResult(_State.NOT_READY, f"it cannot be asked: {client.reason}")
    seconds = patience.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            try:
                await client.check(_READY, timeout=seconds)
            except api_errors.NotFound:
                await client.check(_LEGACY, timeout=seconds)
    except TimeoutError:
        return cluster_health.ProbeResult(_State.UNREACHABLE, f"no answer within {seconds:g} s")
    except errors.VolaryError as error:
        return _classify(error)
    return cluster_health.ProbeResult(_State.READY)


def _classify(error: errors.VolaryError) -> cluster_health.ProbeResult:
    """Tell a cluster that does not answer from one that says no."""
    match error:
        case api_errors.Forbidden():
            return cluster_health.ProbeResult(_State.READY)
        case api_errors.Unreachable():
            answered = error.reason in _ANSWERED
        case api_errors.ServerError():
            answered = error.status not in _GATEWAY
        case _:
            answered = True
    reason = error.problems[0].message if isinstance(error, errors.UserError) else str(error)
    return cluster_health.ProbeResult(_State.NOT_READY if answered else _State.UNREACHABLE, reason)


async def identity(clusters: client_pool.ClientPool, name: str, patience: timedelta) -> str:
    """Return what distinguishes a cluster from one built in its place; empty: it does not say."""
    client = await clusters.client(name)
    if isinstance(client, client_pool.Unavailable):
        return ""
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await client.identity()
    except (TimeoutError, errors.VolaryError):
        return ""
