"""Why no controller answers for a route of the Gateway API: what its parents are, and whose.

Asked only once nobody answers. What may not be read is left out: then no more is known.
"""

from volary.clusters.client import clients
from volary.manifests import objects
from volary.model import errors, json

_GROUP = "gateway.networking.k8s.io"


async def explain(client: clients.Client, route: json.JsonObject) -> str:
    """Return what is missing for the first parent that tells; empty where nothing is seen."""
    for parent in objects.mappings(route, "spec", "parentRefs"):
        try:
            reason = await _explain(client, parent, objects.text(route, "metadata", "namespace"))
        except errors.PermanentError:
            continue
        if reason:
            return reason
    return ""


async def _explain(client: clients.Client, parent: json.JsonObject, home: str) -> str:
    kind = objects.text(parent, "kind") or "Gateway"
    group = "" if kind == "Service" else objects.text(parent, "group") or _GROUP
    namespace, name = objects.text(parent, "namespace") or home, objects.text(parent, "name")
    live = await _get(client, group, kind, name, namespace)
    if live is None:
        return f"{kind} {namespace}/{name} does not exist"
    if kind == "Service":
        return "is a mesh installed that carries out routes of Services (as Linkerd and Istio do)?"
    class_name = objects.text(live, "spec", "gatewayClassName")
    if kind != "Gateway" or not class_name:
        return ""
    gateway_class = await _get(client, _GROUP, "GatewayClass", class_name)
    if gateway_class is None:
        return f"GatewayClass {class_name} of Gateway {namespace}/{name} does not exist"
    controller = objects.text(gateway_class, "spec", "controllerName")
    return f"does the controller {controller} of GatewayClass {class_name} run?"


async def _get(
    client: clients.Client, group: str, kind: str, name: str, namespace: str = ""
) -> json.JsonObject | None:
    resource = (await client.discover()).find(group, kind)
    if resource is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve the kind {kind}")
    return await client.get(resource, name, namespace=namespace)
