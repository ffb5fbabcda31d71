"""One watch of a whole collection for all who follow it with the same client.

It begins with who comes first, ends with who leaves last, and is nobody's in between: it knows
nothing of the task that began it, so that neither its stopping nor its limits reach the others.
What is told is asked for at `clients.Client.informers`.
"""

import asyncio
import contextvars
import logging
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import discovery
from volary.clusters.client import clients, informers
from volary.clusters.watching import collection_watch, waits
from volary.model import errors

_LOG = logging.getLogger(__name__)
_YEAR = timedelta(days=365)
_Key = tuple[discovery.Resource, str]


@dataclass(slots=True)
class _Shared:
    """A collection that somebody follows."""

    informer: informers.Informer
    followers: int = 0
    task: "asyncio.Task[None] | None" = None


#: By what clients share: what one identity may see another may not.
_SHARED: "weakref.WeakKeyDictionary[informers.Informers, dict[_Key, _Shared]]" = (
    weakref.WeakKeyDictionary()
)


@asynccontextmanager
async def follow(
    client: clients.Client,
    resource: discovery.Resource,
    namespace: str,
    *,
    least: int = 1,
) -> AsyncIterator[informers.Informer]:
    """Follow a collection while the body lasts, together with all who do so too.

    It is watched from the moment on when so many follow it: a watch is a connection of its own.
    Where it cannot be watched the informer has the error; who follows it then begins anew.
    """
    of_client = _SHARED.setdefault(client.informers, {})
    key = (resource, namespace)
    shared = of_client.get(key)
    if shared is None or shared.informer.error is not None:
        shared = of_client[key] = _Shared(client.informers.open(resource, namespace))
    shared.followers += 1
    if shared.task is None and shared.followers >= least:
        shared.task = asyncio.create_task(  # noqa: TID251 (held until the last has left)
            _watch(client, shared.informer, namespace),
            name=f"{client.name}: {resource.title} of {namespace}",
            context=contextvars.Context(),
        )
    try:
        yield shared.informer
    finally:
        shared.followers -= 1
        if not shared.followers:
            client.informers.close(namespace, shared.informer)
            if of_client.get(key) is shared:
                del of_client[key]
            if shared.task is not None:
                shared.task.cancel()
                await asyncio.wait([shared.task])


async def _watch(client: clients.Client, informer: informers.Informer, namespace: str) -> None:
    """Have an informer told until this is cancelled, or cannot go on."""
    source = collection_watch.Source(
        informer.resource, namespace, informer.keep, standing=informer.standing
    )

    def listed() -> bool:
        informer.listed()
        return False

    try:
        while True:
            await collection_watch.watch_until(
                client, [source], listed, timeout=_YEAR, stop=waits.never, by_time=False
            )
    except errors.VolaryError as error:
        informer.end(error)
    except Exception as error:  # noqa: BLE001 - said; who follows it has to know
        _LOG.exception("following %s in cluster %s failed", informer.resource.title, client.name)
        informer.end(errors.TemporaryError(f"following it failed: {type(error).__name__}"))
