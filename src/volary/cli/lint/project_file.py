"""The project that application files are linted against, from a file on this machine."""

from pathlib import Path
from typing import Any

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model import errors, projects

_KIND = "Project"


class _ProjectSection(base_sections.Section, of=projects.Project):
    """What rules for application files need; when something may run is no question of theirs."""

    windows: Any = None


def read(named: str) -> projects.Project:
    """Return the project of `FILE`, or that called NAME of `FILE:NAME`.

    Raises:
        errors.UserError: There is no such file or project, or the file has errors.
    """
    file, name = (named, "") if Path(named).is_file() else _split(named)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = (getattr(error, "strerror", None) or "it is not text").lower()
        raise errors.user_error(f"project file {file} cannot be read: {cause}") from error
    written = {
        str(document.value["metadata"]["name"]): document
        for document in yaml.load_all(text, file)
        if isinstance(document.value, dict)
        and document.value.get("kind") == _KIND
        and isinstance(document.value.get("metadata"), dict)
        and document.value["metadata"].get("name")
    }
    if not name and len(written) == 1:
        name = next(iter(written))
    if name not in written:
        there = f"project {name}" if name else "one project"
        hint = readings.did_you_mean(name, written) if name else f"name one: {file}:NAME"
        raise errors.user_error(f"{file} does not have {there}", hint=hint)
    return _read(readings.Reading(written[name]), name)


def _split(named: str) -> tuple[str, str]:
    file, colon, name = named.rpartition(":")
    return (file, name) if colon else (named, "")


def _read(reading: readings.Reading, name: str) -> projects.Project:
    spec = reading.written(("spec",))
    read = reading.read(_ProjectSection, spec if spec is not None else {}, ("spec",))
    if read is None or reading.has_errors:
        raise errors.UserError(*errors.mistakes(reading.problems))
    return base_sections.value_of(projects.Project, read, name=name)
