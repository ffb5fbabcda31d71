"""Reads documents of kind `AgentPolicy`."""

from typing import Annotated, Literal

import pydantic
from pydantic import Field, config

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model import agent_policies, options

KIND = "AgentPolicy"


def _access(written: object) -> object:
    """Return what `true` and `false` stand for."""
    return {} if written is True else None if written is False else written


def _with_boolean(schema: config.JsonDict) -> None:
    """Let the schema of a field permit what `_access` understands."""
    forms = schema["anyOf"]
    assert isinstance(forms, list)
    schema["anyOf"] = [{"type": "boolean"}, *(form for form in forms if form != {"type": "null"})]
    schema["default"] = False


class _Spec(base_sections.Section, of=agent_policies.AgentPolicy):
    """What is permitted."""

    read: Annotated[agent_policies.ReadAccess | None, pydantic.BeforeValidator(_access)] = (
        pydantic.Field(
            None,
            description="What servers may read through the agent: `true` for everything but "
            "Secrets, or what exactly. Left out: nothing, so that nothing can be planned there.",
            json_schema_extra=_with_boolean,
        )
    )
    impersonate: list[base_sections.Text]
    rules: list[agent_policies.Rule]


class AgentPolicyFile(base_sections.Section):
    """What the owner of a cluster permits its agent."""

    api_version: Literal["volary.dev/v1"] = options.option(
        "Version of the format.", "volary.dev/v1", required=True
    )
    kind: Literal["AgentPolicy"] = Field(description="What the file describes.")
    spec: _Spec = Field(description="What is permitted.")


def parse(text: str, *, file: str) -> readings.Loaded[agent_policies.AgentPolicy]:
    """Read a policy file; all problems at once."""
    form = "a policy file has one document, an object with kind: AgentPolicy"
    return readings.load(text, file, form, lambda reading: convert(reading, file=file))


def convert(reading: readings.Reading, *, file: str) -> agent_policies.AgentPolicy | None:
    """Return the policy of a document; None when it cannot be read, noted then."""
    read = reading.read(AgentPolicyFile, reading.document.value, ())
    if read is None:
        return None
    spec = read.spec
    for place, rule in enumerate(spec.rules):
        _check_rule(reading, rule, ("spec", "rules", place))
    for place, name in enumerate(spec.impersonate):
        if name.removeprefix("group:") in ("*", "", "system:masters"):
            reading.error(
                ("spec", "impersonate", place),
                f"{name} would let servers do everything",
                "name the users that requests may be made for",
            )
    return agent_policies.AgentPolicy(spec.read, tuple(spec.impersonate), tuple(spec.rules), file)


def _check_rule(reading: readings.Reading, rule: agent_policies.Rule, path: yaml.Path) -> None:
    for name, given in (("kinds", rule.kinds), ("stages", rule.stages)):
        for place, pattern in enumerate(given):
            if " " in pattern or pattern.count("/") > 1:
                hint = "write Service, apps/Deployment or apps/*" if name == "kinds" else ""
                reading.error((*path, name, place), f"{pattern} matches nothing", hint)
