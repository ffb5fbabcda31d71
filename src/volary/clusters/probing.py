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
    except cluster_errors.Forbidden:
        return attendance.Probe(_State.READY)
    except cluster_errors.Unreachable as error:
        state = _State.NOT_READY if error.silence in _ANSWERED else _State.UNREACHABLE
        return attendance.Probe(state, str(error))
    except cluster_errors.ServerError as error:
        state = _State.UNREACHABLE if error.status in _GATEWAY else _State.NOT_READY
        return attendance.Probe(state, str(error))
    except errors.UserError as error:
        return attendance.Probe(
            _State.NOT_READY, f"it cannot be asked: {error.problems[0].message}"
        )
    except errors.VolaryError as error:
        return attendance.Probe(_State.NOT_READY, str(error))
    return attendance.Probe(_State.READY)


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
