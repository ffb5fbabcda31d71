"""What starts a run by itself, from an application file."""

from volary.config.application import application_sections
from volary.config.decoding import file_paths, readings
from volary.config.text import yaml
from volary.model import applications

_AT: yaml.Path = ("spec", "trigger")


def convert(reading: readings.Reading, read: application_sections.Trigger) -> applications.Triggers:
    """Return the triggers; problems are noted."""
    on_commit = read.on_commit
    file_paths.check_patterns(reading, on_commit.paths, (*_AT, "onCommit", "paths"))
    file_paths.check_patterns(reading, on_commit.ignores, (*_AT, "onCommit", "ignores"))
    for name, what, is_disabled in (
        ("onOutOfSync", "runs for drift", read.on_out_of_sync.disabled),
        ("onChain", "deployment chains", read.on_chain.disabled),
    ):
        if not is_disabled:
            message = f"{what} are not carried out yet"
            at = (*_AT, name, "disabled")
            reading.lenient(at, message, "write disabled: true", then=f"{name} is ignored")
    return applications.Triggers(
        on_commit_disabled=on_commit.disabled,
        paths=tuple(on_commit.paths),
        ignores=tuple(on_commit.ignores),
        on_command_disabled=read.on_command.disabled,
    )
