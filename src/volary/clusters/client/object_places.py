"""Where the objects of a set will be on a cluster, for the rules of a project."""

from collections.abc import Sequence

from volary.clusters.client import clients, resource_mapping
from volary.concurrency import fan_out
from volary.manifests.loading import namespace_scopes
from volary.model.objects import manifest
from volary.tenancy import application_rules


async def find(
    client: clients.Client, manifests: Sequence[manifest.Manifest]
) -> tuple[list[application_rules.ObjectPlace], namespace_scopes.Scope]:
    """Return where each object will be, and what the cluster says of kinds.

    Raises:
        TemporaryError: It cannot say, because the server of an API group is down.
    """
    defined = {
        resource_mapping.defined_kind(item)
        for item in manifests
        if resource_mapping.is_definition(item)
    }
    kinds = {(item.group, item.kind) for item in manifests} - defined
    catalog = await resource_mapping.discover_kinds(client, kinds)

    def served(group: str, kind: str) -> bool | None:
        resource = catalog.find(group, kind)
        return resource.namespaced if resource else None

    places = application_rules.places(manifests, default=client.namespace, served=served)
    return list(places), served


async def missing_namespaces(
    client: clients.Client, places: Sequence[application_rules.ObjectPlace]
) -> list[str]:
    """Return the namespaces that objects will be in and that neither they nor the cluster have."""
    given = {place.name for place in places if place.kind.is_namespace}
    used = sorted({place.namespace for place in places} - {""} - given)
    resource = await resource_mapping.require(client, "", "Namespace")
    # Who may not look at them is believed, as when they are made.
    answers = await fan_out.attempt_all(used, lambda name: client.get(resource, name))
    return [name for name, answer in zip(used, answers, strict=True) if answer is None]
