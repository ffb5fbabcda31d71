"""Adopted objects go back to what they were, without a gap for those who use them.

Services lead back at once where pods that they selected are ready, else once the workloads are
restored and ready, by labels that old and new pods share meanwhile; routes come last. What was
not ready before is not waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from volary.clusters.apply import restoration
from volary.clusters.client import resource_mapping
from volary.clusters.inventory import inventory, inventory_store, owned_objects, snapshot_store
from volary.clusters.watching import endpoints, readiness
from volary.concurrency import fan_out
from volary.manifests.loading import apply_order
from volary.manifests.services import service_targets
from volary.model import errors
from volary.model.objects import manifest
from volary.stages.rollouts import service_changes, service_rollouts
from volary.stages.runtime import execution, inventory_records

_AUTOSCALER_RANK = apply_order.kind_rank("autoscaling", "HorizontalPodAutoscaler")


@dataclass(slots=True)
class Restoring:
    """The adopted objects that a rollback of one cluster restores."""

    work: execution.Work
    kept: Sequence[restoration.Kept]
    #: As it was when the rollback began.
    known: inventory.Inventory

    @property
    def adopted(self) -> frozenset[manifest.ResourceKey]:
        """What no rollback deletes."""
        return self.known.adopted | {one.key for one in self.kept}

    async def restore(self) -> str:
        """Restore everything and return what was done; empty: nothing was adopted.

        Raises:
            StageFailedError: naming what could not be restored, or is not ready again.
        """
        if not self.kept:
            return ""
        self.work.context.progress("restoring what was there before")
        services = [one for one in self.kept if _is_service(one)]
        late = [one for one in self.kept if _rank(one) > _AUTOSCALER_RANK]
        first = [one for one in self.kept if one not in services and one not in late]
        now = [one for one in services if await self._has_pods(one)]
        await self._put(now)
        if len(now) < len(services):
            await service_changes.bridge(self.work, [one.mapped for one in self.kept])
        await self._put(first)
        seen = await self.work.wait_ready(
            [one.mapped.item for one in first if self._was_ready(one.mapped.item)]
        )
        await self._put([one for one in services if one not in now])
        for one in services:
            await self._follow(one)
        await self._put(late)
        if services or late:
            self.work.context.propagation.note()
        count = len(self.kept)
        return f"{count} object{'s' if count > 1 else ''} restored as before; {seen}"

    async def verify(self) -> list[str]:
        """Return what is not as it was, each with the part that differs."""
        client = self.work.context.client
        answers = await fan_out.attempt_all(
            list(self.kept),
            lambda one: client.get(
                one.mapped.resource, one.mapped.item.name, namespace=one.mapped.item.namespace
            ),
        )
        differing: list[str] = []
        for one, live in zip(self.kept, answers, strict=True):
            if isinstance(live, errors.VolaryError):
                raise live
            if live is None:
                differing.append(f"{one.key.title} is not there")
            elif part := restoration.differing_part(live, one.before):
                differing.append(f"{one.key.title} differs in {part}")
        return differing

    async def finish(self) -> None:
        """Let go of what was kept: all of it is as it was.

        Raises:
            VolaryError: when the cluster did not let it be done.
        """
        if not self.kept and not self.known.has_snapshot:
            return
        client, known = self.work.context.client, self.known
        places = [*sorted(self.work.places), known.namespace]
        await snapshot_store.forget(client, known.owner, namespaces=places)
        now = await inventory_store.load(
            client, known.owner, namespaces=places, home=known.namespace
        )
        after = replace(now.without([one.key for one in self.kept]), has_snapshot=False)
        await inventory_store.forget(client, now, after)
        self.work.context.adoption.known = after

    async def _put(self, some: Sequence[restoration.Kept]) -> None:
        """Restore objects in the order of applying.

        Raises:
            StageFailedError: naming all of a rank that could not be.
        """
        by_item = {id(one.mapped.item): one for one in some}
        for rank in apply_order.ranks([one.mapped.item for one in some]):
            group = [by_item[id(item)] for item in rank]
            self.work.touched = True
            answers = await fan_out.attempt_all(
                group, lambda one: restoration.restore(self.work.context.client, one)
            )
            failed: list[str] = []
            for one, answer in zip(group, answers, strict=True):
                if isinstance(answer, errors.TemporaryError):
                    raise answer
                if isinstance(answer, errors.VolaryError):
                    failed.append(f"{one.key.title} is not restored: {answer}")
                else:
                    self.work.record([answer])
            if failed:
                for sentence in failed:
                    self.work.caution(sentence)
                raise execution.StageFailedError("; ".join(failed))

    async def _has_pods(self, one: restoration.Kept) -> bool:
        labels = dict(service_targets.selector(one.mapped.item))
        if not labels:
            return True
        client, namespace = self.work.context.client, one.mapped.item.namespace
        return bool(await endpoints.count_ready_pods(client, namespace, labels))

    async def _follow(self, one: restoration.Kept) -> None:
        """Wait until a Service leads to pods of its selector, if there are any."""
        if await self._has_pods(one) and (labels := service_targets.selector(one.mapped.item)):
            await service_rollouts.follow(self.work, one.mapped.item, labels, self.work.remaining)

    def _was_ready(self, item: manifest.Manifest) -> bool:
        seen = readiness.Observed({item.key: item.body})
        return readiness.assess([item], seen, self.work.context.application.health).is_complete


async def begin(work: execution.Work, running: Sequence[manifest.Manifest]) -> Restoring:
    """Return what a rollback restores: what was adopted and is not part of what ran before.

    Raises:
        StageFailedError: when the cluster does not serve a kind of it any more.
    """
    context = work.context
    client, owner = context.client, context.application.owner
    places = context.namespaces or sorted(work.places)
    home = inventory_records.home_of(work, places)
    known, _ = await owned_objects.load_inventory(client, owner, places)
    kept = await snapshot_store.load(client, owner, namespaces=[*places, home])
    if not kept:
        return Restoring(work, (), known)
    placed = await resource_mapping.map_manifests(client, running)
    wanted = {mapped.key for mapped in placed.mapped}
    before = [manifest.Manifest(one.body) for one in kept if one.key not in wanted]
    mapping = await resource_mapping.map_manifests(client, before)
    if mapping.problems or mapping.later:
        lost = [str(problem.message) for problem in mapping.problems]
        lost += [f"{item.key.title} is of a kind that is not served" for item in mapping.later]
        raise execution.StageFailedError(f"not restored: {'; '.join(lost)}")
    mapped = tuple(restoration.Kept(one, owner) for one in mapping.mapped)
    return Restoring(work, mapped, known)


def _is_service(one: restoration.Kept) -> bool:
    return one.mapped.item.kind == service_targets.KIND and not one.mapped.item.group


def _rank(one: restoration.Kept) -> int:
    return apply_order.kind_rank(one.mapped.item.group, one.mapped.item.kind)
