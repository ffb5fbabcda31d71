"""Deleting objects one by one, each checked again right before its delete.

Between a list and a delete somebody may have taken an object over, or put another one
in its place. So each is read again, its evidence judged again, and deleted only as
exactly what was read: its uid and resource version are preconditions.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import errors as cluster_errors
from volary.clusters import gathering, placing, wait
from volary.manifests import objects, order
from volary.model import change, errors, json, manifest

#: Objects that controllers write to change all the time; so often is looked again.
_TRIES = 5

#: Why an object must stay; empty: it may go.
Check = Callable[[json.JsonObject], str]
#: Waits until proxies have followed routes that were deleted.
Followed = Callable[[], Awaitable[None]]


async def at_once() -> None:
    """Wait for no proxy."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What became of the objects that were to go."""

    changes: tuple[change.Change, ...]
    #: Why some could not be deleted, or have not gone; empty: all went.
    failures: tuple[str, ...] = ()


async def remove(
    client: clients.Client,
    doomed: Sequence[placing.Placed],
    check: Check,
    *,
    timeout: timedelta,
    followed: Followed = at_once,
) -> Removed:
    """Delete live objects in the order of deleting, and wait until they are gone.

    Args:
        client: Of the cluster.
        doomed: The live objects as they were listed.
        check: Judges each object again, as it is right before its delete.
        timeout: How long they may take to go.
        followed: Awaited between routes that were deleted and what they led to.
    """
    changes: list[change.Change] = []
    failures: list[str] = []
    by_key = {each.item.key: each for each in doomed}
    going: list[tuple[placing.Placed, str]] = []
    last = -1
    for rank in order.deletion_ranks([each.item for each in doomed]):
        if last == order.ROUTE and going:
            await followed()
        last = order.deletion_rank(rank[0].key)
        group = [by_key[item.key] for item in rank]
        answers = await gathering.each(group, lambda each: _remove_one(client, each, check))
        for each, answer in zip(group, answers, strict=True):
            if isinstance(answer, errors.VolaryError):
                failures.append(f"{each.item.key.title} was not deleted: {answer}")
                continue
            changes.append(answer)
            if answer.action is change.Action.DELETED:
                going.append((each, _uid(each.item.body)))
    if going:
        gone = await wait.wait_deleted(client, going, timeout=timeout)
        if gone.end is not wait.End.READY:
            failures.append(gone.sentence)
    return Removed(tuple(changes), tuple(failures))


async def _remove_one(
    client: clients.Client, placed: placing.Placed, check: Check
) -> change.Change:
    item = placed.item
    for _ in range(_TRIES):
        live = await client.get(placed.resource, item.name, namespace=item.namespace)
        if live is None or _uid(live) != _uid(item.body):
            return change.Change(item.key, change.Action.SKIPPED, "it is gone already")
        reason = check(live)
        if reason:
            return change.Change(item.key, change.Action.SKIPPED, reason)
        try:
            await client.delete(
                placed.resource,
                item.name,
                namespace=item.namespace,
                uid=_uid(live),
                resource_version=objects.text(live, "metadata", "resourceVersion"),
                propagation=_propagation(item),
            )
        except cluster_errors.Conflict:
            continue
        except cluster_errors.NotFound:
            return change.Change(item.key, change.Action.SKIPPED, "it is gone already")
        return change.Change(item.key, change.Action.DELETED, written=True)
    return change.Change(item.key, change.Action.SKIPPED, "it kept changing while being looked at")


def _propagation(item: manifest.Manifest) -> str:
    """A workload is gone when its pods are."""
    is_workload = order.deletion_rank(item.key) == order.WORKLOAD
    return "Foreground" if is_workload else "Background"


def _uid(body: json.JsonObject) -> str:
    return objects.text(body, "metadata", "uid")
