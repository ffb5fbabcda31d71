"""Opening what a command was pointed at: a directory or repository, its application, the fleet."""

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from volary.concurrency import work_threads
from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks
from volary.config.fleet import fleet_files
from volary.config.text import git_addresses
from volary.model import applications, errors, phrases
from volary.model.fleet import fleets
from volary.model.objects import ownership
from volary.sources import application_discovery
from volary.sources.git import repositories
from volary.sources.trees import directories, trees

#: A plain directory has no commit; the hash of its content, with this prefix, stands for one.
CONTENT_PREFIX = "files-"
_DIGEST = 12


@dataclass(frozen=True, slots=True)
class OpenedApplication:
    """An application at one commit, opened."""

    source: application_discovery.Source
    files: trees.Tree
    application: applications.Application
    #: The application file, to name lines of problems that show later.
    loaded: application_files.Loaded
    #: First line of the commit message; empty for a plain directory.
    subject: str = ""
    #: None for a plain directory.
    repository: repositories.Repository | None = None
    warnings: tuple[errors.Problem, ...] = ()
    #: The clusters it is for at any commit, whatever its file says; None: as that says.
    selector: applications.TargetSelector | None = None

    @property
    def commit(self) -> str:
        """The commit, or what stands for one in a plain directory."""
        return self.source.commit

    @property
    def directory(self) -> str:
        """The application directory, relative to the root of the files."""
        return self.source.directory

    async def holds(self, commit: str) -> bool:
        """Say whether a commit is one of the repository; plain directories stand for each other."""
        if self.repository is None:
            return commit.startswith(CONTENT_PREFIX)
        try:
            await self.repository.resolve(commit)
        except errors.UserError:
            return False
        return True

    async def describes(self, directory: str) -> bool:
        """Say whether there is, now, an application of the same name in a directory."""
        path = await work_threads.run(
            f"reading {directory}", application_discovery.in_directory, self.files, directory
        )
        if not path:
            return False
        chosen = application_discovery.ApplicationFile(path)
        loaded = await work_threads.run(f"reading {path}", _load, self.files, chosen, located=None)
        found = loaded.application
        return found is None or found.name == self.application.declared_name


def directories_of(opened: OpenedApplication) -> tuple[str, ...]:
    """Return where the application is on this machine: no key of anything may be there."""
    repository = opened.repository
    root = repository.root if repository is not None else None
    location = opened.source.repository
    found = (str(root) if root else "", "" if "://" in location else location)
    return tuple(directory for directory in found if directory)


async def open_application(location: str, *, app: str = "", commit: str = "") -> OpenedApplication:
    """Open the application in `location`: a path (Git or plain) or a file:// URL.

    Raises:
        errors.UserError: It does not exist, or the application file has errors.
    """
    path = Path(location)
    if "://" not in location and not path.exists():
        raise errors.user_error(f"{location} does not exist")
    root = repositories.find_root(path) if "://" not in location else None
    if "://" in location or root is not None or _is_bare(path):
        return await _open_git(location, root, app=app, commit=commit)
    if commit:
        raise errors.user_error(
            f"{location} is not in a Git repository, so it has no commit {commit}",
            hint="leave --commit out, or point at a repository",
        )
    return await _open_plain(path, app=app)


async def open_pinned(
    repository: repositories.Repository, path: str, commit: str, *, name: str = ""
) -> OpenedApplication:
    """Open the application that the file at `path` describes, at one commit of a repository.

    Args:
        repository: Opened, usually bare.
        path: The application's file or directory, relative to the root.
        commit: Any revision.
        name: What the application is called, whatever its file says; empty: as it says.

    Raises:
        errors.UserError: There is no such commit or file, or the file has errors.
    """
    resolved = await repository.resolve(commit)
    files = await repository.tree(resolved.id)
    chosen = await work_threads.run(
        f"reading {path}", application_discovery.choose, files, "", app=path
    )
    loaded = await work_threads.run(f"reading {path}", _load, files, chosen, located=None)
    application = loaded.require()
    return OpenedApplication(
        application_discovery.Source(repository.location, resolved.id, chosen.directory),
        files,
        replace(
            application,
            name=name or application.name,
            declared=application.name,
            origin=_origin(repository, chosen.directory),
        ),
        loaded,
        subject=resolved.subject,
        repository=repository,
        warnings=loaded.problems,
    )


def with_targets(
    opened: OpenedApplication, selector: applications.TargetSelector | None
) -> OpenedApplication:
    """Return the application for other clusters than its file says; None: as it says."""
    if selector is None:
        return opened
    return replace(opened, application=aim_at(opened.application, selector), selector=selector)


def aim_at(
    application: applications.Application, selector: applications.TargetSelector | None
) -> applications.Application:
    """Return an application for other clusters than its file says; None: as it says.

    PipeCD's deploy targets stay those of its plugin.
    """
    if selector is None:
        return application
    return replace(application, targets=replace(selector, plugin=application.targets.plugin))


async def at_commit(opened: OpenedApplication, commit: str) -> trees.Tree:
    """Return the files of the application's repository at another commit.

    For a plain directory `commit` names another directory.
    """
    if opened.repository is not None:
        return await opened.repository.tree(commit)
    if not Path(commit).is_dir():
        raise errors.user_error(
            f"--running {commit} is not a directory",
            hint="the source is a plain directory, so what runs is one as well",
        )
    return directories.DirectoryTree(Path(commit))


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


async def _open_git(
    location: str, root: Path | None, *, app: str, commit: str
) -> OpenedApplication:
    repository = await repositories.open_repository(location)
    resolved = await repository.resolve(commit or "HEAD")
    files = await repository.tree(resolved.id)
    start = _below(Path(location), root) if root is not None else ""
    if not app and trees.follow(files, start) is None:
        raise errors.user_error(
            f"{location} is not in commit {resolved.short}: what runs is what is in Git",
            hint="commit it first; volary lint reads files as they are",
        )
    chosen = application_discovery.choose(files, start, app=app)
    loaded = _load(files, chosen, located=root)
    opened = OpenedApplication(
        application_discovery.Source(location, resolved.id, chosen.directory),
        files,
        replace(loaded.require(), origin=_origin(repository, chosen.directory)),
        loaded,
        subject=resolved.subject,
        repository=repository,
        warnings=loaded.problems,
    )
    changed = await repository.uncommitted(chosen.directory) if not commit else ()
    return replace(opened, warnings=(*opened.warnings, *_uncommitted(changed, resolved.short)))


def _origin(repository: repositories.Repository, directory: str) -> ownership.Origin:
    address = git_addresses.canonical(repository.location)
    address = address or git_addresses.canonical(repository.remote)
    return ownership.Origin(address, directory, "" if address else _checkout(repository))


def _checkout(repository: repositories.Repository) -> str:
    """Return what tells a repository without a remote from copies of it on the same machine."""
    root = repository.root or Path()
    place = (repository.remote or str(repository.root or repository.location)).removeprefix(
        "file://"
    )
    path = os.path.realpath(root / place).removesuffix("/.git")
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]


def _uncommitted(paths: tuple[str, ...], commit: str) -> tuple[errors.Problem, ...]:
    if not paths:
        return ()
    return (
        errors.Problem(
            f"{phrases.first_of(paths, 1)} differ from commit {commit}; the commit is what is used",
            hint="commit the change to have it deployed",
            severity=errors.Severity.WARNING,
        ),
    )


async def _open_plain(path: Path, *, app: str) -> OpenedApplication:
    files = directories.DirectoryTree(path if path.is_dir() else path.parent)
    chosen = application_discovery.choose(files, "" if path.is_dir() else path.name, app=app)
    loaded = _load(files, chosen, located=path if path.is_dir() else path.parent)
    commit = CONTENT_PREFIX + files.identity(chosen.directory)[:12]
    return OpenedApplication(
        application_discovery.Source(str(path), commit, chosen.directory),
        files,
        replace(loaded.require(), origin=ownership.Origin(directory=chosen.directory)),
        loaded,
        warnings=loaded.problems,
    )


def _below(path: Path, root: Path) -> str:
    """Return `path` relative to `root`; empty for the root itself."""
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    return "" if inside == "." else inside


def _load(
    files: trees.Tree, chosen: application_discovery.ApplicationFile, *, located: Path | None
) -> application_files.Loaded:
    try:
        text = files.read(chosen.path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.user_error(
            "the application file is not UTF-8 text", where=errors.Location(chosen.path)
        ) from error
    default = application_files.default_name(chosen.path)
    if not chosen.directory and located is not None:
        default = located.resolve().name or default
    return application_files.parse(
        text,
        file=chosen.path,
        default_name=default,
        directory=chosen.directory,
        neighbours=application_discovery.sibling_files(files, chosen.path),
    )


def load_fleet(file: str = "", contexts: str = "") -> fleets.Fleet:
    """Return the fleet of a fleet file (or PipeCD's piped file), or of kubeconfig contexts.

    Raises:
        errors.UserError: Neither or both are given, or the file has errors.
    """
    if bool(file) == bool(contexts):
        raise errors.user_error(
            "name the clusters once: --fleet FILE or --contexts a,b",
            hint="`volary sandbox up` writes a fleet file to try",
        )
    if contexts:
        return fleet_files.from_contexts(contexts.split(","))
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = (getattr(error, "strerror", None) or "it is not text").lower()
        raise errors.user_error(f"fleet file {file} cannot be read: {cause}") from error
    return fleet_files.parse(text, file=file, directory=str(path.parent)).require()


def check_fleet(opened: OpenedApplication, members: fleets.Fleet) -> tuple[errors.Problem, ...]:
    """Compare an application with the fleet and return the warnings, of the fleet's file too.

    Raises:
        errors.UserError: They do not fit; all problems at once.
    """
    problems = fleet_checks.against_fleet(
        opened.application,
        members,
        document=opened.loaded.document,
        base=opened.loaded.base,
    )
    wrong = errors.mistakes(problems)
    if wrong:
        raise errors.UserError(*wrong)
    return (*members.warnings, *problems)
