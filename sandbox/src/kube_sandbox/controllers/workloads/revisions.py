"""ControllerRevisions: the remembered templates of StatefulSets and DaemonSets."""

from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions, hashes, view

HASH_LABEL = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class History:
    """The revisions of an owner, sorted by number, and the one of its present template."""

    revisions: tuple[json.JsonObject, ...]
    #: None until it is made.
    update: json.JsonObject | None


def history(cluster: view.View, owner: json.JsonObject) -> History:
    """Return the owner's revisions."""
    found = sorted(
        (
            each
            for each in cluster.owned(objects.uid(owner), "ControllerRevision")
            if objects.is_controlled_by(each, owner)
        ),
        key=number,
    )
    data = _data(owner)
    update = next((each for each in reversed(found) if each.get("data") == data), None)
    return History(tuple(found), update)


def number(revision: json.JsonObject) -> int:
    """The revision's number."""
    return int(revision.get("revision") or 0)


def template(revision: json.JsonObject) -> json.JsonObject:
    """The pod template that the revision remembers."""
    remembered = dict(revision["data"]["spec"]["template"])
    remembered.pop("$patch", None)
    return remembered


def recorded(owner: json.JsonObject, known: History) -> tuple[actions.Write, ...]:
    """Make the revision of the present template, or give it the highest number again."""
    highest = max((number(each) for each in known.revisions), default=0)
    if known.update is None:
        return (actions.Create(_made(owner, highest + 1)),)
    if number(known.update) < highest:
        return (actions.Update({**known.update, "revision": highest + 1}),)
    return ()


def outdated(
    owner: json.JsonObject, known: History, *, used: Sequence[str]
) -> tuple[actions.Write, ...]:
    """Delete unused revisions beyond ``revisionHistoryLimit``, the oldest first.

    `used` are the names of revisions that pods or the status still name.
    """
    limit = int(objects.spec(owner).get("revisionHistoryLimit", 10))
    update = objects.name(known.update) if known.update is not None else ""
    idle = [
        each
        for each in known.revisions
        if objects.name(each) not in used and objects.name(each) != update
    ]
    return tuple(actions.Delete(each) for each in idle[: max(0, len(idle) - limit)])


def _made(owner: json.JsonObject, revision: int) -> json.JsonObject:
    wanted = objects.spec(owner)["template"]
    hashed = hashes.template_hash(wanted, objects.status(owner).get("collisionCount"))
    labels = {**((wanted.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hashed}
    annotations = {
        key: value
        for key, value in objects.annotations(owner).items()
        if key != "kubectl.kubernetes.io/last-applied-configuration"
    }
    metadata: json.JsonObject = {
        "name": f"{objects.name(owner)}-{hashed}",
        "namespace": objects.namespace(owner),
        "labels": labels,
        "ownerReferences": [objects.controller_reference(owner)],
    }
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": _data(owner),
        "revision": revision,
    }


def _data(owner: json.JsonObject) -> json.JsonObject:
    return {"spec": {"template": {**objects.spec(owner)["template"], "$patch": "replace"}}}
