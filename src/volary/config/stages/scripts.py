"""``SCRIPT_RUN`` in application files: PipeCD's fields, and how often the script runs."""

import re

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model.pipeline.stage_kinds import external_stages

#: A script that is longer belongs into a file of the repository.
_LARGEST = 64 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check(reading: readings.Reading, read: external_stages.ScriptOptions, path: yaml.Path) -> None:
    """Note what is wrong with the options of a script."""
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
