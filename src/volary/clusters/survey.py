"""Looking at what an application has in a cluster, for people to see: reads only, and little.

The inventory says which kinds there are; each is listed once by label. Kinds that are fine
once they exist (ConfigMaps, roles) tell nothing and are left out, Secrets always.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.clusters import belongings, gathering, inventories, inventory
from volary.clusters import client as clients
from volary.clusters import errors as cluster_errors
from volary.manifests import health, tracking
from volary.model import errors, json, manifest, resource
from volary.model import health as healths

_SECRET = ("", "Secret")


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen in one cluster."""

    live: tuple[json.JsonObject, ...] = ()
    #: Applied once, not deleted by us, and not there.
    missing: tuple[resource.ResourceKey, ...] = ()
    #: What could not be looked at.
    warnings: tuple[str, ...] = ()


async def look(
    client: clients.Client,
    application: str,
    *,
    namespaces: Sequence[str] = (),
    rules: Sequence[healths.Rule] = (),
) -> Sight:
    """Return an application's objects in a cluster, as they are now.

    Args:
        client: Of the cluster.
        application: Its name.
        namespaces: Namespaces that may be looked into; empty: all.
        rules: The user's, of health: kinds they are for are looked at.

    Raises:
        VolaryError: when the cluster cannot be reached, or refuses more than a kind.
    """
    known, warnings = await _remembered(client, application, namespaces)
    kinds = {(each.key.group, each.key.kind) for each in known.references}
    catalog = await client.discover()
    resources = [
        found
        for kind in sorted(_telling(kinds or set(belongings.COMMON_KINDS), rules))
        if (found := catalog.find(*kind))
    ]
    places = sorted(
        set(namespaces)
        or {client.namespace, *(each.key.namespace for each in known.references)} - {""}
    )
    selector = tracking.selector(application)
    answers = await gathering.each(
        resources,
        lambda kind: belongings.list_kind(
            client, kind, selector, places, everywhere=not namespaces
        ),
    )
    live: list[json.JsonObject] = []
    seen: set[tuple[str, str]] = set()
    for kind, answer in zip(resources, answers, strict=True):
        if isinstance(answer, cluster_errors.Forbidden):
            warnings.append(f"{kind.title} may not be looked at: {answer}")
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            seen.add((kind.group, kind.kind))
            live += [body for body in answer if tracking.is_ours(body, application)]
    return Sight(tuple(live), _missing(known, live, seen), tuple(warnings))


def _missing(
    known: inventory.Inventory, live: Sequence[json.JsonObject], seen: set[tuple[str, str]]
) -> tuple[resource.ResourceKey, ...]:
    there = {manifest.Manifest(body).key for body in live}
    wanted = {each.key for each in known.references if (each.key.group, each.key.kind) in seen}
    return tuple(sorted(wanted - there))


async def _remembered(
    client: clients.Client, application: str, namespaces: Sequence[str]
) -> tuple[inventory.Inventory, list[str]]:
    home = client.namespace
    try:
        found = await inventories.load(client, application, namespaces=namespaces, home=home)
    except cluster_errors.Forbidden as refusal:
        return inventory.Inventory(application, home), [f"only common kinds: {refusal}"]
    return found, []


def _telling(kinds: set[tuple[str, str]], rules: Sequence[healths.Rule]) -> set[tuple[str, str]]:
    """Return the kinds whose objects say how they are; when none does, all of them."""
    kinds = kinds - {_SECRET}
    return {kind for kind in kinds if health.tells(*kind, rules)} or kinds
