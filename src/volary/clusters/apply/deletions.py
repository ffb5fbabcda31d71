"""Deleting objects one by one, each checked again right before its delete.

Between a list and a delete somebody may have taken an object over, or put another one
in its place. So each is read again, its evidence judged again, and deleted only as
exactly what was read: its uid and resource version are preconditions.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import waits
from volary.concurrency import fan_out
from volary.manifests import objects
from volary.manifests.loading import apply_order
from volary.model import errors, json
from volary.model.objects import apply_results, manifest

#: Why an object must stay; empty: it may go.
KeepCheck = Callable[[json.JsonObject], str]
#: Waits until proxies have followed routes that were deleted.
WaitForProxies = Callable[[], Awaitable[None]]


#: Is told what is waited for.
Say = Callable[[str], None]


def say_nothing(_sentence: str) -> None:
    """Tell nobody."""


async def no_wait() -> None:
    """Wait for no proxy."""


@dataclass(frozen=True, slots=True)
class DeletionResult:
    """What became of the objects that were to go."""

    changes: tuple[apply_results.Change, ...]
    #: Why some could not be deleted, or have not gone; empty: all went.
    failures: tuple[str, ...] = ()
    #: Those that were deleted and have not gone.
    held: frozenset[manifest.ResourceKey] = frozenset()


async def delete_in_order(
    client: clients.Client,
    to_delete: Sequence[resource_mapping.MappedManifest],
    check: KeepCheck,
    *,
    timeout: timedelta,
    followed: WaitForProxies = no_wait,
    waiting: Say = say_nothing,
) -> DeletionResult:
    """Delete live objects in the order of deleting, and wait until they are gone.

    `to_delete` are the objects as they were listed; `check` judges each again, as it is right
    before its delete. `followed` is awaited between routes and what they led to, `waiting` is
    told what is waited for, and what holds it.
    """
    changes: list[apply_results.Change] = []
    failures: list[str] = []
    by_key = {placed.key: placed for placed in to_delete}
    going: list[tuple[resource_mapping.MappedManifest, str]] = []
    last = -1
    for rank in apply_order.deletion_ranks([placed.item for placed in to_delete]):
        if last == apply_order.ROUTE and going:
            await followed()
        last = apply_order.deletion_rank(rank[0].key)
        group = [by_key[item.key] for item in rank]
        answers = await fan_out.attempt_all(
            group, lambda placed: _delete_one(client, placed, check)
        )
        for placed, answer in zip(group, answers, strict=True):
            if isinstance(answer, errors.VolaryError):
                failures.append(f"{placed.key.title} was not deleted: {answer}")
                continue
            changes.append(answer)
            if answer.action is apply_results.Action.DELETED:
                going.append((placed, objects.uid(placed.item.body)))
    held: frozenset[manifest.ResourceKey] = frozenset()
    if going:
        gone = await waits.wait_deleted(client, going, timeout=timeout, progress=waiting)
        if gone.end is not waits.End.READY:
            failures.append(gone.sentence)
            held = gone.held
    return DeletionResult(tuple(changes), tuple(failures), held)


async def _delete_one(
    client: clients.Client, mapped: resource_mapping.MappedManifest, check: KeepCheck
) -> apply_results.Change:
    item = mapped.item
    async for _ in preconditions.attempts():
        live = await client.get(mapped.resource, item.name, namespace=item.namespace)
        if live is None or objects.uid(live) != objects.uid(item.body):
            return _skipped(item, "it is gone already")
        reason = check(live)
        if reason:
            return _skipped(item, reason)
        if objects.is_terminating(live):
            going = "it is being deleted already"
            return apply_results.Change(item.key, apply_results.Action.DELETED, going)
        try:
            await client.delete(
                mapped.resource,
                item.name,
                namespace=item.namespace,
                uid=objects.uid(live),
                resource_version=objects.text(live, "metadata", "resourceVersion"),
                propagation=_propagation(item),
            )
        except api_errors.Conflict:
            continue
        return apply_results.Change(item.key, apply_results.Action.DELETED, written=True)
    return _skipped(item, "it kept changing while it was checked")


def _skipped(item: manifest.Manifest, reason: str) -> apply_results.Change:
    return apply_results.Change(item.key, apply_results.Action.SKIPPED, reason)


def _propagation(item: manifest.Manifest) -> str:
    """A workload is gone when its pods are."""
    is_workload = apply_order.deletion_rank(item.key) == apply_order.WORKLOAD
    return "Foreground" if is_workload else "Background"
