"""What dry runs have shown, for the stage that would repeat them at once.

Preflight tries what the first stages apply, and they follow within seconds. As long as an object
is the one that was tried (by uid and resourceVersion, or still not there), the same body sent by
the same manager is answered alike. Only a digest and what came of it are kept, of each cluster's
latest trials, for a minute; for seconds where the object was not seen: only a trial shows whether
somebody has made one meanwhile, and claims it.
"""

import asyncio
import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

import msgspec

from volary.clusters.apply import live_objects, refusals, steps
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import json

_LIFETIME = timedelta(minutes=1)
_LIFETIME_OF_ABSENCE = timedelta(seconds=5)
_MOST = 2048
#: All that is known of a step but the objects themselves.
_SMALL = tuple(
    part.name for part in fields(steps.Step) if part.name not in ("mapped", "live", "tried")
)
_OF_CLIENTS: "weakref.WeakKeyDictionary[clients.Client, Trials]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _Shown:
    #: What a dry run finds out of a step, by field.
    changes: Mapping[str, Any]
    #: Of the object that it was, or would be.
    uid: str
    #: In the event loop's time.
    until: float


@dataclass(slots=True)
class Trials:
    """Those of one cluster."""

    _shown: OrderedDict[bytes, _Shown] = field(default_factory=OrderedDict)

    def recall(self, step: steps.Step, digest: bytes) -> steps.Step | None:
        """Return a step, of that `digest_of`, as a dry run would; None: it has to be tried."""
        shown = self._shown.get(digest)
        if shown is None or shown.until < asyncio.get_running_loop().time():
            return None
        tried = {"metadata": {"uid": shown.uid}}
        return replace(step, **shown.changes, tried=tried)

    def remember(self, before: steps.Step, after: steps.Step, digest: bytes) -> None:
        """Keep what a dry run has shown of a step, whose `digest_of` before it is given."""
        if after.tried is None or (before.live is None and after.live is not None):
            return  # What it was tried on is not what was known of it.
        lifetime = _LIFETIME_OF_ABSENCE if before.live is None else _LIFETIME
        until = asyncio.get_running_loop().time() + lifetime.total_seconds()
        uid = objects.text(after.tried, "metadata", "uid")
        changes = {name: getattr(after, name) for name in _SMALL}
        self._shown[digest] = _Shown(changes, uid, until)
        while len(self._shown) > _MOST:
            self._shown.popitem(last=False)


def is_enough(
    placed: resource_mapping.MappedManifest, live: json.JsonObject, tools: steps.Tools
) -> bool:
    """Say whether an object may be applied by how it was seconds ago.

    It may where API servers refuse what takes something from somebody else meanwhile, and
    where nothing but the manifest decides what is sent.
    """
    return (
        steps.method_of(placed.item) is steps.Method.APPLY
        and not tools.force
        and placed.item.annotations.get(refusals.TAKE_OVER) != steps.ENABLED
        and tools.owner is not None
        and tracking.is_ours(live, tools.owner)
        and not objects.is_terminating(live)
        and not live_objects.is_scaled_here(placed, live, tools.manager)
    )


def of(client: clients.Client) -> Trials:
    """Return those of a client's cluster."""
    return _OF_CLIENTS.setdefault(client, Trials())


def digest_of(step: steps.Step, tools: steps.Tools) -> bytes:
    """Return what steps have in common that are answered alike."""
    version, ignored = [""], ""
    if (live := step.live) is not None:
        version = [objects.text(live, "metadata", key) for key in ("uid", "resourceVersion")]
        ignored = steps.ignored(step, live, tools)
    settings = [tools.manager, ignored, step.force, step.method.name, tools.conflicts]
    sent = [step.mapped.resource.api_version, step.mapped.item.body, version, settings]
    return hashlib.sha256(msgspec.json.encode(sent)).digest()
