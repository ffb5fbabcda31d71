"""Asks witnesses whether users of a cluster are served. What they say is all that counts.

An external probe that does not answer has said nothing: that nobody gets through from here is what
made us ask in the first place.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from volary.model import errors
from volary.model.fleet import fleets
from volary.model.placement import failover_rules
from volary.placement import cluster_manifests
from volary.stages import webhooks

_LOG = logging.getLogger(__name__)
_SERVED_BELOW = 400


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What came of asking a witness."""

    #: Whether users of the cluster are served; None: the witness did not say.
    served: bool | None = None
    #: Why it was not asked at all, in a clause; empty: it was.
    refusal: str = ""


@dataclass(slots=True)
class RefusalLog:
    """Logs witnesses that are not asked: once, and again when the reason is another one."""

    #: By application and cluster, as of the last time.
    _told: dict[str, Mapping[str, str]] = field(default_factory=dict, init=False)

    def tell(self, application: str, refused: Mapping[str, str]) -> None:
        """Log what is new among the reasons, by cluster, why a witness is not asked."""
        before, self._told[application] = self._told.get(application, {}), refused
        for cluster, why in refused.items():
            if before.get(cluster) != why:
                _LOG.warning(
                    "the external probe of %s for %s is not sent: %s", application, cluster, why
                )


async def ask(
    witness: failover_rules.ExternalProbe, cluster: fleets.Cluster, reach: webhooks.Reach
) -> ProbeAnswer:
    """Ask whether users of a cluster are served; never raises for what the other side does."""
    try:
        url = cluster_manifests.fill(witness.url, cluster)
    except errors.UserError as error:
        return ProbeAnswer(refusal=error.problems[0].message)
    problem = webhooks.refusal(url, reach)
    if problem:
        return ProbeAnswer(refusal=problem)
    seconds = witness.timeout.total_seconds()
    try:
        async with (
            aiohttp.ClientSession(connector=webhooks.connector(reach)) as session,
            session.get(
                url,
                headers={"User-Agent": "volary"},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response,
        ):
            return ProbeAnswer(response.status < _SERVED_BELOW)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return ProbeAnswer(refusal=webhooks.unreached(error))
