"""How applications are in their clusters: read when somebody asks, shared, never waited for.

Nothing is polled. Whoever asks first reads, all who ask meanwhile wait for the same answer, and
for some seconds nobody reads again. Each cluster gets a moment; one that is silent is shown
with what was last known of it, and since when nothing was heard.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.clusters.client import client_pool
from volary.clusters.observe import live_state
from volary.concurrency import fan_out, work_threads
from volary.manifests.health import fleet_status
from volary.model import clocks, errors
from volary.model.objects import object_health, ownership

#: Clusters that are read at once for one application.
_MOST_AT_ONCE = 64
#: Applications whose last answer is kept.
_MOST = 2000


@dataclass(frozen=True, slots=True)
class Subject:
    """What is surveyed."""

    application: str
    #: Whose objects are read, in clusters that have not been asked yet.
    whose: live_state.ApplicationObjects
    #: The clusters it is for.
    targets: tuple[str, ...]
    #: Others where something of it may be left.
    others: tuple[str, ...] = ()
    #: The user's, of health.
    rules: tuple[object_health.Rule, ...] = ()
    #: Whose its objects are, by cluster, as it was found out.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: With which clients; None: those of the surveyor.
    clusters: client_pool.FleetClients | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What was seen, and when."""

    whole: fleet_status.FleetStatus
    at: datetime


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: Survey | None = None
    #: By cluster.
    reports: Mapping[str, fleet_status.ClusterReport] = field(default_factory=dict)


class Surveyor:
    """Reads clusters for whoever wants to see an application; one per process."""

    def __init__(
        self,
        clusters: client_pool.FleetClients,
        clock: clocks.Clock,
        *,
        memory: timedelta = timedelta(seconds=5),
        patience: timedelta = timedelta(seconds=5),
        hurry: timedelta = timedelta(seconds=1),
        is_away: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Make one whose answers are kept for `memory`.

        A cluster may take `patience`; one that was silent when it was asked last, or `is_away`,
        only `hurry`.
        """
        self._clusters = clusters
        self._clock = clock
        self._memory = memory
        self._patience = patience
        self._hurry = min(hurry, patience)
        self._is_away = is_away
        #: By project and application.
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    async def survey(
        self, name: str, subject: Callable[[], Awaitable[Subject]], *, project: str = ""
    ) -> Survey:
        """Return how an application is; `subject` is asked only when the clusters are read.

        What was seen on behalf of one project is not shown to another.

        Raises:
            VolaryError: as `subject` does; a cluster's trouble is part of the answer.
        """
        key = (project, name)
        entry = self._entries.setdefault(key, _Entry())
        self._entries.move_to_end(key)
        while len(self._entries) > _MOST:
            self._entries.popitem(last=False)
        # Whoever has the lock may be cancelled with their request; then the next one reads.
        async with entry.lock:
            now = self._clock.now()
            if entry.last is not None and timedelta() <= now - entry.last.at < self._memory:
                return entry.last
            survey = await self.look(await subject(), entry.reports)
            entry.reports = {cluster.cluster: cluster for cluster in survey.whole.clusters}
            entry.last = survey
            return survey

    async def look(
        self, subject: Subject, before: Mapping[str, fleet_status.ClusterReport] | None = None
    ) -> Survey:
        """Read every cluster now; `before` is what was known of each."""
        known = before or {}

        async def report(name: str) -> fleet_status.ClusterReport:
            last = known.get(name)
            was_silent = last is not None and bool(last.unreachable_reason)
            patience = self._hurry if was_silent or self._is_away(name) else self._patience
            cluster_report = await self._report(name, subject, patience.total_seconds())
            return _with_last_known(cluster_report, last)

        names = _ordered({*subject.targets, *subject.others}, self._clusters.fleet.names)
        reports = await fan_out.run_all(names, report, at_once=_MOST_AT_ONCE)
        return Survey(fleet_status.of_fleet(reports), self._clock.now())

    async def _report(
        self, name: str, subject: Subject, seconds: float
    ) -> fleet_status.ClusterReport:
        """Return one cluster's part; its trouble is part of the answer."""
        wanted = name in subject.targets
        clusters = subject.clusters or self._clusters
        member = clusters.member(name)
        unreachable_reason = ""
        state: fleet_status.ClusterStatus | None = None
        try:
            async with asyncio.timeout(seconds):
                client = await clusters.client(name)
                if isinstance(client, client_pool.Unavailable):
                    unreachable_reason = client.reason
                else:
                    seen = await live_state.read(
                        client,
                        replace(subject.whose, owner=subject.owners.get(name)),
                        namespaces=member.namespaces if member else (),
                        rules=subject.rules,
                    )
                    # Of users' rules a single one may take a while.
                    many = work_threads.EVERY if subject.rules else seen.live
                    state = await work_threads.run_many(
                        many,
                        f"judging the health of {subject.application}",
                        fleet_status.of_cluster,
                        seen.live,
                        seen.missing,
                        rules=subject.rules,
                        warnings=seen.warnings,
                        commit=seen.commit,
                    )
        except TimeoutError:
            unreachable_reason = f"it did not answer within {seconds:g} s"
        except errors.VolaryError as error:
            unreachable_reason = str(error)
        now = self._clock.now()
        if unreachable_reason:
            return fleet_status.ClusterReport(
                name, unreachable_reason=unreachable_reason, silent_since=now, wanted=wanted
            )
        return fleet_status.ClusterReport(name, state, now, wanted=wanted)


def _with_last_known(
    report: fleet_status.ClusterReport, before: fleet_status.ClusterReport | None
) -> fleet_status.ClusterReport:
    """Return a report with what was last known, where nothing is known now."""
    if not report.unreachable_reason or before is None:
        return report
    since = before.silent_since if before.unreachable_reason else before.seen
    return replace(
        report,
        state=before.state,
        seen=before.seen,
        silent_since=since or report.silent_since,
    )


def _ordered(names: set[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return names in the fleet's order, those that left it at the end."""
    return (*(name for name in known if name in names), *sorted(names - set(known)))
