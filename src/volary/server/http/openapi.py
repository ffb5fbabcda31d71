"""The OpenAPI document: paths from the routes, shapes from the same structs that are written."""

from typing import Any

import fastapi
import msgspec
from fastapi.openapi import utils

from volary import __version__
from volary.controller.api import representations

_REFERENCES = "#/components/schemas/{name}"
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Why, one sentence."},
        "hint": {"type": "string", "description": "What to do."},
        "problems": {"type": "array", "items": {"type": "object"}},
    },
}


def describe(application: fastapi.FastAPI) -> dict[str, Any]:
    """Return the document."""
    document = utils.get_openapi(
        title="Volary",
        version=__version__,
        summary="Multi-cluster progressive delivery",
        description="Everything the command line does goes through this API.",
        routes=application.routes,
    )
    _, shapes = msgspec.json.schema_components(
        _leaves(representations.Representation),
        schema_hook=_anything,
        ref_template=_REFERENCES,
    )
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update({**shapes, "Problem": _PROBLEM})
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"bearer": []}]
    return document


def _leaves(base: type) -> list[type]:
    """Return the classes that are written: those that no other one is made from."""
    made: list[type] = base.__subclasses__()
    return [leaf for child in made for leaf in _leaves(child)] if made else [base]


def _anything(kind: type) -> dict[str, Any]:
    """Describe values of any shape, as what analyses found has."""
    if kind is object:
        return {"description": "Any value."}
    raise NotImplementedError  # msgspec's way to say that a type has no schema
