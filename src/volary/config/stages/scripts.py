"""``SCRIPT_RUN`` in application files: PipeCD's fields, and how often the script runs."""

import re

from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.text import yaml
from volary.model.pipeline.stage_kinds import external_stages, stage_kind

#: A script that is longer belongs into a file of the repository.
_LARGEST = 64 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Script(base_sections.Section):
    """Run a script of yours with `/bin/sh -l -c`, in the application's directory."""

    multi_targets: list[values.ClusterName] = Field(
        default_factory=list, description="Clusters the stage is limited to; empty: all."
    )
    run: base_sections.Text = Field(description="The script.")
    env: dict[str, str] = Field(
        default_factory=dict, description="Environment, besides `SR_*` and a few of the system's."
    )
    on_rollback: str = Field(
        default="", description="Script that is run by a rollback, if the stage had begun."
    )
    scope: stage_kind.Scope = Field(
        default=stage_kind.Scope.FLEET,
        description="`fleet`: once for all clusters (PipeCD); `cluster`: once for each of them.",
    )


def convert(
    reading: readings.Reading, read: Script, path: yaml.Path
) -> external_stages.ScriptOptions:
    """Return the options; what is wrong with them is noted."""
    for name, script in (("run", read.run), ("onRollback", read.on_rollback)):
        if "\x00" in script:
            reading.error((*path, name), "must not contain NUL")
        if len(script.encode()) > _LARGEST:
            message = f"is longer than {_LARGEST // 1024} KiB"
            reading.error((*path, name), message, "keep it in a file and run that")
        if name == "run" and not script.strip():
            reading.error((*path, name), "must not be empty")
    for name, value in read.env.items():
        here = (*path, "env", name)
        if not _NAME.fullmatch(name):
            reading.error(here, f"{name[:80]!r} is not a name of a variable")
        elif name.startswith("SR_"):
            message = f"{name} takes the place of a variable that Volary sets"
            reading.lenient(here, message, "choose another name")
        if "\x00" in value:
            reading.error(here, "must not contain NUL")
    return external_stages.ScriptOptions(read.run, read.env, read.on_rollback, read.scope)
