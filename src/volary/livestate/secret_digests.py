"""Secrets without their values: what is kept tells whether two are equal, and no more. Pure.

The key is made by the process that keeps them and never leaves it, so a digest that got out could
not be tried against guesses.
"""

import base64
import hmac

import msgspec

from volary.manifests import objects, redaction
from volary.manifests.ownership import tracking
from volary.manifests.workloads import config_references
from volary.model import json
from volary.model.objects import manifest

#: Characters of a digest.
_LENGTH = 16


def is_secret(body: json.JsonObject) -> bool:
    """Say whether an object is a Secret."""
    return config_references.is_secret(manifest.Manifest(body))


def with_digests(body: json.JsonObject, key: bytes) -> json.JsonObject:
    """Return a Secret with a digest in place of each value; every other object as it is."""
    if not is_secret(body):
        return body
    values = dict(objects.mapping(body, "data"))
    for name, value in objects.mapping(body, "stringData").items():
        values[name] = base64.b64encode(str(value).encode()).decode()
    kept = {name: part for name, part in body.items() if name not in ("data", "stringData")}
    if values:
        kept["data"] = {str(name): _digest(value, key) for name, value in values.items()}
    return _without_copies(kept)


def without_values(body: json.JsonObject) -> json.JsonObject:
    """Return a Secret as people may see it: its keys without any value; others as they are."""
    if not is_secret(body):
        return body
    hidden = {
        part: dict.fromkeys(objects.mapping(body, part), redaction.MASK)
        for part in ("data", "stringData")
        if objects.mapping(body, part)
    }
    kept = {name: part for name, part in body.items() if name not in ("data", "stringData")}
    return _without_copies({**kept, **hidden})


def _without_copies(body: json.JsonObject) -> json.JsonObject:
    """Return a Secret without what kubectl keeps of it in an annotation."""
    if not objects.mapping(body, "metadata", "annotations").get(tracking.LAST_APPLIED):
        return body
    metadata = dict(objects.mapping(body, "metadata"))
    annotations = dict(objects.mapping(metadata, "annotations"))
    del annotations[tracking.LAST_APPLIED]
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _digest(value: object, key: bytes) -> str:
    content = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return redaction.MASK + hmac.digest(key, content, "sha256").hex()[:_LENGTH]
