"""Keeping adopted objects as they were, in their cluster, until the run has ended."""

from collections.abc import Sequence

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory_store, snapshots
from volary.manifests import objects
from volary.model import json
from volary.model.objects import ownership


async def load(
    client: clients.Client, owner: ownership.Owner, *, namespaces: Sequence[str]
) -> list[snapshots.Snapshot]:
    """Return what is kept for an application; nothing where no Secret may be read.

    Looked for in every namespace; where not all may be listed, in `namespaces`.

    Raises:
        VolaryError: when the cluster could not be asked.
    """
    try:
        return snapshots.read_all(await _find(client, owner, namespaces))
    except api_errors.Forbidden:
        return []


async def keep(
    client: clients.Client,
    owner: ownership.Owner,
    home: str,
    bodies: Sequence[json.JsonObject],
    run: str,
) -> None:
    """Keep objects as they are, besides what is kept already, before a run writes to them.

    Safe to repeat: what the run keeps already stays as it was.

    Raises:
        TooLargeError: when they are more than can be kept; nothing was written then.
        VolaryError: when they could not be kept.
    """
    secrets = await _find(client, owner, [home])
    kept = snapshots.read_all(secrets)
    merged = snapshots.merge(kept, bodies, run)
    if merged == kept:
        return
    place = objects.text(secrets[0], "metadata", "namespace") if secrets else home
    kind = await _secret(client)
    # The last one first: what moves on to it must not be lost when this process is killed.
    for part, data in reversed(list(enumerate(snapshots.pack(merged)))):
        await client.apply(kind, snapshots.to_object(owner, place, part, data), force=True)


async def forget(
    client: clients.Client, owner: ownership.Owner, *, namespaces: Sequence[str]
) -> None:
    """Let go of what is kept: there is no way back any more, or none is needed.

    Raises:
        VolaryError: when it could not be let go of.
    """
    kind = await _secret(client)
    for secret in await _find(client, owner, namespaces):
        name, namespace = (objects.text(secret, "metadata", key) for key in ("name", "namespace"))
        await client.delete(kind, name, namespace=namespace)


async def _find(
    client: clients.Client, owner: ownership.Owner, namespaces: Sequence[str]
) -> list[json.JsonObject]:
    """Return the Secrets of an application, by their label, and by name where that is gone."""
    kind = await _secret(client)
    places = sorted(set(namespaces))
    secrets = [*await inventory_store.list_kind(client, kind, snapshots.selector(owner), places)]
    for part in range(snapshots.MOST_PARTS):
        name = snapshots.name(owner, part)
        if any(objects.text(secret, "metadata", "name") == name for secret in secrets):
            continue
        named = await inventory_store.list_kind(client, kind, "", places, name=name)
        unmarked = [secret for secret in named if snapshots.is_one(secret)]
        if not unmarked:
            break
        secrets += unmarked
    return sorted(secrets, key=_place)


def _place(secret: json.JsonObject) -> tuple[str, str]:
    return objects.text(secret, "metadata", "namespace"), objects.text(secret, "metadata", "name")


async def _secret(client: clients.Client) -> discovery.Resource:
    return await resource_mapping.require(client, "", "Secret")
