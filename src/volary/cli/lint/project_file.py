"""The project that application files are linted against, from a file on this machine."""

from pathlib import Path

from volary.config.decoding import readings
from volary.config.projects import definitions, project_files
from volary.model import errors, projects


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
    # A workspace beside it may be of a project in another file.
    alone = definitions.Surroundings(are_part=True)
    loaded = project_files.parse([project_files.TextFile(file, text)], alone)
    if loaded.value is None:
        raise errors.UserError(*errors.mistakes(loaded.problems))
    written = loaded.value.of(project_files.PROJECT)
    if not name and len(written) == 1:
        name = next(iter(written))
    if name not in written:
        there = f"project {name}" if name else "one project"
        hint = readings.did_you_mean(name, written) if name else f"name one: {file}:NAME"
        raise errors.user_error(f"{file} does not have {there}", hint=hint)
    return written[name]


def _split(named: str) -> tuple[str, str]:
    file, colon, name = named.rpartition(":")
    return (file, name) if colon else (named, "")
