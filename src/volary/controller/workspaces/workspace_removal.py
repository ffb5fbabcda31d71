"""Deletes on one cluster what is left of a workspace and not written any more.

A namespace takes everything in it along. So it goes only where it is the workspace's own, and holds
nothing that somebody else put there, unless whoever asks says that its contents may go too. One
that was there before the workspace is let go of, with what is in it.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from volary.clusters.api import api_errors, discovery
from volary.clusters.apply import deletions
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory, owned_objects
from volary.concurrency import fan_out
from volary.manifests import objects
from volary.manifests.ownership import field_managers, prune_decisions, tracking
from volary.model import errors, json, phrases
from volary.model.objects import manifest, ownership
from volary.tenancy import workspace_manifests

#: How long objects in a namespace that stays may take to go.
_GONE = timedelta(seconds=5)
#: Kinds that can only be created, that clusters make by themselves, or that follow from others.
_PASSED_OVER = frozenset(
    {
        ("", "Binding"),
        ("", "Endpoints"),
        ("", "Event"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
    }
)
_PASSED_OVER_GROUPS = ("metrics.k8s.io", "authorization.k8s.io")
#: Objects that clusters make by themselves in every namespace.
_OF_CLUSTER = frozenset(
    {("ConfigMap", "kube-root-ca.crt"), ("ConfigMap", "openshift-service-ca.crt")}
    | {("ServiceAccount", "default")}
)
_METHOD_NOT_ALLOWED = 405


async def remove(
    client: clients.Client,
    owner: ownership.Owner,
    wanted: Iterable[str],
    *,
    with_contents: bool = False,
) -> dict[str, str]:
    """Delete every namespace of a workspace but the `wanted` ones.

    Returns:
        By namespace that is still there and not going, why.

    Raises:
        errors.VolaryError: The cluster does not say which there are.
    """
    kind = await resource_mapping.require(client, "", "Namespace")
    kept = frozenset(wanted)
    listed = await client.list(kind, label_selector=tracking.selector(owner))
    left: dict[str, str] = {}
    for body in listed.items:
        name = objects.text(body, "metadata", "name")
        if name in kept or not tracking.is_ours(body, owner):
            continue
        try:
            reason = await _remove_namespace(client, kind, body, owner, with_contents=with_contents)
        except errors.VolaryError as error:
            reason = f"it is not known what may go: {error}"
        if reason:
            left[name] = reason
    return left


async def _remove_namespace(
    client: clients.Client,
    kind: discovery.Resource,
    body: json.JsonObject,
    owner: ownership.Owner,
    *,
    with_contents: bool,
) -> str:
    """Delete a namespace, or let go of it; returns why not, or nothing."""
    if objects.is_terminating(body):
        return ""
    name = objects.text(body, "metadata", "name")
    adopted = objects.text(body, "metadata", "annotations", workspace_manifests.ADOPTED)
    if adopted == "true":
        return await _let_go(client, kind, body, owner)
    unprunable = prune_decisions.unprunable(body, owner)
    if unprunable:
        return unprunable
    if not with_contents:
        held = await contents(client, name, owner)
        if held:
            return (
                f"it still holds {phrases.first_of(held, 5)}, which is not the workspace's"
                " (--with-contents deletes it too)"
            )
    await client.delete(
        kind,
        name,
        uid=objects.uid(body),
        resource_version=objects.text(body, "metadata", "resourceVersion"),
    )
    return ""


async def contents(client: clients.Client, namespace: str, owner: ownership.Owner) -> list[str]:
    """Return what is in a namespace and neither the workspace's nor the cluster's own.

    What a controller made of something else counts with that.

    Raises:
        errors.VolaryError: Something cannot be listed: then nobody knows.
    """
    catalog = await client.discover(refresh=True)
    if catalog.stale:
        raise errors.TemporaryError(
            f"the API groups {', '.join(catalog.stale)} do not answer, so nobody knows what is in"
            " the namespace"
        )
    kinds = {
        (resource.group, resource.kind): resource
        for resource in reversed(catalog.resources)
        if resource.namespaced
        and (resource.group, resource.kind) not in _PASSED_OVER
        and resource.group not in _PASSED_OVER_GROUPS
    }
    answers = await fan_out.attempt_all(kinds.values(), lambda kind: _list(client, kind, namespace))
    titles: set[str] = set()
    for answer in answers:
        if isinstance(answer, errors.VolaryError):
            raise answer
        titles.update(_foreign(answer, owner))
    return sorted(titles)


async def _list(
    client: clients.Client, kind: discovery.Resource, namespace: str
) -> Sequence[json.JsonObject]:
    try:
        return (await client.list(kind, namespace=namespace)).items
    except api_errors.NotFound:
        return ()  # such as a review, which can only be created
    except api_errors.RequestError as error:
        if error.status == _METHOD_NOT_ALLOWED:
            return ()
        raise


def _foreign(bodies: Iterable[json.JsonObject], owner: ownership.Owner) -> list[str]:
    return [
        f"{objects.text(body, 'kind')} {objects.text(body, 'metadata', 'name')}"
        for body in bodies
        if not tracking.is_ours(body, owner)
        and not objects.sequence(body, "metadata", "ownerReferences")
        and (objects.text(body, "kind"), objects.text(body, "metadata", "name")) not in _OF_CLUSTER
    ]


async def _let_go(
    client: clients.Client,
    kind: discovery.Resource,
    body: json.JsonObject,
    owner: ownership.Owner,
) -> str:
    """Delete what the workspace has in a namespace, and take its marks off the namespace."""
    name = objects.text(body, "metadata", "name")
    listed = await owned_objects.list_kinds(
        client,
        workspace_manifests.KINDS,
        tracking.selector(owner),
        inventory.Inventory(owner, ""),
        allowed=[name],
    )
    going: list[resource_mapping.MappedManifest] = []
    for resource, answer in listed:
        if isinstance(answer, api_errors.Forbidden):
            raise answer
        going += [
            resource_mapping.MappedManifest(manifest.Manifest(item), resource)
            for item in answer
            if not prune_decisions.unprunable(item, owner)
        ]
    removed = await deletions.delete_in_order(
        client, going, lambda item: prune_decisions.unprunable(item, owner), timeout=_GONE
    )
    if removed.failures:
        return phrases.first_of(removed.failures, 3, "; ")
    # Applied without a field, it loses every field that was ours alone.
    await client.apply(
        kind,
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "uid": objects.uid(body)},
        },
        field_manager=field_managers.MANAGER,
        force=True,
    )
    return ""
