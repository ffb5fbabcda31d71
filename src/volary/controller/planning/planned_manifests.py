"""What a run was planned to apply and to go back to, in the form that is kept with it. Pure.

The same commit may render otherwise later: by another version of Volary, helm or kubectl, by other
settings, or because a chart draws lots. So a run applies what was rendered when it was planned.

What a Secret holds is never kept. Of a Secret, and of every object in which a value of one occurs,
only a digest is: the object is rendered again from the commit, and has to be the same. The digest's
key is a hash of the application's files, so that values cannot be guessed from the store alone.
"""

import hashlib
import json as json_text
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from volary.manifests import redaction
from volary.manifests.workloads import config_references
from volary.model import errors, phrases
from volary.model.objects import manifest

#: Bytes of a run, compressed. Of more only digests are kept.
_MOST = 8 * 2**20
#: Of zlib: twice the speed of its own choice, and little more space.
_LEVEL = 3
_COMPACT = (",", ":")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two things that a run has for a cluster."""

    commit: str
    target: str
    #: What it goes back to, and not what it brings; both may be of one commit.
    is_before: bool = False


@dataclass(frozen=True, slots=True)
class WithheldObject:
    """An object that is rendered again, and has to be what it was."""

    key: manifest.ResourceKey
    digest: str


PlannedObject = manifest.Manifest | WithheldObject
Planned = Mapping[Side, Sequence[PlannedObject]]


class DiffersError(errors.UserError):
    """What is rendered is not what was planned.

    Args:
        different: Names of the objects.
        rendered: What is rendered, which is not to be applied.
    """

    def __init__(self, different: Sequence[str], rendered: Sequence[manifest.Manifest]) -> None:
        super().__init__(
            errors.Problem(
                f"{phrases.first_of(different)} would not be as planned: what the commit renders to"
                " has changed since the run began, and what Secrets hold is not kept",
                hint="go on with the versions of Volary, helm and kubectl that the run began with;"
                " or begin a new run, which takes what is rendered now",
            )
        )
        self.rendered = rendered


def pack(
    planned: Planned,
    masker: redaction.Masker,
    digest_keys: Mapping[str, bytes],
    *,
    most: int = _MOST,
) -> bytes:
    """Return what is kept, compressed: each object once, for however many clusters it is.

    Args:
        planned: What was rendered; commits without a digest key are left out.
        masker: Knows the values of all Secrets in it.
        digest_keys: By commit.
        most: Of more bytes than this only digests are kept.
    """
    if not planned:
        return b""

    def is_withheld(item: manifest.Manifest, text: str) -> bool:
        return config_references.is_secret(item) or masker.occurs_in(text)

    packed = _packed(planned, digest_keys, is_withheld)
    return packed if len(packed) <= most else _packed(planned, digest_keys, lambda *_: True)


def unpack(packed: bytes) -> dict[Side, tuple[PlannedObject, ...]]:
    """Read what was packed; nothing of nothing."""
    if not packed:
        return {}
    document = json_text.loads(zlib.decompress(packed))
    objects = [_read(entry) for entry in document["objects"]]
    planned: dict[Side, tuple[PlannedObject, ...]] = {}
    for entry in document["sides"]:
        of_side = tuple(objects[index] for index in entry["objects"])
        for target in entry["targets"]:
            planned[Side(entry["commit"], target, entry["before"])] = of_side
    return planned


def is_complete(planned: Sequence[PlannedObject]) -> TypeGuard[Sequence[manifest.Manifest]]:
    """Say whether nothing of it has to be rendered again."""
    return all(isinstance(item, manifest.Manifest) for item in planned)


def complete(
    planned: Sequence[PlannedObject], rendered: Sequence[manifest.Manifest], digest_key: bytes
) -> list[manifest.Manifest]:
    """Return what was planned, with what was withheld taken from what is rendered now.

    Raises:
        DiffersError: That is not what it was; with the names of the objects.
    """
    now = {item.key: item for item in rendered}
    completed: list[manifest.Manifest] = []
    different: list[str] = []
    for item in planned:
        if isinstance(item, manifest.Manifest):
            completed.append(item)
            continue
        again = now.get(item.key)
        if again is not None and _digest(again, digest_key) == item.digest:
            completed.append(again)
        else:
            different.append(item.key.title)
    if different:
        raise DiffersError(different, rendered)
    return completed


def _packed(
    planned: Planned,
    digest_keys: Mapping[str, bytes],
    is_withheld: Callable[[manifest.Manifest, str], bool],
) -> bytes:
    written: dict[tuple[int, str], str] = {}
    indexes: dict[str, int] = {}
    sides: dict[tuple[str, bool, tuple[int, ...]], list[str]] = {}

    def index_of(item: PlannedObject, commit: str) -> int:
        # Clusters without differences share bodies: each is written, and looked through, once.
        shared = id(item.body) if isinstance(item, manifest.Manifest) else id(item)
        if (shared, commit) not in written:
            written[shared, commit] = _write(item, digest_keys[commit], is_withheld)
        return indexes.setdefault(written[shared, commit], len(indexes))

    for side, of_side in planned.items():
        if side.commit in digest_keys:
            numbers = tuple(index_of(item, side.commit) for item in of_side)
            sides.setdefault((side.commit, side.is_before, numbers), []).append(side.target)
    listed = [
        {"commit": commit, "before": is_before, "targets": targets, "objects": numbers}
        for (commit, is_before, numbers), targets in sides.items()
    ]
    text = f'{{"objects":[{",".join(indexes)}],"sides":{_text(listed)}}}'
    return zlib.compress(text.encode(), _LEVEL)


def _write(
    item: PlannedObject, digest_key: bytes, is_withheld: Callable[[manifest.Manifest, str], bool]
) -> str:
    if isinstance(item, manifest.Manifest):
        origin = item.origin
        text = _text([item.body, [origin.file, origin.line, origin.path]])
        if not is_withheld(item, text):
            return text
        item = WithheldObject(item.key, _digest(item, digest_key))
    key = item.key
    return _text({"key": [key.group, key.kind, key.namespace, key.name], "digest": item.digest})


def _read(entry: Any) -> PlannedObject:
    if isinstance(entry, dict):
        return WithheldObject(manifest.ResourceKey(*entry["key"]), entry["digest"])
    body, origin = entry
    return manifest.Manifest(body, errors.Location(*origin))


def _text(value: object) -> str:
    return json_text.dumps(value, separators=_COMPACT)


def _digest(item: manifest.Manifest, key: bytes) -> str:
    text = json_text.dumps(item.body, sort_keys=True, separators=_COMPACT)
    return hashlib.blake2b(text.encode(), digest_size=32, key=key).hexdigest()
