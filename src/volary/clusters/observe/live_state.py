"""What an application has in a cluster now, for people to see: reads only, and few of them.

The inventory says which kinds there are; each is listed once by label. Kinds that are fine
once they exist (ConfigMaps, roles) have no health and are left out, Secrets always.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.clusters.api import api_errors
from volary.clusters.client import clients
from volary.clusters.inventory import inventory, inventory_store, owned_objects
from volary.manifests.health import assessment
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, object_health, ownership

_SECRET = ("", "Secret")


@dataclass(frozen=True, slots=True)
class LiveState:
    """An application's objects in one cluster."""

    live: tuple[json.JsonObject, ...] = ()
    #: Applied once, not deleted by us, and not there.
    missing: tuple[manifest.ResourceKey, ...] = ()
    #: What could not be read.
    warnings: tuple[str, ...] = ()
    #: The commit that runs, as the inventory says; empty: it does not.
    commit: str = ""


@dataclass(frozen=True, slots=True)
class ApplicationObjects:
    """Whose objects are read."""

    #: As the application's file calls it.
    name: str
    origin: ownership.Origin
    #: As it was found out when it was there; None: nobody has asked this cluster yet.
    owner: ownership.Owner | None = None
    #: Namespaces it may be in, for who may not look into all of them.
    likely: tuple[str, ...] = ()

    def has(self, stored: inventory.Inventory) -> bool:
        """Say whether an inventory is the application's, as far as that can be told at a glance."""
        if self.owner is not None:
            return stored.owner == self.owner
        return stored.origin == self.origin


async def read(
    client: clients.Client,
    whose: ApplicationObjects,
    *,
    namespaces: Sequence[str] = (),
    rules: Sequence[object_health.Rule] = (),
) -> LiveState:
    """Return an application's objects in a cluster, as they are now.

    `namespaces` are those that may be looked into (empty: all), `rules` the user's, of health:
    the kinds they are for are listed too.

    Raises:
        VolaryError: when the cluster cannot be reached, or refuses more than a kind.
    """
    warnings: list[str] = []
    home = client.namespace
    # Who may not write an inventory has objects all the same.
    known = inventory.Inventory(whose.owner, home) if whose.owner else None
    try:
        places = [*(namespaces or whose.likely), home]
        stored = await inventory_store.find(client, whose.name, namespaces=places)
        known = next(filter(whose.has, stored), known)
    except api_errors.Forbidden as refusal:
        shown = "only common kinds" if known else "nothing is shown"
        warnings.append(f"{shown}: {refusal}")
    if known is None:
        return LiveState(warnings=tuple(warnings))
    owner = known.owner
    kinds = _kinds_with_health(known.kinds or set(owned_objects.COMMON_KINDS), rules)
    selector = tracking.selector(owner)
    live: list[json.JsonObject] = []
    seen: set[tuple[str, str]] = set()
    for kind, answer in await owned_objects.list_kinds(
        client, kinds, selector, known, allowed=namespaces, used=whose.likely
    ):
        if isinstance(answer, api_errors.Forbidden):
            warnings.append(f"{kind.title} may not be read: {answer}")
        else:
            seen.add((kind.group, kind.kind))
            live += [body for body in answer if tracking.is_ours(body, owner)]
    missing = _missing(known, live, seen)
    return LiveState(tuple(live), missing, tuple(warnings), known.commit)


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


def _kinds_with_health(
    kinds: set[tuple[str, str]], rules: Sequence[object_health.Rule]
) -> set[tuple[str, str]]:
    """Return the kinds whose objects say how they are; when none does, all of them."""
    kinds = kinds - {_SECRET}
    return {kind for kind in kinds if assessment.has_health(*kind, rules)} or kinds
