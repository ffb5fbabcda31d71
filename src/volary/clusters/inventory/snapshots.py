"""Adopted objects as they were before a run wrote to them: how they are kept, pure.

Objects that were there before the application have no version in Git to go back to. So each
is kept, compressed, in a Secret beside the inventory, since it may be a Secret itself or hold a
copy of one. The Secrets are bounded; what does not fit is not adopted.
"""

import base64
import hashlib
import json as text
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, own_records, ownership

#: Label of the Secrets; its value is the application's id.
LABEL = "volary.dev/snapshot"
#: A Secret holds 1 MiB.
MOST_BYTES = 1 << 20
#: So many Secrets are written at most.
MOST_PARTS = 8
_TYPE = "volary.dev/snapshot"


class TooLargeError(errors.UserError):
    """Objects cannot be kept as they are, so they must not be adopted."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One object as it was."""

    body: json.JsonObject
    #: The run that adopted it.
    run: str

    @property
    def key(self) -> manifest.ResourceKey:
        """The object's identity."""
        return manifest.Manifest(self.body).key


def adopted(bodies: Iterable[json.JsonObject], owner: ownership.Owner) -> list[json.JsonObject]:
    """Return those of some live objects that are not the application's yet, nor going."""
    return [
        body
        for body in bodies
        if not tracking.is_ours(body, owner) and not objects.is_terminating(body)
    ]


def merge(kept: Sequence[Snapshot], bodies: Iterable[json.JsonObject], run: str) -> list[Snapshot]:
    """Return what is kept together with objects that a run is about to adopt.

    What this run keeps already stays as it is: what is live may be of the run's own making. What
    an earlier run left is older than what is live.
    """
    merged = {snapshot.key: snapshot for snapshot in kept}
    for body in bodies:
        snapshot = Snapshot(body, run)
        before = merged.get(snapshot.key)
        if before is None or before.run != run:
            merged[snapshot.key] = snapshot
    return list(merged.values())


def pack(snapshots: Iterable[Snapshot]) -> list[dict[str, str]]:
    """Return the data of as few Secrets as hold the snapshots.

    Raises:
        TooLargeError: when they are more than may be kept.
    """
    parts: list[dict[str, str]] = [{}]
    used = 0
    for snapshot in snapshots:
        content = _encode(snapshot)
        if len(content) > MOST_BYTES:
            raise TooLargeError(_too_large(snapshot, len(content)))
        if used + len(content) > MOST_BYTES:
            parts.append({})
            used = 0
        if len(parts) > MOST_PARTS:
            raise TooLargeError(_too_many(snapshot))
        used += len(content)
        parts[-1][_data_key(snapshot.key)] = base64.b64encode(content).decode()
    return parts


def check(bodies: Iterable[json.JsonObject]) -> None:
    """Refuse objects that could not be kept.

    Raises:
        TooLargeError: when they are more than may be kept.
    """
    pack(Snapshot(body, "") for body in bodies)


def name(owner: ownership.Owner, part: int) -> str:
    """Return the name of a Secret; parts are counted from 0."""
    return f"{own_records.SNAPSHOT}{owner.id}" + (f"-{part + 1}" if part else "")


def selector(owner: ownership.Owner) -> str:
    """Return the label selector that finds the Secrets of an application."""
    return f"{LABEL}={owner.id}"


def to_object(
    owner: ownership.Owner, namespace: str, part: int, data: dict[str, str]
) -> json.JsonObject:
    """Return a Secret that holds what `pack` made."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": _TYPE,
        "metadata": {
            "name": name(owner, part),
            "namespace": namespace,
            "labels": {LABEL: owner.id},
            "annotations": {tracking.APPLICATION: owner.name},
        },
        "data": data,
    }


def is_one(secret: json.JsonObject) -> bool:
    """Say whether a Secret is one of these, by its type, which nobody can change."""
    return secret.get("type") == _TYPE


def read_all(secrets: Iterable[json.JsonObject]) -> list[Snapshot]:
    """Return what Secrets hold; of an object that several hold, what the last of them does."""
    snapshots: dict[manifest.ResourceKey, Snapshot] = {}
    for secret in secrets:
        for value in objects.mapping(secret, "data").values():
            snapshot = _decode(str(value))
            snapshots[snapshot.key] = snapshot
    return list(snapshots.values())


def _encode(snapshot: Snapshot) -> bytes:
    content = text.dumps({"run": snapshot.run, "object": snapshot.body}, separators=(",", ":"))
    return zlib.compress(content.encode(), 9)


def _decode(value: str) -> Snapshot:
    content = text.loads(zlib.decompress(base64.b64decode(value)))
    return Snapshot(content["object"], content["run"])


def _data_key(key: manifest.ResourceKey) -> str:
    return hashlib.sha256(str(key).encode()).hexdigest()[:32]


def _too_large(snapshot: Snapshot, size: int) -> errors.Problem:
    return errors.Problem(
        f"{snapshot.key.title} is not adopted: it is too large to be kept as it is"
        f" ({size >> 10} KiB compressed, {MOST_BYTES >> 10} KiB are the most)",
        hint="leave it out of the manifests, or give it another name there",
    )


def _too_many(snapshot: Snapshot) -> errors.Problem:
    most = MOST_PARTS * MOST_BYTES >> 20
    return errors.Problem(
        f"{snapshot.key.title} is not adopted: with the others it is more than can be kept as it"
        f" is ({most} MiB compressed)",
        hint="adopt a part of the objects first",
    )
