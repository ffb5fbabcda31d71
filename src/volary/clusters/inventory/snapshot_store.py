"""Keeping adopted objects as they were, in their cluster, until the run has ended."""

from collections.abc import Sequence

from volary.clusters.api import api_errors, discovery
from volary.clusters.apply import preconditions
from volary.clusters.client import clients, resource_mapping, write_rules
from volary.clusters.inventory import inventory_store, snapshots
from volary.manifests import objects
from volary.model import errors, json
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
    async for _ in preconditions.attempts():
        secrets = await _find(client, owner, [home])
        kept = snapshots.read_all(secrets)
        merged = snapshots.merge(kept, bodies, run)
        if merged == kept:
            return
        place = objects.text(secrets[0], "metadata", "namespace") if secrets else home
        packed = [
            snapshots.to_object(owner, place, part, data)
            for part, data in enumerate(snapshots.pack(merged))
        ]
        try:
            await _write(client, packed, secrets)
        except api_errors.Conflict:
            continue
        return
    raise errors.TemporaryError("what is kept of adopted objects kept changing")


async def _write(
    client: clients.Client, packed: Sequence[json.JsonObject], secrets: Sequence[json.JsonObject]
) -> None:
    """Write Secrets over those that were seen.

    Raises:
        Conflict: when there are others by now.
    """
    kind, seen = await _secret(client), {_place(secret): secret for secret in secrets}
    # The last one first: what moves on to it must not be lost when this process is killed.
    for body in reversed(packed):
        await preconditions.apply(
            client,
            kind,
            body,
            seen.get(_place(body)),
            force=True,
            purpose=write_rules.Purpose.BOOKKEEPING,
        )


async def forget(
    client: clients.Client, owner: ownership.Owner, *, namespaces: Sequence[str]
) -> None:
    """Let go of what is kept: there is no way back any more, or none is needed.

    Raises:
        VolaryError: when it could not be let go of.
    """
    kind = await _secret(client)
    for secret in await _find(client, owner, namespaces):
        namespace, name = _place(secret)
        await client.delete(
            kind,
            name,
            namespace=namespace,
            uid=objects.uid(secret),
            resource_version=preconditions.version_of(secret),
            purpose=write_rules.Purpose.BOOKKEEPING,
        )


async def _find(
    client: clients.Client, owner: ownership.Owner, namespaces: Sequence[str]
) -> list[json.JsonObject]:
    """Return the Secrets of an application, by their label, and by name where that is gone.

    What is in a namespace that the client may not keep records in is somebody else's.
    """
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
    return sorted((one for one in secrets if client.may_have_kept(one, kind)), key=_place)


def _place(secret: json.JsonObject) -> tuple[str, str]:
    return objects.text(secret, "metadata", "namespace"), objects.text(secret, "metadata", "name")


async def _secret(client: clients.Client) -> discovery.Resource:
    return await resource_mapping.require(client, "", "Secret")
