"""JSON Schema of the files users write, for editors (``volary schema``)."""

from typing import Any

from pydantic import json_schema

from volary.config import fleet, options, sections, settings
from volary.model import json, stage

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def application_schema() -> json.JsonObject:
    """Return the schema of application files in either dialect.

    PipeCD's dialect is described as strictly as ours, so that editors show typos
    there too, although `lint` only warns.
    """
    models: list[type[sections.Section]] = [sections.VolaryFile, sections.PipecdFile]
    models += dict.fromkeys(options.BY_NAME.values())
    _, schema = json_schema.models_json_schema(
        [(model, "validation") for model in models], by_alias=True, title="Volary application"
    )
    definitions: dict[str, Any] = schema["$defs"]
    for own in ("Replicas", "Share"):
        del definitions[own]  # the models' own shapes; their written forms stand in place
    definitions["StageEntry"]["properties"]["name"]["enum"] = _names()
    definitions["StageEntry"]["allOf"] = [_options_of(name) for name in options.BY_NAME]
    return {
        "$schema": _DRAFT,
        "title": "Volary application",
        "type": "object",
        "required": ["apiVersion"],
        "if": {"properties": {"apiVersion": {"const": "pipecd.dev/v1beta1"}}},
        "then": {"$ref": "#/$defs/PipecdFile"},
        "else": {"$ref": "#/$defs/VolaryFile"},
        "$defs": definitions,
    }


def fleet_schema() -> json.JsonObject:
    """Return the schema of fleet files."""
    schema = fleet.FleetFile.model_json_schema(by_alias=True)
    return {"$schema": _DRAFT, **schema, "title": "Volary fleet"}


def controller_schema() -> json.JsonObject:
    """Return the schema of the controller's settings."""
    schema = settings.ControllerFile.model_json_schema(by_alias=True)
    return {"$schema": _DRAFT, **schema, "title": "Volary controller"}


def _names() -> list[str]:
    return [form for name in options.BY_NAME for form in options.forms(name)]


def _options_of(name: stage.StageName) -> json.JsonObject:
    reference = {"$ref": f"#/$defs/{options.BY_NAME[name].__name__}"}
    return {
        "if": {"properties": {"name": {"enum": options.forms(name)}}},
        "then": {"properties": {"with": reference}},
    }
