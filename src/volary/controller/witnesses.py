"""Asks witnesses whether users of a cluster are served. What they say is all that counts.

A witness that does not answer has said nothing: that nobody gets through from here is what made
us ask in the first place.
"""

import asyncio
import logging

import aiohttp

from volary.model import errors, failover, fleet
from volary.placement import differences
from volary.stages import webhooks

_LOG = logging.getLogger(__name__)
_SERVED_BELOW = 400


async def ask(
    witness: failover.Witness, cluster: fleet.Cluster, reach: webhooks.Reach
) -> bool | None:
    """Return whether users of a cluster are served; None: the witness did not say."""
    try:
        url = differences.fill(witness.url, cluster)
    except errors.UserError as error:
        _LOG.warning("the witness of %s cannot be asked: %s", cluster.name, error)
        return None
    problem = webhooks.refusal(url, reach)
    if problem:
        _LOG.warning("the witness of %s is not asked: %s", cluster.name, problem)
        return None
    seconds = witness.timeout.total_seconds()
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(connector=webhooks.connector(reach)) as session,
            session.get(
                url,
                headers={"User-Agent": "volary"},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response,
        ):
            return response.status < _SERVED_BELOW
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
