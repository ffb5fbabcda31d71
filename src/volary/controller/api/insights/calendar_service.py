"""The calendar of closed windows: the part of the service that reads applications' files.

What a commit says does not change, so each file is read once; of many that have not been read
yet, some are read with each question, and the others counted.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from volary.concurrency import fan_out, work_threads
from volary.config.crosscheck import fleet_checks
from volary.controller import refusals
from volary.controller.api import insight_representations
from volary.controller.api.insights import answer_cache, closed_windows
from volary.controller.planning import run_waves
from volary.controller.runs import ready_runs
from volary.controller.status import application_state, application_statuses
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.store import pagination, records, stores
from volary.tenancy import membership

_PAGE = 500
#: A calendar is believed for so long, by all who may see the same.
FRESH = timedelta(seconds=15)
#: Files that one question has read, and at the same time.
_MOST_READ, _AT_ONCE = 100, 2
#: Files that are remembered.
_MOST_KEPT = 4_000
#: Windows and troubles of an answer.
_MOST_ITEMS, _MOST_UNREAD = 2_000, 50
#: As whose file an application is known: its name and the commit.
_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class CalendarService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    answers: answer_cache.AnswerCache = field(default_factory=answer_cache.AnswerCache)
    _files: OrderedDict[_Key, applications.Application | str] = field(default_factory=OrderedDict)
    #: Answers that left something out.
    _questions: int = 0

    async def calendar(
        self, visible: frozenset[str] | None, *, application: str = "", days: int
    ) -> insight_representations.Calendar:
        """Return when nothing begins where, from now on for so many days.

        Args:
            visible: The applications that are looked at; None: every one.
            application: Only this one; empty: any.
            days: How many.
        """
        since = self.dependencies.clock.now()
        key = (visible, application, days)
        # While files have not been read, each question reads some more of them.
        moment = (answer_cache.moment_of(since, FRESH), self._questions)
        return await self.answers.get(
            key, moment, lambda: self._make(visible, application, since, days)
        )

    async def _make(
        self, visible: frozenset[str] | None, application: str, since: datetime, days: int
    ) -> insight_representations.Calendar:
        until = since + timedelta(days=days)
        known = await self._known(visible, application)
        unread = [each for each in known if _key(each) not in self._files]
        # Those that are read are bounded, so that nobody waits for all of them.
        await fan_out.run_all(unread[:_MOST_READ], self._read, at_once=_AT_ONCE)
        self._shorten()
        clusters, projects = self.dependencies.clusters.fleet, self.dependencies.projects()
        pending = max(0, len(unread) - _MOST_READ)
        calendar = await work_threads.run_many(
            known,
            "closed windows",
            self._calendar,
            known,
            (since, until),
            clusters,
            projects,
            pending,
        )
        if pending:
            self._questions += 1
        return calendar

    def _calendar(
        self,
        known: Sequence[records.ApplicationRecord],
        span: tuple[datetime, datetime],
        members: fleets.Fleet,
        projects: membership.Projects,
        pending: int,
    ) -> insight_representations.Calendar:
        since, until = span
        items: list[insight_representations.ClosedWindow] = []
        troubles: list[insight_representations.UnreadFile] = []
        for each in known:
            found = self._files.get(_key(each))
            if isinstance(found, str):
                troubles.append(insight_representations.UnreadFile(each.name, found))
            elif found is not None:
                clusters = fleet_checks.deployment_targets(found, members)
                project = projects.by_name.get(each.project)
                rules = run_waves.windows_of(found, project, clusters)
                windows = closed_windows.ApplicationWindows(each.name, clusters, found.waves, rules)
                items += closed_windows.closed(windows, since, until)
        items.sort(key=lambda window: (window.starts, window.application, window.reason))
        return insight_representations.Calendar(
            since,
            until,
            tuple(items[:_MOST_ITEMS]),
            max(0, len(items) - _MOST_ITEMS),
            tuple(troubles[:_MOST_UNREAD]),
            pending,
        )

    async def _known(
        self, visible: frozenset[str] | None, application: str
    ) -> Sequence[records.ApplicationRecord]:
        """Return the applications that have a commit whose file counts."""
        found = pagination.every(
            lambda cursor: self.store.applications.list(
                records.ApplicationFilter(), cursor=cursor, limit=_PAGE
            )
        )
        return [
            known
            async for known in found
            if application in ("", known.name)
            and (visible is None or known.name in visible)
            and not application_statuses.why_unreadable(known)
            and _commit(known)
        ]

    async def _read(self, known: records.ApplicationRecord) -> None:
        status = application_statuses.of_record(known)
        place = ready_runs.source_of(application_state.ApplicationState(known, status))
        key = _key(known)
        try:
            opened = await ready_runs.open_application(self.dependencies, place, key[-1])
        except errors.TemporaryError:
            return  # whoever asks again may have it
        except errors.UserError as error:
            masker = self.dependencies.secrets.masker(known.name)
            self._files[key] = masker.clean(refusals.sentence(error))
        except errors.VolaryError as error:
            self._files[key] = self.dependencies.secrets.masker(known.name).clean(str(error))
        else:
            self._files[key] = opened.application

    def _shorten(self) -> None:
        while len(self._files) > _MOST_KEPT:
            self._files.popitem(last=False)


def _commit(known: records.ApplicationRecord) -> str:
    """Return the commit whose file counts for what begins next; empty: there is none yet."""
    status = application_statuses.of_record(known)
    return status.wanted or status.releases.running or status.head


def _key(known: records.ApplicationRecord) -> _Key:
    return known.name, known.repository, known.path, _commit(known)
