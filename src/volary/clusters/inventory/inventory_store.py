"""Reading and writing the inventory of an application in its cluster."""

from collections.abc import Iterable, Sequence

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory
from volary.concurrency import fan_out
from volary.model import errors, json


async def load(
    client: clients.Client, application: str, *, namespaces: Sequence[str], home: str
) -> inventory.Inventory:
    """Return the inventory of `application`, an empty one when there is none.

    Looked for in every namespace; where not all may be listed, in `namespaces` and `home`
    as far as they may.

    Raises:
        Forbidden: when none of them may be listed. Then nothing is known, and nothing
            may be written over what is there.
    """
    kind = await _config_map(client)
    selector = inventory.selector(application)
    try:
        bodies = await list_in(client, kind, "", selector)
    except api_errors.Forbidden:
        bodies = await list_allowed(client, kind, sorted({*namespaces, home}), selector)
    return inventory.merge(bodies, application, home=home)


async def list_in(
    client: clients.Client, kind: discovery.Resource, namespace: str, selector: str
) -> list[json.JsonObject]:
    """List a kind in one namespace; empty: in all of them."""
    listed = await client.list(kind, namespace=namespace, label_selector=selector)
    return list(listed.items)


async def list_allowed(
    client: clients.Client, kind: discovery.Resource, namespaces: Sequence[str], selector: str
) -> list[json.JsonObject]:
    """List a kind in those of the namespaces where it is allowed.

    Raises:
        Forbidden: when it is allowed nowhere.
        VolaryError: when a list failed for another reason.
    """
    answers = await fan_out.attempt_all(
        namespaces, lambda namespace: list_in(client, kind, namespace, selector)
    )
    refused: api_errors.Forbidden | None = None
    pages: list[list[json.JsonObject]] = []
    for answer in answers:
        if isinstance(answer, api_errors.Forbidden):
            refused = answer
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            pages.append(answer)
    if refused is not None and not pages:
        raise refused
    return [body for page in pages for body in page]


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
        force=True,
    )


async def _config_map(client: clients.Client) -> discovery.Resource:
    return await resource_mapping.require(client, "", "ConfigMap")
