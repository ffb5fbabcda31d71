"""Which pods can take traffic: ready pods, and endpoints that have followed a Service's selector.

Between the change of a selector and the moment when the cluster sends requests elsewhere
lies the endpoint controller. Deleting the old pods before would lose requests.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import api_errors, discovery, label_selectors
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import collection_watch, list_snapshot, readiness, waits
from volary.manifests import objects
from volary.model import errors, json

#: Group and kind of what Services lead to.
SLICES = ("discovery.k8s.io", "EndpointSlice")
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
    seen = await _endpoints(client, namespace, service, selector)
    if seen is None:
        return ""
    try:
        await collection_watch.watch_until(
            client, seen.sources, lambda: not seen.missing, timeout=timeout, stop=waits.never
        )
    except api_errors.Forbidden:
        return ""
    return seen.missing


async def wait_serving(
    client: clients.Client,
    namespace: str,
    service: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = waits.never,
    snapshot: list_snapshot.ListSnapshot | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> str:
    """Wait until a Service has a ready endpoint that is a pod with `labels`.

    What `snapshot` holds is not asked for again; it is emptied when this takes long, and then
    `waiting` is called.

    Returns what is missing when time is up or `stop` returns; empty when there is one, or
    when this user may not look at endpoints.
    """
    seen = await _endpoints(client, namespace, service, labels)
    services = (await client.discover()).find("", "Service")
    if seen is None or services is None:
        return ""
    try:
        # Nearly always it serves already, and every step of every release asks.
        snapshot = snapshot or list_snapshot.ListSnapshot(client)
        await _list_once(snapshot, *seen.sources)
        if seen.is_serving():
            return ""
        snapshot.forget()
        waiting()
        body = await client.get(services, service, namespace=namespace)
        if body is None:
            return f"there is no Service {service}"
        await collection_watch.watch_until(
            client, seen.sources, seen.is_serving, timeout=timeout, stop=stop
        )
    except api_errors.Forbidden:
        return ""
    if seen.is_serving():
        return ""
    others = contradicting_labels(objects.mapping(body, "spec", "selector"), labels)
    chosen, selected = label_selectors.exact(labels), label_selectors.exact(others)
    hint = (
        f": in the cluster it selects {selected}; if Git's selector is another one, a quick"
        " sync brings it"
    )
    missing = f"the Service {service} has no ready endpoint among the pods {chosen}"
    return missing + (hint if others else "")


@dataclass(frozen=True, slots=True)
class _Endpoints:
    """The endpoints of a Service and the pods they are to be, as two watches see them."""

    slices: dict[str, json.JsonObject]
    pods: dict[str, json.JsonObject]
    sources: tuple[collection_watch.Source, ...]

    @property
    def missing(self) -> str:
        return missing_endpoints(self.slices, self.pods)

    def is_serving(self) -> bool:
        """Whether one of the pods is a ready endpoint."""
        return not _ready_endpoints(self.slices).isdisjoint(self.pods)


async def _endpoints(
    client: clients.Client, namespace: str, service: str, labels: dict[str, str]
) -> _Endpoints | None:
    """Return what is watched; None where the cluster serves no endpoints."""
    catalog = await client.discover()
    slices, pods = catalog.find(*SLICES), catalog.find("", "Pod")
    if slices is None or pods is None:
        return None
    seen: dict[str, json.JsonObject] = {}
    pods_by_name: dict[str, json.JsonObject] = {}
    of_service = collection_watch.Source(
        slices,
        namespace,
        collection_watch.store_by_name(seen),
        label_selector=f"{_SERVICE}={service}",
    )
    chosen = _pods_with(labels, pods, namespace, pods_by_name)
    return _Endpoints(seen, pods_by_name, (of_service, chosen))


def _pods_with(
    labels: dict[str, str],
    kind: discovery.Resource,
    namespace: str,
    kept: dict[str, json.JsonObject],
) -> collection_watch.Source:
    selector = label_selectors.exact(labels)
    return collection_watch.Source(
        kind, namespace, collection_watch.store_by_name(kept), label_selector=selector
    )


def contradicting_labels(selector: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a selector that leaves out all pods with `labels`, for ever."""
    return {key: value for key, value in selector.items() if labels.get(key, value) != value}


async def _list_once(
    snapshot: list_snapshot.ListSnapshot, *sources: collection_watch.Source
) -> None:
    """List sources once; what is there is kept."""
    for source in sources:
        for body in await snapshot.list(source.resource, source.namespace, source.label_selector):
            source.keep(objects.text(body, "metadata", "name"), body)


def _ready_endpoints(slices: Mapping[str, json.JsonObject]) -> set[str]:
    """Return the names of the pods that are ready endpoints."""
    return {
        objects.text(endpoint, "targetRef", "name")
        for endpoint_slice in slices.values()
        for endpoint in objects.mappings(endpoint_slice, "endpoints")
        if objects.value(endpoint, "conditions", "ready") is not False
    }


def missing_endpoints(
    slices: Mapping[str, json.JsonObject], pods: Mapping[str, json.JsonObject]
) -> str:
    """Return how far a Service's endpoints are from being `pods`; empty when they are."""
    names = _ready_endpoints(slices)
    strangers = sorted(names - pods.keys())
    if strangers:
        return f"its endpoints still lead to {readiness.listed(strangers)}"
    return "" if names else "it has no ready endpoint"


async def count_ready_pods(client: clients.Client, namespace: str, labels: dict[str, str]) -> int:
    """Return how many pods with `labels` are ready now."""
    listed = await client.list(
        await resource_mapping.require(client, "", "Pod"),
        namespace=namespace,
        label_selector=label_selectors.exact(labels),
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
    waiting: Callable[[], None] = lambda: None,
) -> int:
    """Wait until a pod with `labels` is ready; return how many are, 0 when late or stopped.

    What `snapshot` holds is not asked for again; it is emptied when this takes long, and then
    `waiting` is called.
    """
    kind, chosen = await resource_mapping.require(client, "", "Pod"), label_selectors.exact(labels)
    snapshot = snapshot or list_snapshot.ListSnapshot(client)
    try:
        # Nearly always one is ready already, and every step of every release asks.
        there = _ready_pods(await snapshot.list(kind, namespace, chosen))
    except errors.TemporaryError:
        there = 0  # a watch waits such failures out
    if there:
        return there
    snapshot.forget()
    waiting()
    pods: dict[str, json.JsonObject] = {}
    await collection_watch.watch_until(
        client,
        [_pods_with(labels, kind, namespace, pods)],
        lambda: _ready_pods(pods.values()) > 0,
        timeout=timeout,
        stop=stop,
    )
    return _ready_pods(pods.values())


def _ready_pods(pods: Iterable[json.JsonObject]) -> int:
    return sum(readiness.is_ready_pod(pod) for pod in pods)
