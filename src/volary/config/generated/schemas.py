"""JSON Schema of the files users write, for editors (``volary schema``)."""

from typing import Any

from pydantic import json_schema

from volary.config.agents import policy_files
from volary.config.application import application_sections
from volary.config.decoding import base_sections
from volary.config.fleet import fleet_files, provider_configs
from volary.config.projects import project_files
from volary.config.server import settings_files
from volary.config.stages import stage_sections
from volary.config.workspaces import workspace_files
from volary.model import json
from volary.model.pipeline.stage_kinds import catalog, stage_kind

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def application_schema() -> json.JsonObject:
    """Return the schema of application files in either dialect.

    PipeCD's dialect is described as strictly as ours, so that editors show typos
    there too, although `lint` only warns.
    """
    models: list[type[base_sections.Section]] = [
        application_sections.VolaryFile,
        application_sections.PipecdFile,
    ]
    models += [stage_sections.section(kind) for kind in catalog.listed()]
    _, schema = json_schema.models_json_schema(
        [(model, "validation") for model in models], by_alias=True, title="Volary application"
    )
    definitions: dict[str, Any] = schema["$defs"]
    for own in ("Replicas", "Share"):
        del definitions[own]  # the models' own shapes; their written forms stand in place
    definitions["StageEntry"]["properties"]["name"]["enum"] = [
        form for kind in catalog.listed() for form in kind.forms
    ]
    definitions["StageEntry"]["allOf"] = [_options_of(kind) for kind in catalog.listed()]
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
    return _with_providers(fleet_files.FleetFile, "Volary fleet")


def workspace_schema() -> json.JsonObject:
    """Return the schema of workspace files."""
    schema = workspace_files.WorkspaceFile.model_json_schema(by_alias=True)
    return {**schema, "$schema": _DRAFT, "title": "Volary workspace"}


def agent_policy_schema() -> json.JsonObject:
    """Return the schema of policy files of agents."""
    schema = policy_files.AgentPolicyFile.model_json_schema(by_alias=True)
    return {**schema, "$schema": _DRAFT, "title": "Volary agent policy"}


def controller_schema() -> json.JsonObject:
    """Return the schema of the controller's settings."""
    return _with_providers(settings_files.ControllerFile, "Volary controller")


def project_schema() -> json.JsonObject:
    """Return the schema of one document of a project file."""
    _, schema = json_schema.models_json_schema(
        [(kind.section, "validation") for kind in project_files.KINDS], by_alias=True
    )
    return {
        "$schema": _DRAFT,
        "title": "Volary project",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "kind": {
                "enum": [kind.name for kind in project_files.KINDS],
                "description": "What the document describes.",
            }
        },
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind.name}}},
                "then": {"$ref": f"#/$defs/{kind.section.__name__}"},
            }
            for kind in project_files.KINDS
        ],
        "$defs": schema["$defs"],
    }


def _with_providers(model: type[base_sections.Section], title: str) -> json.JsonObject:
    """Return a file's schema, with the `config` of analysis providers by their type."""
    _, schema = json_schema.models_json_schema(
        [(section, "validation") for section in (model, *provider_configs.CONFIGS.values())],
        by_alias=True,
    )
    definitions: dict[str, Any] = schema["$defs"]
    definitions["ProviderEntry"]["allOf"] = [
        {
            "if": {"properties": {"type": {"const": kind.value}}},
            "then": {"properties": {"config": {"$ref": f"#/$defs/{section.__name__}"}}},
        }
        for kind, section in provider_configs.CONFIGS.items()
    ]
    file = definitions.pop(model.__name__)
    return {"$schema": _DRAFT, **file, "$defs": definitions, "title": title}


def _options_of(kind: stage_kind.StageKind[Any]) -> json.JsonObject:
    reference = {"$ref": f"#/$defs/{stage_sections.section(kind).__name__}"}
    return {
        "if": {"properties": {"name": {"enum": list(kind.forms)}}},
        "then": {"properties": {"with": reference}},
    }
