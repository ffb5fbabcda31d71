"""Finding the application file in a tree."""

from dataclasses import dataclass

from volary.model import errors, problem
from volary.sources import paths, tree

#: Deeper or larger than this nobody looks for an application by hand.
_MOST_DIRECTORIES = 20_000
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ApplicationFile:
    """Where an application is described."""

    #: Relative to the root.
    path: str

    @property
    def directory(self) -> str:
        """The application directory, relative to the root; empty: the root."""
        return paths.parent(self.path)

    @property
    def name(self) -> str:
        """The file's name in its directory."""
        return self.path.rpartition("/")[2]


def is_application_file(name: str) -> bool:
    """Say whether a file of this name describes an application (PipeCD: ``*.pipecd.yaml``)."""
    return name == "volary.yaml" or name.endswith(".pipecd.yaml")


def find(files: tree.Tree, directory: str = "") -> tuple[ApplicationFile, ...]:
    """Return every application file at and below `directory`, in lexical order.

    Hidden directories are left out, and symbolic links are not followed.
    """
    found: list[str] = []
    waiting, seen = [directory], 0
    while waiting and seen < _MOST_DIRECTORIES:
        seen += 1
        for entry in files.list(waiting.pop()):
            if entry.kind is tree.Kind.DIRECTORY and not entry.name.startswith("."):
                waiting.append(entry.path)
            elif entry.kind is tree.Kind.FILE and is_application_file(entry.name):
                found.append(entry.path)
    return tuple(ApplicationFile(path) for path in sorted(found))


def choose(files: tree.Tree, directory: str = "", *, app: str = "") -> ApplicationFile:
    """Return the one application file that is meant.

    `app` names it, or its directory, relative to `directory`. Without it the file in
    `directory` is meant, or the only one below.

    Raises:
        UserError: There is none, or several to choose from.
    """
    start = _start(directory, app)
    entry = tree.follow(files, start)
    if entry is None:
        raise errors.user_error(f"{start or '.'} does not exist", hint="check --app")
    if entry.kind is tree.Kind.FILE:
        return ApplicationFile(entry.path)
    here = [
        ApplicationFile(each.path)
        for each in files.list(entry.path)
        if each.kind is tree.Kind.FILE and is_application_file(each.name)
    ]
    return _only(tuple(here) or find(files, entry.path), start)


def _start(directory: str, app: str) -> str:
    try:
        return paths.join(directory, app)
    except paths.OutsideError as error:
        raise errors.user_error(
            f"--app {app} leads outside the repository", hint="name a directory inside of it"
        ) from error


def _only(found: tuple[ApplicationFile, ...], start: str) -> ApplicationFile:
    where = start or "the root of the source"
    if not found:
        raise errors.user_error(
            f"no application file in {where} or below",
            hint="write a volary.yaml or app.pipecd.yaml, or name the directory with --app",
        )
    if len(found) == 1:
        return found[0]
    named = [each.path for each in found[:_MOST_NAMED]]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    raise errors.UserError(
        problem.Problem(
            f"{len(found)} application files in {where}: {', '.join(named)}{more}",
            hint="name one of them, or its directory, with --app",
        )
    )
