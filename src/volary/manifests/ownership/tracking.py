"""The labels and annotations by which Volary knows its objects, and whose they are.

Labels select, annotations prove: a cluster copies the labels of a Service to
its EndpointSlices, but not the annotations; annotations of a Deployment go to its
ReplicaSets, but not the labels. So lists are asked for by label, and whoever
deletes looks at the annotation as well (PipeCD: managed-by as label and annotation).

Tracking goes on the object's own metadata only, never on pod templates: a new commit
must not restart pods.
"""

import hashlib
import re
from collections.abc import Sequence

from volary.manifests import objects
from volary.model import json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

MANAGED_BY = "volary.dev/managed-by"
APPLICATION = "volary.dev/application"
#: The owner's id: what tells applications of one name apart.
APPLICATION_ID = "volary.dev/application-id"
COMMIT = "volary.dev/commit"
RESOURCE_KEY = "volary.dev/resource-key"
VARIANT = "volary.dev/variant"
#: Value of `MANAGED_BY`.
VOLARY = "volary"

PIPECD_MANAGED_BY = "pipecd.dev/managed-by"
PIPECD_APPLICATION = "pipecd.dev/application"
PIPECD_COMMIT = "pipecd.dev/commit-hash"
#: Value of `PIPECD_MANAGED_BY`.
PIPED = "piped"

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

#: Metadata that says who deployed what, and never what runs: left out of every comparison.
#: The variant label is not among them, its key is the user's.
KEYS = frozenset(
    {
        MANAGED_BY,
        APPLICATION,
        APPLICATION_ID,
        COMMIT,
        RESOURCE_KEY,
        VARIANT,
        PIPECD_MANAGED_BY,
        PIPECD_APPLICATION,
        PIPECD_COMMIT,
        "pipecd.dev/piped",
        "pipecd.dev/resource-key",
        "pipecd.dev/original-api-version",
        # kubectl's record of the last apply: a copy of the object, with a Secret's values.
        LAST_APPLIED,
    }
)

_LABEL_LENGTH = 63
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_NOT_LABEL = re.compile(r"[^A-Za-z0-9._-]+")


def track(
    item: manifest.Manifest,
    *,
    owner: ownership.Owner,
    commit: str,
    variant: variant.Variant,
    label: variant.VariantLabel,
) -> manifest.Manifest:
    """Return the manifest with Volary's labels and annotations, older ones overwritten.

    Copies get the key of their own name (PipeCD leaves the original's on ConfigMaps).
    """
    value = label.value(variant)
    labels = {**owner_labels(owner), label.key: value}
    annotations = {
        MANAGED_BY: VOLARY,
        APPLICATION: owner.name,
        APPLICATION_ID: owner.id,
        COMMIT: commit,
        RESOURCE_KEY: str(item.key),
        VARIANT: variant.value,
        label.key: value,
    }
    return item.with_metadata(
        {
            "labels": {**objects.mapping(item.metadata, "labels"), **labels},
            "annotations": {**objects.mapping(item.metadata, "annotations"), **annotations},
        }
    )


def untrack(item: manifest.Manifest) -> manifest.Manifest:
    """Return the manifest without tracking metadata, for comparing what runs.

    PipeCD compares its commit annotation too, so every commit looks like a change.
    """
    metadata = dict(item.metadata)
    for part in ("labels", "annotations"):
        kept = {
            key: value for key, value in objects.mapping(metadata, part).items() if key not in KEYS
        }
        if kept:
            metadata[part] = kept
        else:
            metadata.pop(part, None)
    return item.with_body({**item.body, "metadata": metadata})


def owner_of(body: json.JsonObject) -> ownership.Owner | None:
    """Return for which application Volary applied this object itself; None: for none.

    Label and annotation have to agree.
    """
    labels = objects.mapping(body, "metadata", "labels")
    annotations = objects.mapping(body, "metadata", "annotations")
    identifier = objects.text(annotations, APPLICATION_ID)
    if not identifier or labels.get(APPLICATION_ID) != identifier:
        return None
    if not labels.get(MANAGED_BY) == annotations.get(MANAGED_BY) == VOLARY:
        return None
    return ownership.Owner(objects.text(annotations, APPLICATION), identifier)


def is_ours(body: json.JsonObject, owner: ownership.Owner) -> bool:
    """Say whether Volary applied this object itself for `owner`, by label and annotation."""
    known = owner_of(body)
    return known is not None and known.id == owner.id


def is_pipecd(body: json.JsonObject) -> bool:
    """Say whether PipeCD applied this object, so that it can be read at a take-over."""
    return (
        objects.text(body, "metadata", "labels", PIPECD_MANAGED_BY) == PIPED
        and objects.text(body, "metadata", "annotations", PIPECD_MANAGED_BY) == PIPED
    )


def commit_of(body: json.JsonObject) -> str:
    """Return the commit an object was applied from, by Volary or PipeCD; empty when unknown."""
    annotations = objects.mapping(body, "metadata", "annotations")
    return objects.text(annotations, COMMIT) or objects.text(annotations, PIPECD_COMMIT)


def owner_labels(owner: ownership.Owner) -> dict[str, str]:
    """Return the labels that every object of an application has."""
    return {
        MANAGED_BY: VOLARY,
        APPLICATION: label_value(owner.name),
        APPLICATION_ID: owner.id,
    }


def selector(
    owner: ownership.Owner,
    variants: Sequence[variant.Variant] = (),
    label: variant.VariantLabel | None = None,
) -> str:
    """Return the label selector of an application's objects, of all or of some variants."""
    parts = [f"{MANAGED_BY}={VOLARY}", f"{APPLICATION_ID}={owner.id}"]
    if variants:
        values = label or variant.VariantLabel()
        chosen = [values.value(variant) for variant in variants]
        if len(chosen) == 1:
            parts.append(f"{values.key}={chosen[0]}")
        else:
            parts.append(f"{values.key} in ({','.join(chosen)})")
    return ",".join(parts)


def label_value(application: str) -> str:
    """Return the application's name as a label value.

    A name that is no label value (too long, slashes) is shortened and told apart by
    a digest; the annotation always holds the name itself.
    """
    if _LABEL.fullmatch(application):
        return application
    digest = hashlib.sha256(application.encode()).hexdigest()[:8]
    stem = _NOT_LABEL.sub("-", application)[: _LABEL_LENGTH - 9].strip("-._")
    return f"{stem}-{digest}" if stem else digest
