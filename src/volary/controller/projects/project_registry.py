"""The definitions of projects (and of what else stands in their files) as they are now.

One per process. Files beside the settings are there from the start. Those of a repository are read
by the leader at each new commit, and what had no errors last is stored, so that a process that
starts while the Git host is away knows them; one that stands by reads what is stored. A commit
with any error changes nothing: the whole set that was good last stays, and it is said why. Where
none was ever good it is *unknown* which projects there are, which is not the same as none.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from volary.concurrency import work_threads
from volary.config.decoding import readings
from volary.config.projects import definitions, project_files
from volary.config.text import git_addresses
from volary.controller import refusals
from volary.controller.persistence import change_signal, retry
from volary.gitops import project_discovery, repository_state
from volary.model import clocks, errors, json, server_settings, workspaces
from volary.model.runs import run_records
from volary.store import records, stores
from volary.tenancy import membership

_LOG = logging.getLogger(__name__)
_KEEPING = "keeping project files"
#: Seconds between two looks of a process that stands by.
_STANDBY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Written:
    """Where projects are written, and what is known of them from the start."""

    #: Name of the repository in the settings; empty: none has project files.
    repository: str = ""
    #: Its address, branch and directory, without what is secret: what is stored of another
    #: source does not count.
    source: str = ""
    #: What the files beside the settings say.
    beside: definitions.Definitions = field(default_factory=definitions.Definitions)
    #: What files of the repository are checked against.
    surroundings: definitions.Surroundings = field(
        default_factory=lambda: definitions.Surroundings(are_in_git=True)
    )


def written(
    settings: server_settings.Settings, beside: definitions.Definitions | None = None
) -> Written:
    """Return where the projects of settings are written.

    Args:
        settings: Of the server.
        beside: What the files beside them say, see `read_beside`.
    """
    known = beside or definitions.Definitions()
    name = settings.projects.repository
    found = next((one for one in settings.repositories if one.name == name), None)
    if found is None:
        return Written(beside=known)
    source = f"{git_addresses.mask(found.url)} {found.branch} {settings.projects.path}"
    return Written(name, source, known, replace(surroundings(settings), are_in_git=True))


def surroundings(settings: server_settings.Settings) -> definitions.Surroundings:
    """Return what files beside the settings are checked against."""
    return definitions.Surroundings(
        receivers=tuple(receiver.name for receiver in settings.notifications.receivers),
        repositories=tuple(repository.name for repository in settings.repositories),
    )


@dataclass(slots=True)
class ProjectRegistry:
    """See the module."""

    store: stores.Store
    clock: clocks.Clock
    #: Signals whenever something was stored.
    kept: change_signal.ChangeSignal
    written: Written = field(default_factory=Written)
    #: Told all workspaces whenever it is known which there are.
    on_workspaces: Callable[[Sequence[workspaces.Workspace]], None] = lambda _: None
    #: What the repository says; None: that is not known.
    _in_git: definitions.Definitions | None = field(default=None, init=False)
    _record: records.ProjectFilesRecord = field(init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _current: membership.Projects = field(init=False)

    def __post_init__(self) -> None:
        self._record = records.ProjectFilesRecord(self.written.source)
        self._update(None)

    @property
    def known(self) -> definitions.Definitions:
        """Everything that is known to be written, of all kinds."""
        return self.written.beside.joined(self._in_git or definitions.Definitions())

    @property
    def commit(self) -> str:
        """The commit whose files count; empty: there is none, or no repository has any."""
        return self._record.commit

    @property
    def problem(self) -> str:
        """Why the newest commit does not count, one sentence; empty: it does."""
        return self._record.problem

    def current(self) -> membership.Projects:
        """Return the projects as they are now."""
        return self._current

    async def load(self) -> bool:
        """Read what was stored; says whether that is something new here.

        Raises:
            errors.TemporaryError: The database cannot be read now.
        """
        if not self.written.repository:
            return False
        async with self._lock:
            stored = await self.store.project_files.get(self.written.source)
            if stored is None or stored == self._record:
                return False
            found, record = self._in_git, self._record
            try:
                files = files_of(stored) if stored.commit else ()
                in_git = (await self._parse(files, lenient=True)).value if files else None
            except errors.VolaryError as error:
                _LOG.error("the project files that are stored cannot be read: %s", error)
                in_git = None
            self._record = stored
            self._update(in_git)
            return (found, record.problem) != (in_git, stored.problem)

    async def take(
        self, seen: repository_state.RepositoryState, *, fence: run_records.Fence | None
    ) -> bool:
        """Take what was seen of a repository; says whether other projects count from now on.

        What is taken is stored first.
        """
        found = seen.project_files
        if seen.name != self.written.repository or found is None:
            return False
        async with self._lock:
            problems, read = found.problems, None
            if not problems:
                loaded = await self._read(found.files)
                problems, read = loaded.problems, loaded.value
            if read is None:
                await self._refuse(found, errors.mistakes(problems), fence)
                return False
            for problem in problems:
                _LOG.warning("%s", str(problem).replace("\n", "; "))
            record = replace(
                self._record, commit=found.commit, problem="", document=_document_of(found.files)
            )
            await self._keep(record, fence)
            changed = read != self._in_git
            self._update(read)
            if changed:
                names = ", ".join(sorted(self._current.by_name))
                _LOG.info("projects as of commit %s: %s", found.commit[:7], names)
            return changed

    async def keep_loading(self, is_leader: Callable[[], bool]) -> None:
        """Read what is stored again and again while this process stands by, until cancelled."""
        while True:
            if not is_leader():
                try:
                    await self.load()
                except errors.TemporaryError as error:
                    _LOG.debug("project files cannot be read now: %s", error)
            await asyncio.sleep(_STANDBY_SECONDS)

    async def _read(
        self, files: Sequence[project_files.TextFile]
    ) -> readings.Loaded[definitions.Definitions]:
        try:
            loaded = await self._parse(files)
        except errors.UserError as error:
            return readings.Loaded(None, error.problems)
        if loaded.value is None:
            return loaded
        everything = self.written.beside.joined(loaded.value)
        if missing := project_files.check_any(everything, f"repository {self.written.repository}"):
            return readings.Loaded(None, (*loaded.problems, *missing))
        return loaded

    async def _parse(
        self, files: Sequence[project_files.TextFile], *, lenient: bool = False
    ) -> readings.Loaded[definitions.Definitions]:
        """Return what files say; `lenient`: also if the settings have lost a receiver since.

        Raises:
            errors.UserError: It took too long.
        """
        known = self.written.surroundings
        if lenient:
            known = replace(known, receivers=None, repositories=None)
        return await work_threads.run(
            "reading project files",
            lambda: project_files.parse(files, known, beside=self.written.beside),
        )

    async def _refuse(
        self,
        found: project_discovery.FoundFiles,
        problems: Sequence[errors.Problem],
        fence: run_records.Fence | None,
    ) -> None:
        """Write down why a commit does not count."""
        why = refusals.sentence(errors.UserError(*problems))
        sentence = f"commit {found.commit[:7]} of {self.written.repository}: {why}"
        if self._record.problem != sentence:
            stays = f"what {self.commit[:7]} says stays" if self.commit else "nothing is planned"
            _LOG.error("project files cannot be taken, %s: %s", stays, sentence)
        await self._keep(replace(self._record, problem=sentence), fence)
        self._update(self._in_git)

    async def _keep(
        self, record: records.ProjectFilesRecord, fence: run_records.Fence | None
    ) -> None:
        if record != self._record:
            record = replace(record, updated=self.clock.now())
            await retry.until_available(
                lambda: self.store.project_files.keep(record, fence=fence), _KEEPING
            )
            self._record = record
            self.kept.notify_all()

    def _update(self, in_git: definitions.Definitions | None) -> None:
        self._in_git = in_git
        self._current = membership.Projects(
            dict(self.known.of(project_files.PROJECT)), self._why_unknown()
        )
        if not self._current.unknown:
            self.on_workspaces(tuple(self.known.of(project_files.WORKSPACE).values()))

    def _why_unknown(self) -> str:
        if not self.written.repository or self._in_git is not None:
            return ""
        if self._record.problem:
            # Those who ask may be of any team: what is wrong is told to those who may see it all.
            return f"the project files of repository {self.written.repository} have errors"
        if self._record.commit:
            return "what is stored of them cannot be read with these settings"
        return f"repository {self.written.repository} was not read yet"


class _Document(msgspec.Struct, frozen=True):
    """What is stored of files."""

    files: tuple[project_files.TextFile, ...]


def _document_of(files: Sequence[project_files.TextFile]) -> json.JsonObject:
    return {"files": [{"name": file.name, "text": file.text} for file in files]}


def files_of(stored: records.ProjectFilesRecord) -> tuple[project_files.TextFile, ...]:
    """Return the files that are stored.

    Raises:
        errors.PermanentError: They cannot be read.
    """
    if stored.unreadable:
        raise errors.PermanentError(stored.unreadable)
    try:
        return json.convert(stored.document, _Document).files
    except json.UNREADABLE as error:
        raise errors.PermanentError("it is not as expected") from error
