"""Reading and writing the inventory of an application in its cluster.

What was read or written last is remembered for some seconds, for those who can do with it: who
only looks whether there is something to add, and who writes under the condition that nothing moved.
"""

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from volary.clusters.api import api_errors, discovery
from volary.clusters.apply import preconditions
from volary.clusters.client import clients, resource_mapping, write_rules
from volary.clusters.inventory import inventory
from volary.concurrency import fan_out
from volary.manifests import objects
from volary.model import errors, json
from volary.model.objects import ownership

#: How long what was read is remembered.
_LIFETIME = timedelta(seconds=30)
#: Inventories of a cluster that are remembered.
_MOST = 64
_KEPT_CHANGING = "the inventory kept changing while it was written"
_Remembered = OrderedDict[str, tuple[inventory.Inventory, float]]
#: By client, then by the owner's id: what was read, and until when it is remembered.
_RECENT: "weakref.WeakKeyDictionary[clients.Client, _Remembered]" = weakref.WeakKeyDictionary()


def recent(client: clients.Client, owner: ownership.Owner) -> inventory.Inventory | None:
    """Return the inventory of an application as it was seconds ago; None: that is not known."""
    remembered = _RECENT.get(client)
    if remembered is None or owner.id not in remembered:
        return None
    stored, until = remembered[owner.id]
    return stored if until > asyncio.get_running_loop().time() else None


async def load(
    client: clients.Client, owner: ownership.Owner, *, namespaces: Sequence[str], home: str
) -> inventory.Inventory:
    """Return the inventory of an application, an empty one at `home` when there is none.

    Raises:
        Forbidden: as `find`.
    """
    stored = await find(client, owner.name, namespaces=[*namespaces, home])
    mine = [known for known in stored if known.owner.id == owner.id]
    return mine[0] if mine else inventory.Inventory(owner, home)


async def find(
    client: clients.Client, name: str, *, namespaces: Sequence[str]
) -> list[inventory.Inventory]:
    """Return the inventories of all applications of a name.

    Looked for in every namespace; where not all may be listed, in `namespaces` as far as they may.
    What is in a namespace that the client may not keep records in is somebody else's, whatever it
    says.

    Raises:
        Forbidden: when none of them may be listed. Then nothing is known, and nothing
            may be written over what is there.
    """
    kind = await _config_map(client)
    bodies = await list_kind(client, kind, inventory.selector(name), sorted(set(namespaces)))
    stored = inventory.read_all([body for body in bodies if client.may_have_kept(body, kind)], name)
    for known in stored:
        _remember(client, known)
    return stored


async def list_kind(
    client: clients.Client,
    kind: discovery.Resource,
    selector: str,
    namespaces: Sequence[str],
    *,
    everywhere: bool = True,
    name: str = "",
) -> tuple[json.JsonObject, ...]:
    """List a kind: `everywhere`, else, or where that is not allowed, in those of `namespaces`.

    With a `name` only the objects that are called so.

    Raises:
        Forbidden: when it is allowed nowhere.
        VolaryError: when a list failed for another reason.
    """
    fields = f"metadata.name={name}" if name else ""
    if everywhere or not kind.namespaced:
        try:
            return (await client.list(kind, label_selector=selector, field_selector=fields)).items
        except api_errors.Forbidden:
            if not kind.namespaced:
                raise
    return await _list_allowed(client, kind, namespaces, selector, fields)


async def _list_allowed(
    client: clients.Client,
    kind: discovery.Resource,
    namespaces: Sequence[str],
    selector: str,
    fields: str,
) -> tuple[json.JsonObject, ...]:
    answers = await fan_out.attempt_all(
        namespaces,
        lambda place: client.list(
            kind, namespace=place, label_selector=selector, field_selector=fields
        ),
    )
    refused: api_errors.Forbidden | None = None
    pages: list[clients.ObjectList] = []
    for answer in answers:
        if isinstance(answer, api_errors.Forbidden):
            refused = answer
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            pages.append(answer)
    if refused is not None and not pages:
        raise refused
    return tuple(body for page in pages for body in page.items)


async def record(
    client: clients.Client, known: inventory.Inventory, after: inventory.Inventory
) -> inventory.Inventory:
    """Write an inventory that says more than the `known` one; costs nothing when it does not.

    What others wrote meanwhile stays: only what differs is written over it.

    Returns:
        What is stored now.
    """
    async for _ in preconditions.attempts():
        if after == known:
            return known
        try:
            return await _write(client, known, after)
        except api_errors.Conflict:
            known, after = await _again(client, known, after)
    raise errors.TemporaryError(_KEPT_CHANGING)


async def _again(
    client: clients.Client, known: inventory.Inventory, after: inventory.Inventory
) -> tuple[inventory.Inventory, inventory.Inventory]:
    """Return an inventory that has changed as it is now, and as it is to be."""
    kind = await _config_map(client)
    body = await client.get(kind, inventory.name(known.owner), namespace=known.namespace) or {}
    now = inventory.from_object(body) or inventory.Inventory(
        known.owner,
        known.namespace,
        version=preconditions.version_of(body),
        uid=objects.uid(body),
    )
    return now, inventory.rebase(known, after, now)


async def record_commit(
    client: clients.Client, known: inventory.Inventory, commit: str
) -> inventory.Inventory | None:
    """Write which commit runs, unless the inventory has changed since it was read.

    Returns:
        What is stored now; None: it has changed, so nothing was written.
    """
    try:
        return await _write(client, known, replace(known, commit=commit))
    except api_errors.Conflict:
        return None


async def forget(
    client: clients.Client, known: inventory.Inventory, after: inventory.Inventory
) -> None:
    """Write what remains after a prune; an empty inventory is deleted."""
    async for _ in preconditions.attempts():
        if after == known or after.references:
            await record(client, known, after)
            return
        if client in _RECENT:
            _RECENT[client].pop(after.owner.id, None)
        kind, name = await _config_map(client), inventory.name(after.owner)
        try:
            await client.delete(
                kind,
                name,
                namespace=after.namespace,
                uid=known.uid,
                resource_version=known.version,
                purpose=write_rules.Purpose.BOOKKEEPING,
            )
        except api_errors.Conflict:
            known, after = await _again(client, known, after)
            continue
        return
    raise errors.TemporaryError(_KEPT_CHANGING)


async def _write(
    client: clients.Client, known: inventory.Inventory, content: inventory.Inventory
) -> inventory.Inventory:
    """Write an inventory over the one that is known.

    Raises:
        Conflict: when another one is stored.
    """
    seen = {"metadata": {"uid": known.uid, "resourceVersion": known.version}}
    kind, body = await _config_map(client), inventory.to_object(content)
    # The inventory is ours alone, so nobody else's fields can be in conflict.
    answer = await preconditions.apply(
        client,
        kind,
        body,
        seen if known.version else None,
        force=True,
        purpose=write_rules.Purpose.BOOKKEEPING,
    )
    version, uid = preconditions.version_of(answer), objects.uid(answer)
    written = replace(content, version=version, uid=uid)
    _remember(client, written)
    return written


def _remember(client: clients.Client, known: inventory.Inventory) -> None:
    remembered = _RECENT.setdefault(client, OrderedDict())
    until = asyncio.get_running_loop().time() + _LIFETIME.total_seconds()
    remembered[known.owner.id] = known, until
    remembered.move_to_end(known.owner.id)
    while len(remembered) > _MOST:
        remembered.popitem(last=False)


async def _config_map(client: clients.Client) -> discovery.Resource:
    return await resource_mapping.require(client, "", "ConfigMap")
