"""One look at a cluster: does it answer, and does it say that it is ready?

``/readyz`` is asked, or ``/healthz`` where there is none (Karmada does the same). A cluster
that answers but does not let us ask counts as ready: it is there, and what may not be done
in it shows where it is tried.
"""

import asyncio
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import errors as cluster_errors
from volary.clusters import pool
from volary.model import attendance, errors

_READY, _LEGACY = "/readyz", "/healthz"
_State = attendance.ClusterState
#: What a gateway answers that finds nobody behind it.
_GATEWAY = frozenset({502, 503, 504})
#: Somebody is there, but not whom we trust.
_ANSWERED = frozenset({cluster_errors.Silence.UNTRUSTED, cluster_errors.Silence.TLS})


async def probe(clusters: pool.Pool, name: str, patience: timedelta) -> attendance.Probe:
    """Look at a cluster once; every failure is an answer."""
    found = await clusters.client(name)
    if isinstance(found, pool.Unavailable):
        return attendance.Probe(_State.NOT_READY, f"it cannot be asked: {found.reason}")
    seconds = patience.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            await _check(found, seconds)
    except TimeoutError:
        return attendance.Probe(_State.UNREACHABLE, f"no answer within {seconds:g} s")
    except errors.VolaryError as error:
        return _judge(error)
    return attendance.Probe(_State.READY)


def _judge(error: errors.VolaryError) -> attendance.Probe:
    """Tell a cluster that does not answer from one that says no."""
    match error:
        case cluster_errors.Forbidden():
            return attendance.Probe(_State.READY)
        case cluster_errors.Unreachable():
            answered = error.silence in _ANSWERED
        case cluster_errors.ServerError():
            answered = error.status not in _GATEWAY
        case _:
            answered = True
    reason = error.problems[0].message if isinstance(error, errors.UserError) else str(error)
    return attendance.Probe(_State.NOT_READY if answered else _State.UNREACHABLE, reason)


async def identity(clusters: pool.Pool, name: str, patience: timedelta) -> str:
    """Return what tells a cluster from one built in its place; empty: it does not say."""
    found = await clusters.client(name)
    if isinstance(found, pool.Unavailable):
        return ""
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await found.identity()
    except (TimeoutError, errors.VolaryError):
        return ""


async def _check(client: clients.Client, seconds: float) -> None:
    try:
        await client.check(_READY, timeout=seconds)
    except cluster_errors.NotFound:
        await client.check(_LEGACY, timeout=seconds)
