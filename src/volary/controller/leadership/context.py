"""What everything in the leader shares, for as long as this process holds the lease."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from volary.controller import inputs
from volary.controller.fleet import cluster_registry
from volary.controller.leadership import engines, planner_slots, project_runs
from volary.controller.persistence import change_signal, retry
from volary.controller.planning import opened_applications
from volary.controller.runs import kind_registry, ready_runs, run_kinds
from volary.controller.status import run_requests
from volary.controller.telemetry import run_metrics
from volary.engine.observers import redaction as event_redaction
from volary.model import backoffs, errors, json
from volary.model.runs import run_records
from volary.notifying import notifier
from volary.sources.git import repositories
from volary.store import fencing, records, stores

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")

_REMEMBERED = 64


class ChangedPathsCache:
    """What changed between two commits, asked once for all applications of a repository."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], tuple[str, ...]] = OrderedDict()
        #: Of what is being asked: a slow repository holds up nobody else's.
        self._locks: dict[tuple[str, str, str], asyncio.Lock] = {}

    async def between(
        self, name: str, repository: repositories.Repository, old: str, new: str
    ) -> tuple[str, ...]:
        """Return the paths that differ, of the repository called `name`.

        Raises:
            errors.UserError: One of the commits does not exist.
        """
        key = (name, old, new)
        if key in self._known:
            return self._known[key]
        async with self._locks.setdefault(key, asyncio.Lock()):
            try:
                changed = self._known.get(key)
                if changed is None:
                    changed = self._known[key] = await repository.changed_paths(old, new)
            finally:
                self._locks.pop(key, None)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return changed


#: Applications at commits; with more of them than that, some are read in every round.
_MOST_APPLICATIONS = 2048
#: Where an application lives, its commit, and whether projects were in use.
_Key = tuple[str, str, bool]


class ApplicationCache:
    """Applications as they were opened last, for those who look at all of them again and again.

    What a commit says does not change, so it is read once. Without this, every round of probes
    would read the files of every application.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, opened_applications.OpenedApplication] = OrderedDict()

    async def open(
        self,
        dependencies: ready_runs.Dependencies,
        place: ready_runs.ApplicationSource,
        commit: str,
        slots: planner_slots.PlannerSlots,
    ) -> opened_applications.OpenedApplication:
        """Return an application at a commit, which is named by its id.

        Args:
            dependencies: What it is opened with.
            place: Where it lives, and the clusters it is for.
            commit: No branch: what a branch says changes.
            slots: How many may read at once.

        Raises:
            errors.UserError: The commit or the file is not there, or the file has errors.
        """
        key = (repr(place), commit, dependencies.projects().are_in_use)
        if key not in self._known:
            async with slots.slot():
                self._known[key] = await ready_runs.open_application(dependencies, place, commit)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_APPLICATIONS:
            self._known.popitem(last=False)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class LeaderContext:
    """One leader: from winning the lease to losing it."""

    store: stores.Store
    fence: run_records.Fence | None
    dependencies: ready_runs.Dependencies
    rules: inputs.Rules
    #: Signals whenever something was stored.
    change_signal: change_signal.ChangeSignal
    #: Everything that goes on beside belongs to it, and ends with it.
    group: asyncio.TaskGroup
    #: How many may look into repositories and clusters at once, to plan.
    planners: planner_slots.PlannerSlots
    #: Who is told what happens.
    notifier: notifier.Notifier
    #: Makes ids of runs.
    new_id: Callable[[], str]
    #: The clusters as they are known.
    register: cluster_registry.ClusterRegistry
    kinds: Mapping[run_requests.KindName, run_kinds.RunKind] = field(
        default_factory=lambda: kind_registry.BY_NAME
    )
    #: Who waits because its project has as many runs under way as it may.
    turns: project_runs.ProjectRuns = field(default_factory=project_runs.ProjectRuns)
    #: Counts runs; it outlives the leader. None: nobody asks this process for numbers.
    measures: run_metrics.RunMetrics | None = None
    differences: ChangedPathsCache = field(default_factory=ChangedPathsCache)
    #: Applications that are read again and again.
    opened: ApplicationCache = field(default_factory=ApplicationCache)
    #: Carries runs out.
    engine: engines.Engine = field(default_factory=engines.LocalEngine)

    async def open(
        self, place: ready_runs.ApplicationSource, commit: str
    ) -> opened_applications.OpenedApplication:
        """Return an application at a commit, see `ApplicationCache.open`."""
        return await self.opened.open(self.dependencies, place, commit, self.planners)

    async def note(
        self, by: str, action: str, document: json.JsonObject, *, application: str = ""
    ) -> None:
        """Write something into the audit that nobody asked for."""
        entry = records.AuditRecord(
            at=self.dependencies.clock.now(),
            by=by,
            action=action,
            result="ok",
            application=application,
            document=event_redaction.clean_everything(self.dependencies.secrets.masker(), document),
        )
        await retry.until_available(lambda: self.store.audit.write(entry), action)


def is_overtaken(error: BaseException) -> bool:
    """Say whether another process is the leader now, so that this one has to stop at once."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_overtaken(exception) for exception in error.exceptions)
    return isinstance(error, fencing.LeaseLost)


async def keep_running(
    work: Callable[[], Awaitable[None]], what: str, backoff: backoffs.Backoff
) -> None:
    """Do work that goes on until it is cancelled; after an error it begins anew, a while later.

    Raises:
        Exception: Another process is the leader now.
    """
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        began = loop.time()
        try:
            return await work()
        # Nothing that goes wrong in one loop may end the others.
        except Exception as error:
            if is_overtaken(error):
                raise
            if isinstance(error, errors.VolaryError):
                _LOG.error("%s: %s; begins anew", what, error)
            else:
                _LOG.exception("%s: interrupted by an error, begins anew", what)
        went_well = loop.time() - began > backoff.longest.total_seconds()
        failures = 1 if went_well else failures + 1
        await asyncio.sleep(backoff.after(failures).total_seconds())


async def isolate_errors(work: Awaitable[Result], application: str, what: str) -> Result | None:
    """Return what some work about one application comes to; its errors harm no other: None.

    Args:
        work: What is done.
        application: Its name.
        what: Said in the log after the name when it is not done: ``is not backfilled now``.
    """
    try:
        return await work
    except errors.VolaryError as error:
        if is_overtaken(error):
            raise
        _LOG.warning("application %s %s: %s", application, what, error)
    # A bug about one application must not stop the others; it is logged with its trace.
    except Exception as error:
        if is_overtaken(error):
            raise
        _LOG.exception("application %s %s", application, what)
    return None
