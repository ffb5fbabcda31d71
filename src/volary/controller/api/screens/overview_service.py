"""The first screen: the part of the service that reads for it, once for all who look.

What is kept of applications is read once per change, whoever looks and however many they are.
What somebody sees of it is put together once for everybody who may see the same. Of runs only
those are read that wait for a person, and those that are shown as under way.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from volary.concurrency import single_flight
from volary.controller import refusals
from volary.controller.api import cluster_service
from volary.controller.api.screens import overview, overview_representations
from volary.controller.persistence import change_signal, shared_reading
from volary.engine.persistence import codec
from volary.engine.runs import rollback, state
from volary.model import clocks, errors
from volary.model.fleet import fleets
from volary.model.statuses import RunStatus
from volary.store import pagination, records, stores

#: Of each list at most; the rest is counted.
MOST_ATTENTION = 100
MOST_RUNNING = 50
#: Runs that wait of which it is read what for; the rest is counted as needing somebody.
_MOST_WAITING = 200
#: Seconds after which what was read counts no more though nothing was signalled: in the leader,
#: which hears of everything, and elsewhere.
_LIFETIME, _LIFETIME_UNHEARD = 10.0, 1.0
_PAGE = 500


#: Pages that are kept of one moment for an audience.
_MOST_PAGES = 64
Built = TypeVar("Built")
_Rows = records.Page[overview_representations.ApplicationRow]


@dataclass(frozen=True, slots=True)
class Audience:
    """Who may see the same."""

    #: Tells one audience from another.
    key: Hashable
    #: Says of labels and project whether an application may be seen; None: every one may.
    shows: Callable[[overview.ApplicationLine], bool] | None = None
    #: Clusters that may be seen besides those of the applications; None: all.
    clusters: frozenset[str] | None = None


EVERYBODY = Audience("everything")


@dataclass(slots=True)
class _Moment:
    """What was read at one moment, and what was put together from it since."""

    at: datetime
    lines: tuple[overview.ApplicationLine, ...]
    #: By id: those under way, and those that say more about trouble.
    summaries: dict[str, records.RunSummary]
    #: By application: the id of its run under way.
    under_way: dict[str, str]
    clusters: tuple[cluster_service.Cluster, ...]
    members: tuple[fleets.Cluster, ...]
    views: dict[Hashable, "_View"] = field(default_factory=dict)
    runs: dict[str, state.Run | None] = field(default_factory=dict)
    flight: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)


@dataclass(frozen=True, slots=True)
class _View:
    """What one audience sees at a moment."""

    lines: tuple[overview.ApplicationLine, ...]
    members: tuple[fleets.Cluster, ...]
    places: overview.Places
    shown: overview_representations.Overview
    #: By application: the kind of trouble it is in.
    troubles: dict[str, str]
    #: Pages of rows that somebody has asked for.
    pages: dict[Hashable, _Rows] = field(default_factory=dict)


@dataclass(slots=True)
class OverviewService:
    """See the module."""

    store: stores.Store
    clock: clocks.Clock
    fleet: cluster_service.ClusterService
    kept: change_signal.ChangeSignal
    #: What is seen in clusters.
    seen: overview.ClusterFacts = field(default_factory=overview.NothingSeen)
    _reading: shared_reading.SharedReading[_Moment] = field(init=False)
    #: By name: what was read of an application, with its version.
    _lines: dict[str, tuple[int, overview.ApplicationLine]] = field(
        default_factory=dict, init=False
    )
    #: By id: runs where nothing is carried out, with their version.
    _resting: dict[str, tuple[int, state.Run]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._reading = shared_reading.SharedReading(self._read, self.kept, self._lifetime)

    def _lifetime(self) -> float:
        return _LIFETIME if self.fleet.register.is_leader else _LIFETIME_UNHEARD

    async def get(self, audience: Audience) -> overview_representations.Overview:
        """Return the head of the first screen for an audience."""
        return (await self._view(await self._reading.get(), audience)).shown

    async def rows(
        self,
        audience: Audience,
        wanted: overview.Narrowing,
        *,
        cursor: str = "",
        limit: int = 100,
    ) -> _Rows:
        """Return applications with what of them runs where: trouble first, then by name.

        Raises:
            errors.UserError: The cursor is none of this list.
        """
        moment = await self._reading.get()
        view = await self._view(moment, audience)
        key = (audience.key, wanted, cursor, limit)
        if key in view.pages:
            return view.pages[key]

        async def build() -> _Rows:
            page = await self._page(moment, view, wanted, cursor, limit)
            if len(view.pages) >= _MOST_PAGES:
                view.pages.clear()
            view.pages[key] = page
            return page

        return await _once(moment.flight, key, build)

    async def _page(
        self, moment: _Moment, view: "_View", wanted: overview.Narrowing, cursor: str, limit: int
    ) -> _Rows:
        regions = overview.regions_of(view.members)
        keyed = sorted(
            (overview.row_key(line, view.troubles.get(line.name, "")), line)
            for line in view.lines
            if wanted.takes(line, regions)
        )
        if after := pagination.by_rank(cursor):
            keyed = [entry for entry in keyed if entry[0] > after]
        page = pagination.cut(keyed[: limit + 1], limit, lambda entry: entry[0])
        lines = [line for _, line in page.items]
        released = await self.store.runs.last_good_ends([line.name for line in lines])
        rows = [
            overview.row(
                line,
                await self._run_of(moment, line.name),
                view.places,
                released=released.get(line.name),
                seen=self.seen,
            )
            for line in lines
        ]
        return records.Page(tuple(rows), page.cursor)

    async def applications_on(self, audience: Audience, cluster: str) -> int:
        """Return how many applications of an audience are on a cluster.

        Raises:
            refusals.NotFound: They may not see it, or there is none of that name.
        """
        view = await self._view(await self._reading.get(), audience)
        if all(member.name != cluster for member in view.members):
            raise refusals.not_found("cluster", cluster)
        return sum(cluster in line.clusters for line in view.lines)

    async def commits_brought(self, cluster: str, applications: Iterable[str]) -> dict[str, str]:
        """Return the commits that runs under way have brought to a cluster, by application."""
        moment, brought = await self._reading.get(), {}
        for name in applications:
            run = await self._run_of(moment, name)
            if run is not None and cluster in rollback.clusters_promoted(run):
                brought[name] = run.commit
        return brought

    # What is read.

    async def _read(self) -> _Moment:
        at = self.clock.now()
        known = [
            record
            async for record in pagination.every(
                lambda cursor: self.store.applications.list(
                    records.ApplicationFilter(), cursor=cursor, limit=_PAGE
                )
            )
        ]
        before = self._lines
        self._lines = {record.name: (record.version, _line(record, before)) for record in known}
        lines = tuple(line for _, line in self._lines.values())
        unfinished = [
            summary
            async for summary in pagination.every(
                lambda cursor: self.store.runs.list(
                    records.RunFilter(statuses=overview.UNFINISHED), cursor=cursor, limit=_PAGE
                )
            )
        ]
        summaries = {summary.head.id: summary for summary in unfinished}
        asked = {line.asked_run for line in lines} - {"", *summaries}
        summaries |= await self.store.runs.summaries(asked)
        self._resting = {
            run_id: kept for run_id, kept in self._resting.items() if run_id in summaries
        }
        return _Moment(
            at,
            lines,
            summaries,
            {summary.head.application: summary.head.id for summary in reversed(unfinished)},
            await self.fleet.list(),
            self.fleet.register.members.clusters,
        )

    async def _run(self, moment: _Moment, run_id: str) -> state.Run | None:
        """Return a run under way; None: it cannot be read."""
        if run_id not in moment.runs:
            version = moment.summaries[run_id].version
            kept_version, resting = self._resting.get(run_id, (0, None))
            if resting is None or kept_version != version:
                resting = await self._load(run_id, version)
            moment.runs[run_id] = resting
        return moment.runs[run_id]

    async def _load(self, run_id: str, version: int) -> state.Run | None:
        stored = await self.store.runs.load(run_id)
        if stored is None:
            return None
        try:
            run = codec.read_run(stored)
        except errors.PermanentError:
            return None  # one that cannot be read hides no other
        if not run.current.is_busy and stored.version == version:
            # What clusters report while they work is not counted in the version.
            self._resting[run_id] = (version, run)
        return run

    async def _run_of(self, moment: _Moment, application: str) -> state.Run | None:
        run_id = moment.under_way.get(application, "")
        return await self._run(moment, run_id) if run_id else None

    # What somebody sees of it.

    async def _view(self, moment: _Moment, audience: Audience) -> "_View":
        if audience.key in moment.views:
            return moment.views[audience.key]

        async def build() -> _View:
            view = await self._build(moment, audience)
            moment.views[audience.key] = view
            return view

        return await _once(moment.flight, audience.key, build)

    async def _build(self, moment: _Moment, audience: Audience) -> _View:
        lines = tuple(
            line for line in moment.lines if audience.shows is None or audience.shows(line)
        )
        names = None
        if audience.clusters is not None:
            names = audience.clusters.union(*(line.clusters for line in lines))
        members = tuple(one for one in moment.members if names is None or one.name in names)
        attention, unread = await self._attention(moment, lines)
        targets = {
            line.name: overview.targets_of(moment.summaries[moment.under_way[line.name]])
            for line in lines
            if line.name in moment.under_way
        }
        attention += [
            needed
            for cluster in moment.clusters
            if names is None or cluster.name in names
            if (needed := overview.attention_of_cluster(cluster, lines, targets)) is not None
        ]
        attention.sort(key=overview.by_urgency)
        running, omitted = await self._running(moment, lines)
        places = overview.places_of(members)
        regions = overview.regions_of(members)
        shown = overview_representations.Overview(
            at=moment.at,
            sentence=overview.sentence(attention, len(lines), len(running) + omitted),
            attention=tuple(attention[:MOST_ATTENTION]),
            attention_omitted=max(0, len(attention) - MOST_ATTENTION) + unread,
            running=tuple(running),
            running_omitted=omitted,
            places=places.names,
            places_by=places.by,
            applications=len(lines),
            facets=overview.facets_of(lines, regions),
        )
        troubles = {one.application: one.kind for one in attention if one.application}
        return _View(lines, members, places, shown, troubles)

    async def _attention(
        self, moment: _Moment, lines: Iterable[overview.ApplicationLine]
    ) -> tuple[list[overview_representations.Attention], int]:
        """Return what applications want of a person, and of how many it was not read."""
        attention, waiting = [], 0
        for line in lines:
            summary = moment.summaries.get(moment.under_way.get(line.name, "") or line.asked_run)
            waits = summary is not None and summary.head.status is RunStatus.WAITING
            waiting += waits
            run = None
            if summary is not None and waits and waiting <= _MOST_WAITING:
                run = await self._run(moment, summary.head.id)
            needed = overview.attention_of(line, summary, run)
            if needed is not None:
                attention.append(needed)
        return attention, max(0, waiting - _MOST_WAITING)

    async def _running(
        self, moment: _Moment, lines: Sequence[overview.ApplicationLine]
    ) -> tuple[list[overview_representations.RunningRun], int]:
        """Return runs under way as lines, and how many there are besides."""
        ids = [moment.under_way[line.name] for line in lines if line.name in moment.under_way]
        summaries = sorted((moment.summaries[run_id] for run_id in ids), key=_by_beginning)
        shown = [
            overview.running_line(summary, await self._run(moment, summary.head.id))
            for summary in summaries[:MOST_RUNNING]
        ]
        return sorted(shown, key=overview.by_trouble), len(summaries) - len(shown)


async def _once(
    flight: single_flight.SingleFlight, key: Hashable, build: Callable[[], Awaitable[Built]]
) -> Built:
    """Return what is built, once for all who ask for the same at a time."""
    while True:
        done = await flight.do(key, "", build)
        if done is not None:
            return done.value


def _line(
    record: records.ApplicationRecord, before: dict[str, tuple[int, overview.ApplicationLine]]
) -> overview.ApplicationLine:
    """Return what is needed of an application; what has not changed is not read again."""
    version, line = before.get(record.name, (-1, None))
    if line is not None and version == record.version and not record.unreadable:
        return line
    return overview.of_record(record)


def _by_beginning(summary: records.RunSummary) -> tuple[bool, float]:
    """Return what runs are chosen by: those that take clusters back, then the newest."""
    is_back = summary.head.status is RunStatus.ROLLING_BACK
    return (not is_back, -(summary.head.started or summary.head.created).timestamp())
