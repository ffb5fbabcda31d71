"""Asks an API server which kinds it serves, and remembers that.

Discovery says which kinds there are and nothing of any object, and an API server tells everybody
the same who may ask it. So clients that reach a server over one transport share what was
discovered, on whoever's behalf they ask for the rest.
"""

import asyncio

from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.transport import transports
from volary.concurrency import fan_out
from volary.model import errors

#: What an aggregated API whose server is down answers with.
_BROKEN_GROUP = (api_errors.ServerError, api_errors.NotFound, api_errors.Forbidden)


class Discoverer:
    """What one API server serves."""

    def __init__(self, sender: transports.Transport) -> None:
        self._sender = sender
        self._catalog: discovery.Catalog | None = None
        self._refreshed = 0.0
        self._discovering = asyncio.Lock()

    async def discover(self, *, refresh: bool = False) -> discovery.Catalog:
        """Return the kinds served; asked once, and again with `refresh`.

        A refresh is newer than the call, but never in quick succession: it waits a
        little when the last one was just now, and callers at the same time share one.
        """
        if self._catalog is not None and not refresh:
            return self._catalog
        asked = _now()
        pause = self._sender.limits.discovery_pause
        async with self._discovering:
            if self._catalog is not None and (not refresh or self._refreshed >= asked):
                return self._catalog
            if self._catalog is not None:
                await asyncio.sleep(max(0.0, self._refreshed + pause - _now()))
            began = _now()
            self._catalog = await self._discover()
            self._refreshed = began
            return self._catalog

    async def _discover(self) -> discovery.Catalog:
        core = await self._sender.send(_discovery("/api"))
        groups = await self._sender.send(_discovery("/apis"))
        if discovery.is_aggregated(core) and discovery.is_aggregated(groups):
            return discovery.parse_aggregated(core, groups)
        return await self._discover_legacy()

    async def _discover_legacy(self) -> discovery.Catalog:
        core = await self._sender.send(_discovery("/api", accept="application/json"))
        groups = await self._sender.send(_discovery("/apis", accept="application/json"))
        pairs = discovery.parse_legacy_groups(core, groups)

        async def ask(pair: tuple[str, str]) -> list[discovery.Resource]:
            group, version = pair
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            body = await self._sender.send(_discovery(path, accept="application/json"))
            return discovery.parse_legacy_version(group, version, body)

        answers = await fan_out.attempt_all(pairs, ask)
        resources: list[discovery.Resource] = []
        stale: list[str] = []
        for (group, _), answer in zip(pairs, answers, strict=True):
            if not isinstance(answer, errors.VolaryError):
                resources += answer
            elif group and isinstance(answer, _BROKEN_GROUP):
                stale.append(group)
            else:
                raise answer  # not the group is broken, but the cluster
        return discovery.catalog(resources, stale)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _discovery(path: str, *, accept: str = discovery.AGGREGATED) -> requests.Request:
    return requests.Request("GET", path, accept=accept, what=f"discover {path}", idempotent=True)
