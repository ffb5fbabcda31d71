"""Pods that can take traffic."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import discovery, glances, readiness, selectors, wait, watching
from volary.model import errors, json


async def ready(client: clients.Client, namespace: str, labels: dict[str, str]) -> int:
    """Return how many pods with `labels` are ready now."""
    listed = await client.list(
        await _kind(client), namespace=namespace, label_selector=selectors.exact(labels)
    )
    return _ready(listed.items)


async def wait_ready(
    client: clients.Client,
    namespace: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = wait.never,
    glance: glances.Glance | None = None,
) -> int:
    """Wait until a pod with `labels` is ready; return how many are, 0 when late or stopped.

    What `glance` has seen already is not asked for again; it forgets all when it takes long.
    """
    kind, chosen = await _kind(client), selectors.exact(labels)
    glance = glance or glances.Glance(client)
    try:
        # Nearly always one is ready already, and every step of every release asks.
        there = _ready(await glance.list(kind, namespace, chosen))
    except errors.TemporaryError:
        there = 0  # a watch waits such failures out
    if there:
        return there
    glance.forget()
    pods: dict[str, json.JsonObject] = {}
    source = watching.Source(kind, namespace, watching.keep_by_name(pods), label_selector=chosen)
    await watching.watch_until(
        client, [source], lambda: _ready(pods.values()) > 0, timeout=timeout, stop=stop
    )
    return _ready(pods.values())


def _ready(pods: Iterable[json.JsonObject]) -> int:
    return sum(readiness.is_ready_pod(pod) for pod in pods)


async def _kind(client: clients.Client) -> discovery.Resource:
    found = (await client.discover()).find("", "Pod")
    if found is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve Pods")
    return found
