"""Files with definitions, read together: one document after another, each of a kind known here.

Any problem refuses all of them: half of what a platform team says may permit more than the whole.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from volary.config.decoding import readings
from volary.config.projects import definitions, project_sections
from volary.config.text import yaml
from volary.config.workspaces import workspace_files
from volary.model import errors, projects, workspaces

PROJECT: definitions.DefinitionKind[projects.Project] = definitions.DefinitionKind(
    "Project", project_sections.ProjectFile, project_sections.convert
)
WORKSPACE: definitions.DefinitionKind[workspaces.Workspace] = definitions.DefinitionKind(
    workspace_files.KIND,
    workspace_files.WorkspaceFile,
    lambda reading, _: workspace_files.convert(reading),
)
#: The kinds of documents that there are.
KINDS: tuple[definitions.DefinitionKind[Any], ...] = (PROJECT, WORKSPACE)

#: More files, or more definitions, are a mistake.
MOST_FILES = 1_000
MOST_DEFINITIONS = 5_000
_NOBODY = definitions.Surroundings()
_NONE = definitions.Definitions()


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file, and what is in it."""

    #: As the user would name it.
    name: str
    text: str


def parse(
    files: Iterable[TextFile],
    surroundings: definitions.Surroundings = _NOBODY,
    *,
    beside: definitions.Definitions = _NONE,
) -> readings.Loaded[definitions.Definitions]:
    """Read files with definitions; all problems at once.

    Args:
        files: All of them.
        surroundings: What they are checked against.
        beside: What other files say, whose names these may not use again.
    """
    reader = _Reader(surroundings, beside)
    for file in files:
        reader.read(file)
    if not surroundings.are_part:
        reader.check_workspaces()
    return reader.loaded()


def check_any(known: definitions.Definitions, where: str) -> tuple[errors.Problem, ...]:
    """Return the problem that there is no project at all, where somebody wants projects.

    Args:
        known: Everything that was read.
        where: The files that were read, for people.
    """
    if known.of(PROJECT):
        return ()
    return (
        errors.Problem(
            f"there is no project in {where}",
            hint="write a document of kind: Project; with none every repository could deploy"
            " anything anywhere",
        ),
    )


def check_workspaces(known: definitions.Definitions) -> tuple[errors.Problem, ...]:
    """Return the workspaces of projects that are not there, when everything was read."""
    written: Mapping[str, workspaces.Workspace] = known.of(WORKSPACE)
    return tuple(problem for _, problem in _without_project(written, known.of(PROJECT)))


def _without_project(
    found: Mapping[str, object], there: Collection[str]
) -> Iterator[tuple[str, errors.Problem]]:
    for name, workspace in found.items():
        if isinstance(workspace, workspaces.Workspace) and workspace.project not in there:
            hint = readings.did_you_mean(workspace.project, there)
            yield (
                name,
                errors.Problem(
                    f"workspace {name} is of project {workspace.project}, which is not there",
                    hint=hint if there else "write a document of kind: Project for it",
                ),
            )


class _Reader:
    def __init__(
        self, surroundings: definitions.Surroundings, beside: definitions.Definitions
    ) -> None:
        self._surroundings = surroundings
        self._problems: list[errors.Problem] = []
        self._found: dict[str, dict[str, object]] = {}
        #: Where each kind and name was written first; None: in other files.
        self._written: dict[tuple[str, str], errors.Location | None] = dict.fromkeys(beside.names())

    def read(self, file: TextFile) -> None:
        try:
            documents = yaml.load_all(file.text, file.name)
        except errors.UserError as error:
            self._problems += error.problems
            return
        if not documents:
            self._problems.append(
                errors.Problem("the file says nothing", errors.Location(file.name), _HINT)
            )
        for document in documents:
            self._read_document(document)

    def _read_document(self, document: yaml.Document) -> None:
        if not isinstance(document.value, Mapping):
            self._problems.append(
                errors.Problem("a document must be an object", document.where(), _HINT)
            )
            return
        given = document.value.get("kind")
        kind = next((kind for kind in KINDS if kind.name == given), None)
        if kind is None:
            word = given if isinstance(given, str) else ""
            message = f"kind {word[:80]} is not known here" if word else "kind is required"
            hint = readings.did_you_mean(word, _NAMES)
            self._problems.append(errors.Problem(message, document.where(("kind",)), hint))
            return
        reading = readings.Reading(document)
        made = kind.convert(reading, self._surroundings)
        self._take_name(reading, kind.name, made)
        self._problems += sorted(reading.problems, key=lambda problem: problem.where.line)

    def _take_name(self, reading: readings.Reading, kind: str, made: object) -> None:
        name, at = reading.written(("metadata", "name")), ("metadata", "name")
        if not isinstance(name, str) or not name:
            return
        if (kind, name) in self._written:
            first = self._written[kind, name]
            place = f"at {first}" if first is not None else "in a file that the settings name"
            reading.error(at, f"the {kind.lower()} {name} is there already, {place}")
            return
        if len(self._written) >= MOST_DEFINITIONS:
            reading.error(at, f"more than {MOST_DEFINITIONS} definitions are not read")
            return
        self._written[kind, name] = reading.where(at)
        self._found.setdefault(kind, {})[name] = made

    def check_workspaces(self) -> None:
        """Note workspaces of projects that are not there; all files were read."""
        there = [name for kind, name in self._written if kind == PROJECT.name]
        for name, problem in _without_project(self._found.get(WORKSPACE.name, {}), there):
            where = self._written[WORKSPACE.name, name] or errors.NOWHERE
            self._problems.append(replace(problem, where=where))

    def loaded(self) -> readings.Loaded[definitions.Definitions]:
        problems = tuple(self._problems)
        if errors.mistakes(problems):
            return readings.Loaded(None, problems)
        return readings.Loaded(definitions.Definitions(self._found), problems)


_NAMES = [kind.name for kind in KINDS]
_HINT = "only files of projects and the like may be here"
