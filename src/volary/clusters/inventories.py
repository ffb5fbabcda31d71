"""Reading and writing the inventory of an application in its cluster."""

from collections.abc import Iterable, Sequence

from volary.clusters import client as clients
from volary.clusters import discovery, inventory, steps
from volary.clusters import errors as cluster_errors
from volary.model import errors, json


async def load(
    client: clients.Client, application: str, *, namespaces: Sequence[str], home: str
) -> inventory.Inventory:
    """Return the inventory of `application`, an empty one when there is none.

    Looked for in every namespace, or in `namespaces` where not all may be listed.
    """
    kind = await _config_map(client)
    selector = inventory.selector(application)
    try:
        bodies = await _list(client, kind, [""], selector)
    except cluster_errors.Forbidden:
        bodies = await _list(client, kind, sorted({*namespaces, home}), selector)
    return inventory.merge(bodies, application, home=home)


async def record(
    client: clients.Client, known: inventory.Inventory, added: Iterable[inventory.Reference]
) -> inventory.Inventory:
    """Remember `added` before they are written; costs nothing when all are known."""
    after = known.with_references(added)
    if after != known:
        await _write(client, after)
    return after


async def forget(
    client: clients.Client, known: inventory.Inventory, after: inventory.Inventory
) -> None:
    """Write what remains after a prune; an empty inventory is deleted."""
    if after == known:
        return
    if after.references:
        await _write(client, after)
        return
    kind = await _config_map(client)
    await client.delete(kind, inventory.name(after.application), namespace=after.namespace)


async def _write(client: clients.Client, content: inventory.Inventory) -> None:
    # The inventory is ours alone, so nobody else's fields can be in conflict.
    await client.apply(
        await _config_map(client),
        inventory.to_object(content),
        field_manager=steps.MANAGER,
        force=True,
    )


async def _list(
    client: clients.Client, kind: discovery.Resource, namespaces: Sequence[str], selector: str
) -> list[json.JsonObject]:
    found: list[json.JsonObject] = []
    for namespace in namespaces:
        listed = await client.list(kind, namespace=namespace, label_selector=selector)
        found.extend(listed.items)
    return found


async def _config_map(client: clients.Client) -> discovery.Resource:
    kind = (await client.discover()).find("", "ConfigMap")
    if kind is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve ConfigMaps")
    return kind
