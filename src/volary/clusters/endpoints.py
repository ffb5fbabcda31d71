"""Seeing that a Service's endpoints have followed its selector.

Between the change of a selector and the moment when the cluster sends requests elsewhere
lies the endpoint controller. Deleting the old pods before would lose requests.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import errors as cluster_errors
from volary.clusters import glances, readiness, selectors, wait, watching
from volary.manifests import objects
from volary.model import json

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
    found: dict[str, json.JsonObject] = {}
    sources = [
        watching.Source(
            slices, namespace, watching.keep_by_name(seen), label_selector=f"{_SERVICE}={service}"
        ),
        watching.Source(
            pods, namespace, watching.keep_by_name(found), label_selector=selectors.exact(selector)
        ),
    ]
    try:
        await watching.watch_until(
            client, sources, lambda: not missing(seen, found), timeout=timeout, stop=wait.never
        )
    except cluster_errors.Forbidden:
        return ""
    return missing(seen, found)


async def wait_serving(
    client: clients.Client,
    namespace: str,
    service: str,
    labels: dict[str, str],
    *,
    timeout: timedelta,
    stop: Callable[[], Awaitable[None]] = wait.never,
    glance: glances.Glance | None = None,
) -> str:
    """Wait until a Service has a ready endpoint that is a pod with `labels`.

    What `glance` has seen already is not asked for again; it forgets all when it takes long.

    Returns what is missing when time is up or `stop` returns; empty when there is one, or
    when this user may not look at endpoints.
    """
    catalog = await client.discover()
    slices, pods = catalog.find(*_SLICES), catalog.find("", "Pod")
    services = catalog.find("", "Service")
    if slices is None or pods is None or services is None:
        return ""
    seen: dict[str, json.JsonObject] = {}
    found: dict[str, json.JsonObject] = {}

    def is_serving() -> bool:
        return not _strangers_only(seen, found)

    listed = watching.Source(
        slices, namespace, watching.keep_by_name(seen), label_selector=f"{_SERVICE}={service}"
    )
    chosen = watching.Source(
        pods, namespace, watching.keep_by_name(found), label_selector=selectors.exact(labels)
    )
    try:
        # Nearly always it serves already, and every step of every release asks.
        glance = glance or glances.Glance(client)
        await _look(glance, listed, chosen)
        if is_serving():
            return ""
        glance.forget()
        body = await client.get(services, service, namespace=namespace)
        if body is None:
            return f"there is no Service {service}"
        await watching.watch_until(client, [listed, chosen], is_serving, timeout=timeout, stop=stop)
    except cluster_errors.Forbidden:
        return ""
    if is_serving():
        return ""
    others = contradicting(objects.mapping(body, "spec", "selector"), labels)
    hint = (
        f": in the cluster it selects {_title(others)}; if Git's selector is another one, a quick"
        " sync brings it"
    )
    missing = f"the Service {service} has no ready endpoint among the pods {_title(labels)}"
    return missing + (hint if others else "")


def contradicting(selector: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a selector that leaves out all pods with `labels`, for ever."""
    return {key: value for key, value in selector.items() if labels.get(key, value) != value}


def _title(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


async def _look(glance: glances.Glance, *sources: watching.Source) -> None:
    """List sources once; what is there is kept."""
    for each in sources:
        for body in await glance.list(each.resource, each.namespace, each.label_selector):
            each.keep(objects.text(body, "metadata", "name"), body)


def _strangers_only(
    slices: Mapping[str, json.JsonObject], pods: Mapping[str, json.JsonObject]
) -> bool:
    """Say whether none of `pods` is a ready endpoint."""
    return not any(
        objects.text(endpoint, "targetRef", "name") in pods
        and objects.value(endpoint, "conditions", "ready") is not False
        for each in slices.values()
        for endpoint in objects.mappings(each, "endpoints")
    )


def missing(slices: Mapping[str, json.JsonObject], pods: Mapping[str, json.JsonObject]) -> str:
    """Return how far a Service's endpoints are from being `pods`; empty when they are."""
    names = {
        objects.text(endpoint, "targetRef", "name")
        for each in slices.values()
        for endpoint in objects.mappings(each, "endpoints")
        if objects.value(endpoint, "conditions", "ready") is not False
    }
    strangers = sorted(names - pods.keys())
    if strangers:
        return f"its endpoints still lead to {readiness.listed(strangers)}"
    return "" if names else "it has no ready endpoint"
