"""The config hash: pods restart when a ConfigMap or Secret they use has changed.

The value is PipeCD's to the last character. An annotation of the pod template is
part of it, so any other value would restart every pod at a take-over. From that
follows what is *not* improved: a workload whose ConfigMap has a unique name gets
the same hash as before, even if namespaces differ; only between two of one name
the workload's own namespace decides, where PipeCD takes whichever comes last.
Projected volumes are looked at only on request, for applications that were never
PipeCD's.
"""

import base64
import binascii
import hashlib
import json as json_text
from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.workloads import config_references, workloads
from volary.model import json
from volary.model.objects import manifest

ANNOTATION = "pipecd.dev/config-hash"

_LENGTH = 10
#: Digits and vowels become letters that spell nothing, as kustomize does.
_LETTERS = str.maketrans("013ae", "ghkmt")
_KINDS = (workloads.DEPLOYMENT, workloads.STATEFUL_SET, workloads.DAEMON_SET)
#: Go's JSON escapes what could end a script element, and two line separators.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def config_hash(manifests: Sequence[manifest.Manifest]) -> str:
    """Return the hash over ConfigMaps and Secrets in the given order.

    Raises:
        ValueError: For an empty list (PipeCD: no manifest to hash).
    """
    if not manifests:
        raise ValueError("no manifest to hash")
    text = "".join(_canonical(item) for item in manifests)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return digest[:_LENGTH].translate(_LETTERS)


def annotate(
    manifests: Sequence[manifest.Manifest], *, include_projected: bool = False
) -> list[manifest.Manifest]:
    """Return the manifests, workloads with the hash of what they use of the set."""
    configs = [item for item in manifests if config_references.is_config(item)]
    return [_annotated(item, configs, include_projected) for item in manifests]


def _annotated(
    item: manifest.Manifest, configs: Sequence[manifest.Manifest], include_projected: bool
) -> manifest.Manifest:
    if item.group != workloads.GROUP or item.kind not in _KINDS:
        return item
    used = _used(item, configs, include_projected)
    if not used:
        return item
    body = objects.duplicate(item.body)
    annotations = objects.branch(body, "spec", "template", "metadata", "annotations")
    annotations[ANNOTATION] = config_hash(used)
    return item.with_body(body)


def _used(
    item: manifest.Manifest, configs: Sequence[manifest.Manifest], include_projected: bool
) -> list[manifest.Manifest]:
    spec = workloads.pod_spec(item.body) or {}
    names = {
        (reference.kind, reference.name)
        for reference in config_references.find(spec)
        if reference.is_hashed or (include_projected and reference.is_projected)
    }
    used_configs = []
    # "ConfigMap" sorts before "Secret": ConfigMaps come first, each kind by name.
    for kind, name in sorted(names):
        same = [config for config in configs if (config.kind, config.name) == (kind, name)]
        beside = [config for config in same if config.namespace == item.namespace]
        used_configs += (beside or same)[-1:]
    return used_configs


def _canonical(item: manifest.Manifest) -> str:
    if item.kind == config_references.CONFIG_MAP and not item.group:
        return _go_json(_config_map(item))
    if item.kind == config_references.SECRET and not item.group:
        return _go_json(_secret(item))
    return _go_json(item.body) + "\n"


def _config_map(item: manifest.Manifest) -> json.JsonObject:
    data = item.body.get("data")
    if isinstance(data, dict):
        data = {key: "" if value is None else value for key, value in data.items()}
    encoded = {"kind": item.kind, "name": item.name, "data": data}
    if item.body.get("immutable") is not None:
        encoded["immutable"] = item.body["immutable"]
    if objects.mapping(item.body, "binaryData"):
        encoded["binaryData"] = _canonical_data(item.body["binaryData"])
    return encoded


def _secret(item: manifest.Manifest) -> json.JsonObject:
    encoded = {
        "kind": item.kind,
        "type": objects.text(item.body, "type"),
        "name": item.name,
        "data": _canonical_data(item.body.get("data")),
    }
    if item.body.get("immutable") is not None:
        encoded["immutable"] = item.body["immutable"]
    return encoded


def _canonical_data(data: object) -> object:
    """Return base64 as Go writes it again after reading: without line breaks."""
    if not isinstance(data, dict):
        return data
    return {key: _canonical_base64(value) for key, value in data.items()}


def _canonical_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        decoded = base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        # The API server will refuse it in its own words.
        return value
    return base64.b64encode(decoded).decode()


def _go_json(value: object) -> str:
    text = json_text.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text
