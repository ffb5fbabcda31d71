"""What a build with kustomize reads: everything local is collected, everything else refused.

kustomize would fetch remote bases, files and charts over the network; here a build
depends on the commit alone. Knowing the references also keeps the rest of a large
repository out of the private directory. What the fields mean is in `kustomization_fields`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from volary.config.text import yaml
from volary.model import errors
from volary.sources.rendering import kustomization_fields as fields
from volary.sources.trees import paths, trees

#: In the order kustomize looks for them.
NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_MOST_PARTS = 1000
#: What kustomize fetches wherever it reads a file, whatever exists under that name.
_ADDRESS = re.compile(r"://|\A\s*https?:", re.IGNORECASE)
#: What kustomize clones wherever it looks for a directory, whatever exists under that name.
_REPOSITORY = re.compile(r"[:?]|_git/|\A[^./][^/]*@|\Agithub\.com/", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_REMOTE_HINT = "copy it into the repository"


@dataclass(frozen=True, slots=True)
class Build:
    """What a build reads."""

    #: The directories and files of the tree.
    parts: tuple[str, ...]
    #: What is built in place of what some files hold, by their real paths: the same as it was
    #: read here, in a form that nobody reads in another way.
    contents: Mapping[str, bytes]


def find(files: trees.Tree, directory: str) -> str:
    """Return the path of the kustomization in `directory`; empty when there is none."""
    for name in NAMES:
        path = paths.join(directory, name)
        entry = trees.follow(files, path)
        if entry is not None and entry.kind is trees.Kind.FILE:
            return path
    return ""


def read(files: trees.Tree, directory: str) -> Build:
    """Return what a build of `directory` reads.

    Raises:
        UserError: With every reference of every kustomization that is part of the build which
            is remote, missing, outside, or a program's; and with every unknown field.
    """
    walk = _Walk(files)
    walk.waiting.append(_Part(directory, fields.Role.COMPONENT))
    while walk.waiting:
        part = walk.waiting.pop()
        try:
            walk.visit(part)
        except errors.UserError as error:
            walk.problems += error.problems
    if walk.problems:
        raise errors.UserError(*dict.fromkeys(walk.problems))
    return Build(tuple(sorted({part.path for part in walk.seen})), walk.contents)


@dataclass(frozen=True, slots=True)
class _Part:
    """A file or directory that has to be looked into.

    A directory of resources may be one of transformers too, for which more is refused.
    """

    path: str
    role: fields.Role
    #: Of plugins: the directory of the kustomization that uses them. Their paths start there.
    user: str = ""


@dataclass(slots=True)
class _Walk:
    """What was found so far, and what is still to be looked into."""

    files: trees.Tree
    waiting: list[_Part] = field(default_factory=list)
    seen: set[_Part] = field(default_factory=set)
    contents: dict[str, bytes] = field(default_factory=dict)
    problems: list[errors.Problem] = field(default_factory=list)

    def visit(self, part: _Part) -> None:
        """Look into one file or directory.

        Raises:
            UserError: It cannot be read, or there are too many.
        """
        if part in self.seen:
            return
        if len(self.seen) >= _MOST_PARTS:
            self.waiting.clear()
            raise errors.user_error(
                f"more than {_MOST_PARTS} files and directories are part of the build",
                where=errors.Location(part.path),
            )
        self.seen.add(part)
        entry = trees.follow(self.files, part.path)
        if entry is None or entry.kind is trees.Kind.DIRECTORY:
            self._visit_directory(part)
        elif part.role is fields.Role.PLUGIN:
            documents = yaml.load_all(trees.read_text(self.files, part.path), part.path)
            readings = [fields.read_plugins(document) for document in documents]
            self._take(part.path, readings, start=part.user, user=part.user)

    def _visit_directory(self, part: _Part) -> None:
        directory = part.path
        path = find(self.files, directory)
        if not path:
            raise errors.user_error(
                "the directory has no kustomization",
                hint=f"one of {', '.join(NAMES)} is expected in it",
                where=errors.Location(directory or "."),
            )
        documents = yaml.load_all(trees.read_text(self.files, path), path)
        if len(documents) != 1:
            raise errors.user_error("a kustomization is one document", where=errors.Location(path))
        of_plugins = part.role is fields.Role.PLUGIN
        reading = fields.read_kustomization(documents[0], of_plugins=of_plugins)
        user = part.user if of_plugins else directory
        self._take(path, [reading], start=directory, user=user)

    def _take(
        self, path: str, readings: Sequence[fields.Reading], *, start: str, user: str
    ) -> None:
        """Keep what was read in the file at `path`, and follow what it refers to from `start`."""
        for reading in readings:
            self.problems += reading.problems
            for reference in reading.references:
                self._refer(reference, start, user)
        entry = trees.follow(self.files, path)
        assert entry is not None
        where = errors.Location(path)
        text = fields.as_text([reading.value for reading in readings], where)
        self.contents[entry.path] = text.encode()

    def _refer(self, reference: fields.Reference, start: str, user: str) -> None:
        try:
            inside = check(self.files, reference, start)
        except errors.UserError as error:
            self.problems += error.problems
            return
        if reference.role is fields.Role.PLUGIN:
            self.waiting.append(_Part(inside, reference.role, user))
        elif reference.role is not fields.Role.FILE:
            self.waiting.append(_Part(inside, reference.role))


def check(files: trees.Tree, reference: fields.Reference, directory: str) -> str:
    """Return where a reference in the kustomization of `directory` leads to.

    Raises:
        UserError: It is remote, missing or outside.
    """
    value, where = reference.value, reference.where
    inside = _local(files, reference, directory)
    entry = trees.follow(files, inside)
    if entry is None:
        raise errors.user_error(f"{value} does not exist in the repository", where=where)
    is_directory = entry.kind is trees.Kind.DIRECTORY
    if reference.role is fields.Role.FILE and is_directory:
        raise errors.user_error(f"{value} is a directory, a file is expected", where=where)
    if reference.role is fields.Role.COMPONENT and not is_directory:
        raise errors.user_error(f"{value} is a file, a directory is expected", where=where)
    if not is_directory and not paths.is_below(inside, directory):
        raise errors.user_error(
            f"{value} is a file outside the kustomization's directory",
            where=where,
            hint="kustomize reads files from there and below only; directories may be elsewhere",
        )
    return inside


def _local(files: trees.Tree, reference: fields.Reference, directory: str) -> str:
    """Return the path in the tree.

    Raises:
        UserError: It is not meant as one, or leaves the tree.
    """
    value, where = reference.value, reference.where
    remote = errors.user_error(
        f"{value} is remote, and a build never uses the network", where=where, hint=_REMOTE_HINT
    )
    if _CONTROL.search(value):
        raise errors.user_error(f"{value!r} cannot be a path", where=where)
    if _ADDRESS.search(value):
        raise remote
    is_file = reference.role is fields.Role.FILE
    joined = trees.join(directory, value, f"{value} is outside the repository", where=where)
    exists = trees.follow(files, joined) is not None
    if not is_file and _REPOSITORY.search(value):
        if not exists:
            raise remote
        raise errors.user_error(
            f"{value} exists in the repository, and kustomize takes it for remote",
            where=where,
            hint="write ./ before it; a name with :, ? or _git/ has to be another one",
        )
    if not is_file and not exists and _looks_like_host(value):
        raise remote
    return joined


def _looks_like_host(value: str) -> bool:
    host = value.partition("/")[0]
    return "." in host.strip(".") and "/" in value and not value.startswith(".")
