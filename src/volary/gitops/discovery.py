"""Finds and reads the application files of one repository at a commit.

A file is read again only when its content changed, known by Git's own hash, so that a
thousand applications in one repository cost a walk through its directories and no more.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pygit2

from volary.config.application import application_files
from volary.model import applications, errors, server_settings, work_limits
from volary.sources import application_discovery
from volary.sources.git import repositories
from volary.sources.trees import trees

#: Larger application files are refused unread.
LARGEST_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one application file says."""

    path: str
    #: What it calls itself; of a broken file its directory's name.
    name: str
    application: applications.Application | None
    problems: tuple[errors.Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovered:
    """The application files of a commit, by path."""

    readings: tuple[ParsedFile, ...]
    #: What could not be read, in sentences.
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Discovery:
    """Reads one repository's application files; blocks, so it runs in threads."""

    spec: server_settings.Repository
    listed: Sequence[server_settings.ListedApplication] = ()
    #: Readings by path and content.
    _known: dict[tuple[str, str], ParsedFile] = field(default_factory=dict)

    def look(self, commit_tree: repositories.GitTree) -> Discovered:
        """Return what is there.

        Raises:
            TemporaryError: The commit is not complete: the host kept something back.
        """
        try:
            return self._look(commit_tree)
        except (pygit2.GitError, KeyError) as error:
            raise errors.TemporaryError(f"{self.spec.name}: the commit is not complete") from error

    def _look(self, commit_tree: repositories.GitTree) -> Discovered:
        warnings: list[str] = []
        paths = self._found(commit_tree, warnings)
        by_hand = {}
        missing = []
        for entry in self.listed:
            try:
                by_hand[application_discovery.choose(commit_tree, entry.path).path] = entry
            except errors.UserError as error:
                missing.append(_missing(entry.path, error.problems))
        known: dict[tuple[str, str], ParsedFile] = {}
        readings = []
        shared = application_discovery.shared_identity(commit_tree)
        for path in sorted({*paths, *by_hand}):
            # What changes with everything that is read for the application.
            key = (path, f"{commit_tree.identity(path.rpartition('/')[0])} {shared}")
            reading = known[key] = self._known.get(key) or _read(commit_tree, path)
            readings.append(_aimed(reading, by_hand.get(path)))
        self._known = known
        readings += [parsed_file for parsed_file in missing if parsed_file.path not in paths]
        return Discovered(tuple(readings), tuple(warnings))

    def _found(self, commit_tree: repositories.GitTree, warnings: list[str]) -> set[str]:
        """Return the paths of application files below the configured directories.

        A repository whose applications are all listed by hand is not searched.
        """
        if self.listed and not self.spec.paths:
            return set()
        paths: set[str] = set()
        for directory in self.spec.paths or ("",):
            entry = commit_tree.entry(directory)
            if entry is None or entry.kind is not trees.Kind.DIRECTORY:
                warnings.append(f"{directory} is not a directory of {self.spec.name}")
                continue
            paths |= {file.path for file in application_discovery.find(commit_tree, directory)}
        if len(paths) > work_limits.APPLICATIONS:
            warnings.append(
                f"{len(paths)} applications found, only {work_limits.APPLICATIONS} are taken"
            )
            paths = set(sorted(paths)[: work_limits.APPLICATIONS])
        return paths


def _read(commit_tree: repositories.GitTree, path: str) -> ParsedFile:
    directory = path.rpartition("/")[0]
    default = directory.rpartition("/")[2] or path.removesuffix(".yaml").removesuffix(".pipecd")
    text = _text(commit_tree, path)
    if isinstance(text, errors.Problem):
        return ParsedFile(path, default, None, (text,))
    try:
        beside = application_discovery.sibling_files(commit_tree, path)
    except errors.UserError as error:
        return ParsedFile(path, default, None, error.problems)
    loaded = application_files.parse(
        text, file=path, default_name=default, directory=directory, neighbours=beside
    )
    application = loaded.application
    return ParsedFile(
        path, application.name if application else default, application, loaded.problems
    )


def _text(commit_tree: repositories.GitTree, path: str) -> str | errors.Problem:
    where = errors.Location(path)
    entry = commit_tree.entry(path)
    if entry is not None and entry.size > LARGEST_FILE:
        return errors.Problem(f"the file is larger than {LARGEST_FILE // 1024} KiB", where)
    try:
        return commit_tree.read(path).decode()
    except UnicodeDecodeError:
        return errors.Problem("the file is not UTF-8 text", where)


def _aimed(reading: ParsedFile, listed: server_settings.ListedApplication | None) -> ParsedFile:
    """Return the reading with the targets the settings give it."""
    if listed is None or listed.targets is None or reading.application is None:
        return reading
    plugin = reading.application.targets.plugin
    targets = dataclasses.replace(listed.targets, plugin=plugin)
    aimed = dataclasses.replace(reading.application, targets=targets)
    return dataclasses.replace(reading, application=aimed)


def _missing(path: str, problems: Iterable[errors.Problem]) -> ParsedFile:
    hinted = tuple(
        dataclasses.replace(problem, hint="listed in the settings") for problem in problems
    )
    return ParsedFile(path, path.rpartition("/")[2] or path, None, hinted)
