"""The data of Secrets: ``stringData`` is written, ``data`` is what API servers keep.

Fields belong to who applied them by the name they were applied with. A key that is applied as
``stringData`` is nobody's in ``data``, and stays there when Git drops it.
"""

import base64

from volary.manifests import objects
from volary.manifests.workloads import config_references
from volary.model import json
from volary.model.objects import manifest

_KEYS = ("data", "stringData")


def stored(item: manifest.Manifest) -> manifest.Manifest:
    """Return a Secret with every value in ``data``, base64, and everything else as it is.

    What is no text is left for the API server to refuse.
    """
    if "stringData" not in item.body or not config_references.is_secret(item):
        return item
    plain = item.body["stringData"]
    if plain is not None and not (
        isinstance(plain, dict) and all(isinstance(value, str) for value in plain.values())
    ):
        return item
    return manifest.Manifest(with_one_data(item.body), item.origin)


def with_one_data(body: json.JsonObject) -> json.JsonObject:
    """Return a Secret's body as the API server stores it."""
    values = {key: _canonical(value) for key, value in objects.mapping(body, "data").items()}
    for key, value in objects.mapping(body, "stringData").items():
        values[key] = base64.b64encode(str(value).encode("utf-8", "replace")).decode()
    rest = {key: value for key, value in body.items() if key not in _KEYS}
    return {**rest, "data": values} if values else rest


def _canonical(value: object) -> object:
    """Return base64 without the line breaks that writers may put in."""
    return "".join(value.split()) if isinstance(value, str) else value
