"""Pods that can take traffic."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import discovery, readiness, selectors, wait, watching
from volary.model import errors, json


async def ready(client: clients.Client, namespace: str, labels: dict[str, str]) -> int:
    """Return how many pods with `labels` are ready now."""
    listed = await client.list(
        await _kind(client), namespace=namespace, label_selector=selectors.exact(labels)
    )
    return sum(readiness.is_ready_pod(pod) for pod in listed.items)


async def wait_ready(
    client: clients.Client,
    namespace: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = wait.never,
) -> int:
    """Wait until a pod with `labels` is ready; return how many are, 0 when late or stopped."""
    pods: dict[str, json.JsonObject] = {}

    def count() -> int:
        return sum(readiness.is_ready_pod(pod) for pod in pods.values())

    source = watching.Source(
        await _kind(client),
        namespace,
        watching.keep_by_name(pods),
        label_selector=selectors.exact(labels),
    )
    await watching.watch_until(client, [source], lambda: count() > 0, timeout=timeout, stop=stop)
    return count()


async def _kind(client: clients.Client) -> discovery.Resource:
    found = (await client.discover()).find("", "Pod")
    if found is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve Pods")
    return found
