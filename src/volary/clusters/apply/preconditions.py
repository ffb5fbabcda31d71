"""What a write was decided on, for the API server to compare in the very same request.

A write may arrive long after it was sent: whoever sent it was stopped on the way, or the network
held it up, and somebody else has written the object since. So it says which object was seen, by
uid and resourceVersion, or that none was. Where that is no longer so, the server refuses it, and
who may still write looks again and decides anew.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import TypedDict

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, write_rules
from volary.manifests import objects
from volary.model import backoffs, errors, json

#: No object ever has it: the versions of a cluster begin after it. An apply that says it can
#: create, and cannot change what is there.
_OF_NONE = "1"
#: Controllers write a busy object several times a second; so often is looked again, and after the
#: first few times with a pause, so that they come to rest.
TRIES = 20
_AT_ONCE = 3
_PAUSES = backoffs.Backoff(timedelta(seconds=0.05), timedelta(seconds=0.5))


async def attempts() -> AsyncIterator[int]:
    """Count the attempts to write what others write as well; wait longer before each late one."""
    for number in range(TRIES):
        if number >= _AT_ONCE:
            await asyncio.sleep(_PAUSES.after(number - _AT_ONCE + 1).total_seconds())
        yield number


def over(body: json.JsonObject, live: json.JsonObject | None) -> json.JsonObject:
    """Return a body that is taken only over the object that was seen; None: where there is none."""
    seen = {"resourceVersion": _OF_NONE}
    if live is not None:
        seen = {"uid": objects.uid(live), "resourceVersion": version_of(live)}
    said = {key: value for key, value in seen.items() if value}
    return {**body, "metadata": {**body["metadata"], **said}}


def version_of(live: json.JsonObject) -> str:
    """Return the version that an object was seen at."""
    return objects.text(live, "metadata", "resourceVersion")


def at_version_of(live: json.JsonObject, answer: json.JsonObject) -> json.JsonObject:
    """Return an object as it was seen, at the version that a write has given it since."""
    metadata = {**objects.mapping(live, "metadata"), "resourceVersion": version_of(answer)}
    return {**live, "metadata": metadata}


class _Options(TypedDict):
    field_manager: str
    force: bool
    purpose: write_rules.Purpose


async def apply(
    client: clients.Client,
    resource: discovery.Resource,
    body: json.JsonObject,
    live: json.JsonObject | None,
    *,
    field_manager: str = clients.FIELD_MANAGER,
    force: bool = False,
    purpose: write_rules.Purpose = write_rules.Purpose.CONTENT,
) -> json.JsonObject:
    """Apply an object over what was seen of it; None: where there is none.

    Raises:
        api_errors.Conflict: It has changed, has gone, or is there by now; or, as `ApplyConflict`,
            others own fields.
    """
    options: _Options = {"field_manager": field_manager, "force": force, "purpose": purpose}
    try:
        return await client.apply(resource, over(body, live), **options)
    except api_errors.VersionedCreation:
        if live is not None:
            raise
    return await client.apply(resource, body, **options)


async def apply_while(
    client: clients.Client,
    resource: discovery.Resource,
    body: json.JsonObject,
    live: json.JsonObject,
    is_due: Callable[[json.JsonObject], bool],
    *,
    field_manager: str,
) -> bool:
    """Apply fields over an object, whoever owns them; say whether that was still to be done.

    Where it has changed, `is_due` is asked again; where it has gone, it is not.

    Raises:
        VolaryError: when the cluster refuses it, or the object keeps changing.
    """
    name, namespace = (objects.text(body, "metadata", key) for key in ("name", "namespace"))
    seen: json.JsonObject | None = live
    async for _ in attempts():
        if seen is None or not is_due(seen):
            return False
        try:
            await apply(client, resource, body, seen, field_manager=field_manager, force=True)
        except api_errors.Conflict:
            seen = await client.get(resource, name, namespace=namespace)
            continue
        return True
    raise errors.TemporaryError(f"{name} kept changing while it was written")
