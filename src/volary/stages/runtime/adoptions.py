"""Objects that were there before the application: kept as they were until the run has ended.

Before the first write to any of them they are put into a Secret beside the inventory
(`clusters.inventory.snapshots`), and the inventory remembers for good which they are. What
cannot be kept is not adopted, so that there always is a way back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from volary.clusters.client import clients
from volary.clusters.inventory import inventory, inventory_store, snapshot_store, snapshots
from volary.model import errors, json
from volary.model.objects import manifest

#: More objects than this are counted, not named.
_MOST_NAMED = 3


@dataclass(slots=True)
class Adoption:
    """The adopted objects of one application on one cluster, as far as a run knows them."""

    #: None: nothing was applied yet.
    client: clients.Client | None = None
    known: inventory.Inventory | None = None
    #: What this process has kept, so that it is not asked for again with every step.
    _kept: set[manifest.ResourceKey] = field(default_factory=set)

    @property
    def is_unfinished(self) -> bool:
        """Whether a first run has adopted objects and has not succeeded, be it an earlier one.

        What is unchanged then may be of its making, and is undone as this run's own.
        """
        known = self.known
        return known is not None and known.has_snapshot and not known.commit

    def note(self, client: clients.Client, known: inventory.Inventory) -> None:
        """Take the inventory as it was read or written just now."""
        self.client, self.known = client, known

    async def keep(
        self,
        client: clients.Client,
        fallback: inventory.Inventory,
        live: Sequence[json.JsonObject],
        run: str,
    ) -> list[manifest.ResourceKey]:
        """Keep those of some live objects that the application is about to adopt; return which.

        `fallback` is the inventory where none could be read or written until now.

        Raises:
            UserError: when they cannot be kept; then they must not be written.
            VolaryError: when the cluster did not let them be kept.
        """
        known = self.known or fallback
        bodies = [
            body
            for body in snapshots.adopted(live, known.owner)
            if manifest.Manifest(body).key not in self._kept
        ]
        keys = [manifest.Manifest(body).key for body in bodies]
        if not keys:
            return []
        try:
            await snapshot_store.keep(client, known.owner, known.namespace, bodies, run)
            after = await inventory_store.record(client, known, known.with_adopted(keys))
        except errors.PermanentError as error:
            raise errors.user_error(
                f"{listed(keys)}: not adopted, as it could not be kept as it is: {error}",
                hint="let the user list, create, patch and delete Secrets and ConfigMaps in"
                f" namespace {known.namespace}",
            ) from error
        self.note(client, after)
        self._kept.update(keys)
        return keys

    async def forget(self, namespaces: Sequence[str] = ()) -> None:
        """Let go of the objects as they were, if there are any: the run has ended well.

        Raises:
            VolaryError: when the cluster did not let it be done; the next run tries again.
        """
        if self.client is None or self.known is None or not self.known.has_snapshot:
            return
        owner, home = self.known.owner, self.known.namespace
        await snapshot_store.forget(self.client, owner, namespaces=[*namespaces, home])
        # Others may have written it since, but not to this application on this cluster.
        now = await inventory_store.load(self.client, owner, namespaces=namespaces, home=home)
        after = replace(now, has_snapshot=False)
        self.known = await inventory_store.record(self.client, now, after)


def listed(keys: Sequence[manifest.ResourceKey]) -> str:
    """Return the first of some objects, and how many there are more, for a sentence."""
    more = f" and {len(keys) - _MOST_NAMED} more" if keys[_MOST_NAMED:] else ""
    return ", ".join(key.title for key in keys[:_MOST_NAMED]) + more
