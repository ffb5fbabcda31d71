"""JSON merge patch (RFC 7386)."""

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import patch_errors


def apply(live: json.JsonObject, patch: object) -> json.JsonObject:
    """Return `live` with a merge patch applied: null removes, objects merge, the rest replaces.

    Raises:
        patcherror.PatchError: The patch is no object.
    """
    if not isinstance(patch, dict):
        raise patch_errors.PatchError("invalid JSON document: a merge patch must be an object")
    return _merge(live, patch)


def _merge(live: object, patch: json.JsonObject) -> json.JsonObject:
    merged = dict(live) if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged
