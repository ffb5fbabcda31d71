"""What starts a run by itself, from an application file."""

from collections.abc import Sequence

from volary.config import globs, sections, shape, yaml
from volary.model import application

_AT: yaml.Path = ("spec", "trigger")


def convert(reading: shape.Reading, read: sections.Trigger) -> application.Triggers:
    """Return the triggers; problems are noted."""
    on_commit = read.on_commit
    check_patterns(reading, on_commit.paths, (*_AT, "onCommit", "paths"))
    check_patterns(reading, on_commit.ignores, (*_AT, "onCommit", "ignores"))
    for name, what, is_disabled in (
        ("onOutOfSync", "runs for drift", read.on_out_of_sync.disabled),
        ("onChain", "deployment chains", read.on_chain.disabled),
    ):
        if not is_disabled:
            message = f"{what} are not carried out yet"
            at = (*_AT, name, "disabled")
            reading.lenient(at, message, "write disabled: true", then=f"{name} is ignored")
    return application.Triggers(
        on_commit_disabled=on_commit.disabled,
        paths=tuple(on_commit.paths),
        ignores=tuple(on_commit.ignores),
        on_command_disabled=read.on_command.disabled,
    )


def check_patterns(reading: shape.Reading, patterns: Sequence[str], path: yaml.Path) -> None:
    """Note globs that cannot be read."""
    for i, pattern in enumerate(patterns):
        wrong = globs.check(pattern)
        if wrong:
            reading.error((*path, i), wrong)
