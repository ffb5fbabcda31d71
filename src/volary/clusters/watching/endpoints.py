"""Which pods can take traffic: ready pods, and endpoints that have followed a Service's selector.

Between the change of a selector and the moment when the cluster sends requests elsewhere
lies the endpoint controller. Deleting the old pods before would lose requests.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta

from volary.clusters.api import api_errors, discovery, label_selectors
from volary.clusters.client import clients
from volary.clusters.watching import collection_watch, list_snapshot, readiness, waits
from volary.manifests import objects
from volary.model import errors, json

_SLICES = ("discovery.k8s.io", "EndpointSlice")
_SERVICE = "kubernetes.io/service-name"


async def wait_followed(
    client: clients.Client,
    namespace: str,
    service: str,
    selector: dict[str, str],
    *,
    timeout: timedelta,
) -> str:
    """Wait until every endpoint of a Service is a pod of `selector`, and one is ready.

    Returns what is missing when time is up; empty when they followed, or when this user
    may not look at endpoints.
    """
    catalog = await client.discover()
    slices, pods = catalog.find(*_SLICES), catalog.find("", "Pod")
    if slices is None or pods is None:
        return ""
    seen: dict[str, json.JsonObject] = {}
    pods_by_name: dict[str, json.JsonObject] = {}
    sources = [
        collection_watch.Source(
            slices,
            namespace,
            collection_watch.store_by_name(seen),
            label_selector=f"{_SERVICE}={service}",
        ),
        collection_watch.Source(
            pods,
            namespace,
            collection_watch.store_by_name(pods_by_name),
            label_selector=label_selectors.exact(selector),
        ),
    ]
    try:
        await collection_watch.watch_until(
            client,
            sources,
            lambda: not missing_endpoints(seen, pods_by_name),
            timeout=timeout,
            stop=waits.never,
        )
    except api_errors.Forbidden:
        return ""
    return missing_endpoints(seen, pods_by_name)


async def wait_serving(
    client: clients.Client,
    namespace: str,
    service: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = waits.never,
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> str:
    """Wait until a Service has a ready endpoint that is a pod with `labels`.

    What `snapshot` holds is not asked for again; it is emptied when this takes long.

    Returns what is missing when time is up or `stop` returns; empty when there is one, or
    when this user may not look at endpoints.
    """
    catalog = await client.discover()
    slices, pods = catalog.find(*_SLICES), catalog.find("", "Pod")
    services = catalog.find("", "Service")
    if slices is None or pods is None or services is None:
        return ""
    seen: dict[str, json.JsonObject] = {}
    pods_by_name: dict[str, json.JsonObject] = {}

    def is_serving() -> bool:
        return not _none_is_serving(seen, pods_by_name)

    listed = collection_watch.Source(
        slices,
        namespace,
        collection_watch.store_by_name(seen),
        label_selector=f"{_SERVICE}={service}",
    )
    chosen = collection_watch.Source(
        pods,
        namespace,
        collection_watch.store_by_name(pods_by_name),
        label_selector=label_selectors.exact(labels),
    )
    try:
        # Nearly always it serves already, and every step of every release asks.
        snapshot = snapshot or list_snapshot.ListSnapshot(client)
        await _list_once(snapshot, listed, chosen)
        if is_serving():
            return ""
        snapshot.forget()
        body = await client.get(services, service, namespace=namespace)
        if body is None:
            return f"there is no Service {service}"
        await collection_watch.watch_until(
            client, [listed, chosen], is_serving, timeout=timeout, stop=stop
        )
    except api_errors.Forbidden:
        return ""
    if is_serving():
        return ""
    others = contradicting_labels(objects.mapping(body, "spec", "selector"), labels)
    hint = (
        f": in the cluster it selects {_title(others)}; if Git's selector is another one, a quick"
        " sync brings it"
    )
    missing = f"the Service {service} has no ready endpoint among the pods {_title(labels)}"
    return missing + (hint if others else "")


def contradicting_labels(selector: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a selector that leaves out all pods with `labels`, for ever."""
    return {key: value for key, value in selector.items() if labels.get(key, value) != value}


def _title(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


async def _list_once(
    snapshot: list_snapshot.ListSnapshot, *sources: collection_watch.Source
) -> None:
    """List sources once; what is there is kept."""
    for source in sources:
        for body in await snapshot.list(source.resource, source.namespace, source.label_selector):
            source.keep(objects.text(body, "metadata", "name"), body)


def _none_is_serving(
    slices: Mapping[str, json.JsonObject], pods: Mapping[str, json.JsonObject]
) -> bool:
    """Say whether none of `pods` is a ready endpoint."""
    return not any(
        objects.text(endpoint, "targetRef", "name") in pods
        and objects.value(endpoint, "conditions", "ready") is not False
        for endpoint_slice in slices.values()
        for endpoint in objects.mappings(endpoint_slice, "endpoints")
    )


def missing_endpoints(
    slices: Mapping[str, json.JsonObject], pods: Mapping[str, json.JsonObject]
) -> str:
    """Return how far a Service's endpoints are from being `pods`; empty when they are."""
    names = {
        objects.text(endpoint, "targetRef", "name")
        for endpoint_slice in slices.values()
        for endpoint in objects.mappings(endpoint_slice, "endpoints")
        if objects.value(endpoint, "conditions", "ready") is not False
    }
    strangers = sorted(names - pods.keys())
    if strangers:
        return f"its endpoints still lead to {readiness.listed(strangers)}"
    return "" if names else "it has no ready endpoint"


async def count_ready_pods(client: clients.Client, namespace: str, labels: dict[str, str]) -> int:
    """Return how many pods with `labels` are ready now."""
    listed = await client.list(
        await _pod_kind(client), namespace=namespace, label_selector=label_selectors.exact(labels)
    )
    return _ready_pods(listed.items)


async def wait_ready_pods(
    client: clients.Client,
    namespace: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = waits.never,
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> int:
    """Wait until a pod with `labels` is ready; return how many are, 0 when late or stopped.

    What `snapshot` holds is not asked for again; it is emptied when this takes long.
    """
    kind, chosen = await _pod_kind(client), label_selectors.exact(labels)
    snapshot = snapshot or list_snapshot.ListSnapshot(client)
    try:
        # Nearly always one is ready already, and every step of every release asks.
        there = _ready_pods(await snapshot.list(kind, namespace, chosen))
    except errors.TemporaryError:
        there = 0  # a watch waits such failures out
    if there:
        return there
    snapshot.forget()
    pods: dict[str, json.JsonObject] = {}
    source = collection_watch.Source(
        kind, namespace, collection_watch.store_by_name(pods), label_selector=chosen
    )
    await collection_watch.watch_until(
        client, [source], lambda: _ready_pods(pods.values()) > 0, timeout=timeout, stop=stop
    )
    return _ready_pods(pods.values())


def _ready_pods(pods: Iterable[json.JsonObject]) -> int:
    return sum(readiness.is_ready_pod(pod) for pod in pods)


async def _pod_kind(client: clients.Client) -> discovery.Resource:
    resource = (await client.discover()).find("", "Pod")
    if resource is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve Pods")
    return resource
