"""What an application has in a cluster now, for people to see: reads only, and few of them.

The inventory says which kinds there are; each is listed once by label. Kinds that are fine
once they exist (ConfigMaps, roles) have no health and are left out, Secrets always.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.clusters.api import api_errors
from volary.clusters.client import clients, fan_out
from volary.clusters.inventory import inventory, inventory_store, owned_objects
from volary.manifests.health import assessment
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, object_health

_SECRET = ("", "Secret")


@dataclass(frozen=True, slots=True)
class LiveState:
    """An application's objects in one cluster."""

    live: tuple[json.JsonObject, ...] = ()
    #: Applied once, not deleted by us, and not there.
    missing: tuple[manifest.ResourceKey, ...] = ()
    #: What could not be looked at.
    warnings: tuple[str, ...] = ()


async def read(
    client: clients.Client,
    application: str,
    *,
    namespaces: Sequence[str] = (),
    rules: Sequence[object_health.Rule] = (),
) -> LiveState:
    """Return an application's objects in a cluster, as they are now.

    Args:
        client: Of the cluster.
        application: Its name.
        namespaces: Namespaces that may be looked into; empty: all.
        rules: The user's, of health: kinds they are for are looked at.

    Raises:
        VolaryError: when the cluster cannot be reached, or refuses more than a kind.
    """
    known, warnings = await _read_inventory(client, application, namespaces)
    kinds = {(reference.key.group, reference.key.kind) for reference in known.references}
    catalog = await client.discover()
    resources = [
        resource
        for kind in sorted(_kinds_with_health(kinds or set(owned_objects.COMMON_KINDS), rules))
        if (resource := catalog.find(*kind))
    ]
    places = sorted(
        set(namespaces)
        or {client.namespace, *(reference.key.namespace for reference in known.references)} - {""}
    )
    selector = tracking.selector(application)
    answers = await fan_out.attempt_all(
        resources,
        lambda kind: owned_objects.list_kind(
            client, kind, selector, places, everywhere=not namespaces
        ),
    )
    live: list[json.JsonObject] = []
    seen: set[tuple[str, str]] = set()
    for kind, answer in zip(resources, answers, strict=True):
        if isinstance(answer, api_errors.Forbidden):
            warnings.append(f"{kind.title} may not be looked at: {answer}")
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            seen.add((kind.group, kind.kind))
            live += [body for body in answer if tracking.is_ours(body, application)]
    return LiveState(tuple(live), _missing(known, live, seen), tuple(warnings))


def _missing(
    known: inventory.Inventory, live: Sequence[json.JsonObject], seen: set[tuple[str, str]]
) -> tuple[manifest.ResourceKey, ...]:
    there = {manifest.Manifest(body).key for body in live}
    wanted = {
        reference.key
        for reference in known.references
        if (reference.key.group, reference.key.kind) in seen
    }
    return tuple(sorted(wanted - there))


async def _read_inventory(
    client: clients.Client, application: str, namespaces: Sequence[str]
) -> tuple[inventory.Inventory, list[str]]:
    home = client.namespace
    try:
        stored = await inventory_store.load(client, application, namespaces=namespaces, home=home)
    except api_errors.Forbidden as refusal:
        return inventory.Inventory(application, home), [f"only common kinds: {refusal}"]
    return stored, []


def _kinds_with_health(
    kinds: set[tuple[str, str]], rules: Sequence[object_health.Rule]
) -> set[tuple[str, str]]:
    """Return the kinds whose objects say how they are; when none does, all of them."""
    kinds = kinds - {_SECRET}
    return {kind for kind in kinds if assessment.has_health(*kind, rules)} or kinds
