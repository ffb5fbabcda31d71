"""What a stage writes into its application's inventory on a cluster, and what it keeps there.

The inventory says what an application owns and which commit runs; beside it lie the objects as
they were before they were adopted (`adoptions`).
"""

from collections.abc import Sequence
from dataclasses import replace

from volary.clusters.client import resource_mapping
from volary.clusters.inventory import inventory, inventory_store
from volary.model import errors, json
from volary.model.objects import manifest
from volary.stages.runtime import adoptions, execution


async def add(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> bool:
    """Add `manifests` to the inventory; say whether that was possible.

    It is not while their namespace or definition does not exist yet, nor without the
    permission. Deploying does not depend on it.
    """
    client, owner = work.context.client, work.context.application.owner
    placement = await resource_mapping.map_manifests(client, manifests, refresh=False)
    namespaces = sorted(
        {mapped_manifest.item.namespace for mapped_manifest in placement.mapped} - {""}
    )
    home = home_of(work, namespaces)
    added = [inventory.reference(mapped_manifest.item) for mapped_manifest in placement.mapped]

    def with_these(known: inventory.Inventory) -> inventory.Inventory:
        return replace(
            known.with_references(added),
            origin=work.context.application.origin,
            checkout=work.context.application.origin.checkout,
            begun=known.begun or work.context.task.commit,
        )

    try:
        known = inventory_store.recent(client, owner)
        if known is None or with_these(known) != known:
            known = await inventory_store.load(client, owner, namespaces=namespaces, home=home)
        work.context.adoption.note(client, known)
        stored = await inventory_store.record(client, known, with_these(known))
        work.context.adoption.note(client, stored)
    except errors.PermanentError:
        return False
    return not placement.later and not placement.problems


async def keep_adopted(work: execution.Work, live: Sequence[json.JsonObject]) -> None:
    """Keep those of some live objects that are about to be adopted as they are.

    Raises:
        VolaryError: when that is not possible; then they must not be written.
    """
    client, owner = work.context.client, work.context.application.owner
    home = home_of(work, work.context.namespaces or sorted(work.places))
    fallback = inventory.Inventory(owner, home)
    run = work.context.task.run_id
    kept = await work.context.adoption.keep(client, fallback, live, run)
    if kept:
        work.note(f"kept as it is until the run has ended: {adoptions.listed(kept)}")


async def record_running(work: execution.Work, commit: str) -> None:
    """Write into the inventory which commit runs now, so that whoever comes next knows it."""
    client, owner = work.context.client, work.context.application.owner
    namespaces = work.context.namespaces or sorted(work.places)
    home = home_of(work, namespaces)
    try:
        known = inventory_store.recent(client, owner)
        if known is not None and known.references and known.commit != commit:
            # Whoever goes back has to take this back too.
            work.touched = True
            if await inventory_store.record_commit(client, known, commit):
                return
        known = await inventory_store.load(client, owner, namespaces=namespaces, home=home)
        if known.references and known.commit != commit:
            work.touched = True
            await inventory_store.record(client, known, replace(known, commit=commit))
    except errors.PermanentError as error:
        work.caution(f"the inventory does not say that {commit[:7]} runs: {error}")


def home_of(work: execution.Work, namespaces: Sequence[str]) -> str:
    """Return the namespace for a new inventory: the application's, else the context's."""
    context = work.context
    wished = context.application.input.namespace
    return inventory.home_of(wished, context.namespaces, namespaces, context.client.namespace)
