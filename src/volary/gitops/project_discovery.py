"""Reads the project files of one repository at a commit, never anything outside their directory."""

from collections.abc import Iterator
from dataclasses import dataclass

import pygit2

from volary.config.projects import project_files
from volary.model import errors
from volary.sources.git import repositories
from volary.sources.trees import trees

#: Larger files, or files that are larger together, are refused unread; bytes.
LARGEST_FILE = 1024 * 1024
_LARGEST_TOGETHER = 8 * 1024 * 1024
_MOST_DIRECTORIES = 1_000
_ENDS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The project files of a commit, not yet looked into."""

    commit: str
    files: tuple[project_files.TextFile, ...] = ()
    #: Why they cannot be taken; empty: they can.
    problems: tuple[errors.Problem, ...] = ()


def look(commit_tree: repositories.GitTree, commit: str, directory: str) -> FoundFiles:
    """Return the project files of a directory and those below it; blocks.

    Raises:
        errors.TemporaryError: The commit is not complete: the host kept something back.
    """
    try:
        return FoundFiles(commit, tuple(_read(commit_tree, directory)))
    except errors.UserError as error:
        return FoundFiles(commit, (), error.problems)
    except (pygit2.GitError, KeyError) as error:
        raise errors.TemporaryError("the commit is not complete") from error


def _read(commit_tree: repositories.GitTree, directory: str) -> Iterator[project_files.TextFile]:
    entries = tuple(_files(commit_tree, directory))
    where = errors.Location(directory)
    if not entries:
        raise errors.user_error(
            "there is no project file",
            hint="a directory without any is taken for a mistake: what teams may do stays",
            where=where,
        )
    if len(entries) > project_files.MOST_FILES:
        raise errors.user_error(
            f"more than {project_files.MOST_FILES} project files are not read", where=where
        )
    if sum(entry.size for entry in entries) > _LARGEST_TOGETHER:
        limit = _LARGEST_TOGETHER // 2**20
        raise errors.user_error(
            f"at most {limit} MiB of project files are read together", where=where
        )
    for entry in entries:
        yield _text(commit_tree, entry)


def _text(commit_tree: repositories.GitTree, entry: trees.Entry) -> project_files.TextFile:
    where = errors.Location(entry.path)
    if entry.size > LARGEST_FILE:
        raise errors.user_error(
            f"the file is larger than {LARGEST_FILE // 1024} KiB",
            hint="write several files",
            where=where,
        )
    try:
        return project_files.TextFile(entry.path, commit_tree.read(entry.path).decode())
    except UnicodeDecodeError as error:
        raise errors.user_error("the file is not UTF-8 text", where=where) from error


def _files(commit_tree: repositories.GitTree, directory: str) -> Iterator[trees.Entry]:
    """Yield the files to be read; what hides or leads elsewhere is none, or refused."""
    start = commit_tree.entry(directory)
    if start is None or start.kind is not trees.Kind.DIRECTORY:
        raise errors.user_error(
            f"{directory} is not a directory of the repository",
            hint="projects.path of the settings names it; a symbolic link is none",
        )
    waiting, seen = [directory], 0
    while waiting:
        seen += 1
        if seen > _MOST_DIRECTORIES:
            raise errors.user_error(
                f"more than {_MOST_DIRECTORIES} directories are not searched",
                where=errors.Location(directory),
            )
        for entry in commit_tree.list(waiting.pop()):
            if entry.name.startswith("."):
                continue
            if entry.kind is trees.Kind.DIRECTORY:
                waiting.append(entry.path)
            elif entry.kind is not trees.Kind.FILE:
                _check_link(commit_tree, entry, directory)
            elif entry.name.endswith(_ENDS):
                yield entry


def _check_link(commit_tree: repositories.GitTree, entry: trees.Entry, directory: str) -> None:
    """Refuse what would bring in files from elsewhere; what is in the directory is read anyway.

    Raises:
        errors.UserError: It leads out of the directory, or nowhere.
    """
    found = trees.follow(commit_tree, entry.path)
    is_inside = found is not None and (
        not directory or found.path == directory or found.path.startswith(f"{directory}/")
    )
    may_be_read = entry.name.endswith(_ENDS) or (
        found is not None and found.kind is trees.Kind.DIRECTORY
    )
    if may_be_read and not is_inside:
        raise errors.user_error(
            "the symbolic link leads out of the directory of the project files",
            hint="only files in that directory are read: write the file itself there",
            where=errors.Location(entry.path),
        )
