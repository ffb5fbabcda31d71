"""Finds and reads the application files of one repository at a commit.

A file is read again only when its content changed, known by Git's own hash, so that a
thousand applications in one repository cost a walk through its directories and no more.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pygit2

from volary.config import application as files
from volary.model import application, controller, errors, problem
from volary.sources import applications, repository, tree

#: Larger application files are refused unread.
LARGEST_FILE = 1024 * 1024
#: More are not taken from one repository.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one application file says."""

    path: str
    #: What it calls itself; of a broken file its directory's name.
    name: str
    application: application.Application | None
    problems: tuple[problem.Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovered:
    """The application files of a commit, by path."""

    readings: tuple[Reading, ...]
    #: What could not be looked at, in sentences.
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Discovery:
    """Reads one repository's application files; blocks, so it runs in threads."""

    spec: controller.Repository
    listed: Sequence[controller.ListedApplication] = ()
    #: Readings by path and content.
    _known: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def look(self, commit_tree: repository.GitTree) -> Discovered:
        """Return what is there.

        Raises:
            TemporaryError: The commit is not complete: the host kept something back.
        """
        try:
            return self._look(commit_tree)
        except (pygit2.GitError, KeyError) as error:
            raise errors.TemporaryError(f"{self.spec.name}: the commit is not complete") from error

    def _look(self, commit_tree: repository.GitTree) -> Discovered:
        warnings: list[str] = []
        paths = self._found(commit_tree, warnings)
        by_hand = {}
        missing = []
        for each in self.listed:
            try:
                by_hand[applications.choose(commit_tree, each.path).path] = each
            except errors.UserError as error:
                missing.append(_missing(each.path, error.problems))
        known: dict[tuple[str, str], Reading] = {}
        readings = []
        shared = applications.shared_identity(commit_tree)
        for path in sorted({*paths, *by_hand}):
            key = (path, f"{_identity(commit_tree, path)} {shared}")
            reading = known[key] = self._known.get(key) or _read(commit_tree, path)
            readings.append(_aimed(reading, by_hand.get(path)))
        self._known = known
        readings += [each for each in missing if each.path not in paths]
        return Discovered(tuple(readings), tuple(warnings))

    def _found(self, commit_tree: repository.GitTree, warnings: list[str]) -> set[str]:
        """Return the paths of application files below the configured directories.

        A repository whose applications are all listed by hand is not searched.
        """
        if self.listed and not self.spec.paths:
            return set()
        found: set[str] = set()
        for directory in self.spec.paths or ("",):
            entry = commit_tree.entry(directory)
            if entry is None or entry.kind is not tree.Kind.DIRECTORY:
                warnings.append(f"{directory} is not a directory of {self.spec.name}")
                continue
            found |= {each.path for each in applications.find(commit_tree, directory)}
        if len(found) > MOST:
            warnings.append(f"{len(found)} applications found, only {MOST} are taken")
            found = set(sorted(found)[:MOST])
        return found


def _read(commit_tree: repository.GitTree, path: str) -> Reading:
    directory = path.rpartition("/")[0]
    default = directory.rpartition("/")[2] or path.removesuffix(".yaml").removesuffix(".pipecd")
    text = _text(commit_tree, path)
    if isinstance(text, problem.Problem):
        return Reading(path, default, None, (text,))
    loaded = files.parse(
        text,
        file=path,
        default_name=default,
        directory=directory,
        neighbours=applications.neighbours(commit_tree, path),
    )
    found = loaded.application
    return Reading(path, found.name if found else default, found, loaded.problems)


def _identity(commit_tree: repository.GitTree, path: str) -> str:
    """Return what changes with everything that is read for the application."""
    return commit_tree.identity(path.rpartition("/")[0])


def _text(commit_tree: repository.GitTree, path: str) -> str | problem.Problem:
    where = problem.Location(path)
    entry = commit_tree.entry(path)
    if entry is not None and entry.size > LARGEST_FILE:
        return problem.Problem(f"the file is larger than {LARGEST_FILE // 1024} KiB", where)
    try:
        return commit_tree.read(path).decode()
    except UnicodeDecodeError:
        return problem.Problem("the file is not UTF-8 text", where)


def _aimed(reading: Reading, listed: controller.ListedApplication | None) -> Reading:
    """Return the reading with the targets the settings give it."""
    if listed is None or listed.targets is None or reading.application is None:
        return reading
    aimed = dataclasses.replace(reading.application, targets=listed.targets)
    return dataclasses.replace(reading, application=aimed)


def _missing(path: str, problems: Iterable[problem.Problem]) -> Reading:
    found = tuple(dataclasses.replace(each, hint="listed in the settings") for each in problems)
    return Reading(path, path.rpartition("/")[2] or path, None, found)
