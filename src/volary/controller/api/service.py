"""Everything people can see and ask for, without HTTP: what the server and tests stand on.

Reading comes straight from the store, so every process can answer. What changes something is
handed to the leader (see `command_client`) and recorded in the audit. Who may do what is
not decided here.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from msgspec import structs

from volary.concurrency import work_threads
from volary.controller import refusals
from volary.controller.agents import task_services
from volary.controller.api import (
    agent_service,
    audit_states,
    cluster_service,
    conversions,
    drift_service,
    live_service,
    placement_service,
    plan_representations,
    project_service,
    representations,
    server_service,
    status_service,
    worker_service,
    workspace_service,
)
from volary.controller.api.commands import command_client
from volary.controller.api.insights import calendar_service, insight_service
from volary.controller.api.screens import (
    action_service,
    cluster_facts,
    overview_service,
    rollback_previews,
)
from volary.controller.persistence import change_signal
from volary.controller.preview import previews
from volary.controller.runs import ready_runs, release_plans
from volary.controller.status import application_state, application_statuses, run_requests
from volary.controller.telemetry import run_metrics
from volary.engine.observers import explanations
from volary.engine.persistence import codec
from volary.model import errors, json
from volary.model.runs import run_plans
from volary.store import pagination, records, stores
from volary.tenancy import membership

_Page = records.Page
_POLL_SECONDS = 1.0
#: Whole, or as it is shown.
_HASH = re.compile(r"[0-9a-f]{7,40}")
#: Runs under way of a page of which it is read what each waits for.
_MOST_CAUSES = 20
#: How an application stands that has a run under way.
_UNDER_WAY = (
    application_statuses.StatusWord.RUNNING.value,
    application_statuses.StatusWord.WAITING.value,
)
_FORGOTTEN = "forgotten; what runs in the clusters stays there, and is no longer managed"


@dataclass(slots=True)
class Service:
    """See the module; made by `composition.open_controller`."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    asker: command_client.CommandClient
    audit_trail: command_client.AuditLog
    kept: change_signal.ChangeSignal
    #: Everything about clusters.
    fleet: cluster_service.ClusterService
    #: How applications are in their clusters.
    statuses: status_service.StatusService
    #: Where applications are.
    placements: placement_service.PlacementService
    #: What each team may do.
    projects: project_service.ProjectService
    #: What teams have on clusters.
    workspaces: workspace_service.WorkspaceService
    servers: server_service.ServerService
    #: What applications have in the clusters now.
    live: live_service.LiveService
    #: What is not as Git says.
    drift: drift_service.DriftService
    #: What runs beside clusters.
    agents: agent_service.AgentService
    #: What works with credentials of clusters, apart from servers.
    workers: worker_service.WorkerService
    #: Answers what their tasks ask for.
    tasks: task_services.TaskServices
    #: Runs as metrics, of this process.
    measures: run_metrics.RunMetrics = field(default_factory=run_metrics.RunMetrics)
    #: The first screen.
    overview: overview_service.OverviewService = field(init=False)
    #: What may be done next.
    actions: action_service.ActionService = field(init=False)
    #: Runs as figures.
    insights: insight_service.InsightService = field(init=False)
    #: When nothing begins.
    calendars: calendar_service.CalendarService = field(init=False)

    def __post_init__(self) -> None:
        store, dependencies = self.store, self.dependencies
        self.overview = overview_service.OverviewService(
            store,
            dependencies.clock,
            self.fleet,
            self.kept,
            cluster_facts.SeenFacts(self.live.live, self.drift.comparer),
        )
        self.live.comparison = self.drift
        self.actions = action_service.ActionService(store, dependencies, self.fleet.register)
        self.insights = insight_service.InsightService(store, dependencies.clock)
        self.calendars = calendar_service.CalendarService(store, dependencies)

    # Looking.

    def current_projects(self) -> membership.Projects:
        """Return which projects there are now."""
        return self.dependencies.projects()

    async def applications(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> _Page[representations.Application]:
        """Return applications by name."""
        page = await self.store.applications.list(wanted, cursor=cursor, limit=limit)
        shown = page.map(conversions.of_application)
        busy = [item.name for item in shown.items if item.status in _UNDER_WAY][:_MOST_CAUSES]
        caused = [
            await self._with_cause(item) if item.name in busy else item for item in shown.items
        ]
        return records.Page(tuple(caused), shown.cursor)

    async def every_application(
        self, wanted: records.ApplicationFilter
    ) -> AsyncIterator[representations.Application]:
        """Yield all applications by name."""
        async for known in pagination.every(
            lambda cursor: self.store.applications.list(wanted, cursor=cursor, limit=500)
        ):
            yield conversions.of_application(known)

    async def count_applications(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many applications there are by status, and their clusters by drift.

        Both are of one reading, since reading all of them is what it costs.
        """
        statuses: Counter[str] = Counter()
        drift: Counter[str] = Counter()
        async for known in pagination.every(
            lambda cursor: self.store.applications.list(
                records.ApplicationFilter(), cursor=cursor, limit=500
            )
        ):
            statuses[conversions.of_application(known).status] += 1
            drift.update(drift_service.count_clusters(known))
        return statuses, drift

    async def applications_and_clusters(
        self,
    ) -> AsyncIterator[tuple[representations.Application, frozenset[str]]]:
        """Yield all applications that are there by name, each with the clusters that it is on."""
        wanted = records.ApplicationFilter()
        async for known in pagination.every(
            lambda cursor: self.store.applications.list(wanted, cursor=cursor, limit=500)
        ):
            is_readable = not application_statuses.why_unreadable(known)
            there = application_statuses.of_record(known).present_on if is_readable else ()
            yield conversions.of_application(known), frozenset(there)

    async def applications_by_cluster(
        self,
    ) -> tuple[tuple[representations.Application, frozenset[str]], ...]:
        """Return what `applications_and_clusters` yields, as it was within the last second.

        Read once for all who ask meanwhile: it takes as long as there are applications.
        """

        async def make() -> tuple[tuple[representations.Application, frozenset[str]], ...]:
            return tuple([each async for each in self.applications_and_clusters()])

        moment = (await self.position(), self.kept.count, int(asyncio.get_running_loop().time()))
        return await self.insights.answers.get("applications by cluster", moment, make)

    async def applications_on(
        self, cluster: str
    ) -> list[tuple[representations.Application, cluster_service.ClusterApplication]]:
        """Return the applications on a cluster by name, each with what it has there."""
        found: list[tuple[representations.Application, cluster_service.ClusterApplication]] = []
        async for known in pagination.every(
            lambda cursor: self.store.applications.list(
                records.ApplicationFilter(), cursor=cursor, limit=500
            )
        ):
            if application_statuses.why_unreadable(known):
                continue
            status = application_statuses.of_record(known)
            if cluster in status.present_on:
                shown = conversions.of_cluster_application(known, status, cluster)
                found.append((conversions.of_application(known), shown))
        return found

    async def application(self, name: str) -> representations.Application:
        """Return one application.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        return await self._with_cause(conversions.of_application(await self._application(name)))

    async def commits(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> _Page[representations.Commit]:
        """Return an application's commits, the last seen first."""
        page = await self.store.commits.list(application, cursor=cursor, limit=limit)
        return page.map(conversions.of_commit)

    async def runs(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> _Page[representations.RunSummary]:
        """Return runs, the newest first."""
        page = await self.store.runs.list(wanted, cursor=cursor, limit=limit)
        under_way = [item.head.id for item in page.items if item.head.finished is None]
        causes = {run_id: await self._cause(run_id) for run_id in under_way[:_MOST_CAUSES]}
        shown = page.map(conversions.of_summary)
        return records.Page(
            tuple(
                structs.replace(item, reason=causes.get(item.id, item.reason))
                for item in shown.items
            ),
            shown.cursor,
        )

    async def run_summary(self, run_id: str) -> representations.RunSummary:
        """Return a run as lists show it.

        Raises:
            refusals.NotFound: There is none of that id.
        """
        return conversions.of_summary(await self._summary(run_id))

    async def run(self, run_id: str) -> representations.Run:
        """Return a whole run: stages, tasks, what it waits for, what comes next.

        Raises:
            refusals.NotFound: There is none of that id.
            refusals.Conflict: What is stored of it cannot be read.
        """
        stored = refusals.required(await self.store.runs.load(run_id), "run", run_id)
        known = await self.store.applications.get(stored.head.application)
        approvals = await self.store.runs.approvals(run_id)
        try:
            return conversions.of_run(stored, approvals, known)
        except errors.PermanentError as error:
            raise refusals.conflict(
                str(error), hint=f"`volary abandon {run_id}` ends it as it is, if it has not ended"
            ) from error

    async def events(
        self, run_id: str, after: int = 0, *, limit: int = 500
    ) -> tuple[representations.Event, ...]:
        """Return a run's events after the one with that number, in order."""
        events = await self.store.events.after(run_id, after, limit=limit)
        return tuple(map(conversions.of_event, events))

    async def all_events(
        self, after: int = 0, *, applications: Collection[str] | None = None, limit: int = 500
    ) -> tuple[representations.Event, ...]:
        """Return events of some applications' runs, None: of all, after a position, in order."""
        events = await self.store.events.all_after(after, applications=applications, limit=limit)
        return tuple(map(conversions.of_event, events))

    async def logs(
        self,
        run_id: str,
        *,
        stage: str = "",
        target: str = "",
        after: int = 0,
        limit: int = 500,
    ) -> tuple[representations.LogLine, ...]:
        """Return lines of a run's logs after a position, in order."""
        lines = await self.store.logs.after(run_id, after, stage=stage, target=target, limit=limit)
        return tuple(map(conversions.of_line, lines))

    async def findings(
        self,
        run_id: str,
        *,
        wanted: records.FindingFilter | None = None,
        after: int = 0,
        limit: int = 500,
    ) -> tuple[representations.Finding, ...]:
        """Return what a run's analyses found after a position, in order."""
        findings = await self.store.findings.after(run_id, after, wanted=wanted, limit=limit)
        return tuple(map(conversions.of_finding, findings))

    async def audit(
        self,
        wanted: records.AuditFilter,
        *,
        oldest_first: bool = False,
        cursor: str = "",
        limit: int = 50,
    ) -> _Page[representations.AuditEntry]:
        """Return what was done, the newest first unless the oldest is wanted first."""
        page = await self.store.audit.list(
            wanted, oldest_first=oldest_first, cursor=cursor, limit=limit
        )
        return page.map(conversions.of_audit)

    async def audit_head(self) -> representations.AuditHead:
        """Return where the audit's chain ends."""
        head = await self.store.audit.head()
        return representations.AuditHead(head.position, head.hash)

    async def position(self) -> int:
        """Return the position of the newest event of all; 0 when there was never one."""
        return await self.store.events.position()

    async def changed(self, seconds: float) -> None:
        """Return when something may have changed, at the latest after `seconds`.

        In the leader at once; elsewhere nothing wakes anybody early.
        """
        await self.kept.wait(seconds)

    async def changes(self) -> AsyncIterator[int]:
        """Yield the position of the newest event whenever something may have changed.

        In the leader at once, elsewhere within a second; the same position
        again when only a task's progress or an application changed.
        """
        position, beats = -1, -1
        while True:
            now = await self.position()
            if now != position or self.kept.count != beats:
                position, beats = now, self.kept.count
                yield position
            if self.kept.count == beats:
                await self.changed(_POLL_SECONDS)

    # Asking about an application.

    async def plan(
        self,
        application: str,
        asker: representations.Actor,
        *,
        commit: str = "",
        strategy: str = "",
        grouped: bool = False,
    ) -> plan_representations.Plan:
        """Return what a sync would do now; writes nothing but that somebody asked.

        `grouped` leaves the objects out of each cluster: the groups of clusters have them.

        Raises:
            refusals.NotFound: There is no such application.
            errors.UserError: Something has to be mended first.
            errors.TemporaryError: The host of its repository cannot be asked now.
        """
        known = await self._application(application)
        async with self.audit_trail.noting(
            asker, "application.plan", application=application, document={"commit": commit}
        ):
            planned = await self._plan(known, commit, release_plans.parse_strategy(strategy))
        if not grouped:
            return planned
        clusters = (structs.replace(cluster, objects=()) for cluster in planned.clusters)
        return structs.replace(planned, clusters=tuple(clusters))

    async def plan_rollback(
        self, application: str, asker: representations.Actor, *, to: str
    ) -> rollback_previews.RollbackPreview:
        """Return what going back to a commit, or to that of a run, would change now.

        It asks the clusters, and writes nothing but that somebody asked.

        Raises:
            refusals.NotFound: There is no such application.
            errors.UserError: Nothing is named, or something has to be mended first.
            errors.TemporaryError: The host of its repository cannot be asked now.
        """
        known = await self._application(application)
        if not to:
            raise errors.user_error(
                "what is taken back is planned when it begins: say a commit or a run",
                hint=f"`volary rollback {application} --to REV --dry-run`",
            )
        async with self.audit_trail.noting(
            asker,
            "application.rollback",
            application=application,
            document={"to": to, "dryRun": True},
        ):
            run = await self.store.runs.summary(to)
            commit = run.head.commit if run and run.head.application == application else to
            kind = run_requests.KindName.ROLLBACK_TO_COMMIT
            planned = await self._plan(known, commit, run_plans.Strategy.QUICK_SYNC, kind)
        return rollback_previews.of_plan(planned)

    async def fetch(self, application: str) -> representations.Fetched:
        """Ask the host of an application's repository now; what is new is looked at soon.

        Raises:
            refusals.NotFound: There is no such application.
            errors.UserError: Its repository or its branch is gone.
            errors.TemporaryError: The host cannot be asked now.
        """
        known = await self._application(application)
        repositories = self.dependencies.repositories
        return representations.Fetched(await repositories.fetch_head(known.repository))

    async def sync(
        self,
        application: str,
        asker: representations.Actor,
        *,
        commit: str = "",
        strategy: str = "",
    ) -> representations.Accepted:
        """Ask for a run to a commit; empty: the newest, which the host is asked for first.

        Raises:
            refusals.NotFound: There is no such application.
            refusals.Conflict: It does not take commands, or the commit does not exist.
        """
        release_plans.parse_strategy(strategy)
        return await self.ask_application(
            "sync", application, asker, commit=commit, strategy=strategy
        )

    async def ask_application(
        self, kind: str, application: str, asker: representations.Actor, **options: object
    ) -> representations.Accepted:
        """Ask for something about an application, such as ``pause``, ``resume`` or ``rollback``.

        `command_handler` says which kinds there are, and what their options mean.

        Raises:
            refusals.NotFound: There is no such application.
            refusals.Conflict: It cannot take this as it stands; says why.
        """
        run = await self._ask_application(kind, application, asker, options)
        known = conversions.of_application(await self._application(application))
        if known.waiting is not None and known.waiting.run == run:
            return representations.Accepted(run, known.waiting.waiting_reason)
        return representations.Accepted(known.run or run, known.paused or known.reason)

    async def forget_application(
        self, application: str, asker: representations.Actor, *, reason: str
    ) -> representations.Accepted:
        """Drop what is kept of one whose file is gone; nothing changes in any cluster.

        Raises:
            refusals.NotFound: There is no such application.
            refusals.Conflict: Its file is there, or a run of it is under way.
        """
        await self._ask_application("forget", application, asker, {"reason": reason})
        return representations.Accepted("", _FORGOTTEN)

    async def ask_run(
        self, kind: str, run_id: str, asker: representations.Actor, **options: object
    ) -> representations.Accepted:
        """Ask for something about a run, such as ``approve``, ``pause`` or ``skip``.

        `command_handler` says which kinds there are, and what their options mean. All but pause,
        cancel and abandon need `seen`: where the run was when the person looked.

        Raises:
            refusals.NotFound: There is no such run.
            refusals.Conflict: It cannot take this as it stands; says why.
        """
        before = await self._summary(run_id)
        name = before.head.application
        async with self.audit_trail.noting(
            asker, f"run.{kind}", application=name, run=run_id, document=options
        ) as change:
            change.before = audit_states.of_run(before)
            await self.asker.ask(
                kind, asker.by, application=name, run=run_id, document=options, key=asker.key
            )
            after = await self._summary(run_id)
            change.after = audit_states.of_run(after)
        return representations.Accepted(run_id, after.head.reason)

    # Inside.

    async def _ask_application(
        self, kind: str, application: str, asker: representations.Actor, document: json.JsonObject
    ) -> str:
        # Whoever asks again for what made it go gets the answer that was given.
        if not await self.asker.has_asked(asker.by, asker.key, application):
            await self._application(application)
        applications = self.store.applications
        async with self.audit_trail.noting(
            asker, f"application.{kind}", application=application, document=document
        ) as change:
            change.before = audit_states.of_application(await applications.get(application))
            run = await self.asker.ask(
                kind, asker.by, application=application, document=document, key=asker.key
            )
            change.after = audit_states.of_application(await applications.get(application))
        return run

    async def _plan(
        self,
        known: records.ApplicationRecord,
        commit: str,
        strategy: run_plans.Strategy | None,
        kind: run_requests.KindName = run_requests.KindName.RELEASE,
    ) -> plan_representations.Plan:
        status = application_statuses.of_record(known)
        run_request = run_requests.RunRequest(
            id="plan",
            commit=await self._commit_of(known.repository, commit),
            kind=kind,
            reason="plan",
            at=self.dependencies.clock.now(),
            strategy=strategy,
        )
        application = application_state.ApplicationState(known, status)
        masker = self.dependencies.secrets.masker(known.name)
        work_threads.claim(known.repository)
        try:
            dependencies = self.dependencies.acting_for(known.project)
            prepared = await release_plans.plan(dependencies, application, run_request)
            shown = await previews.preview_run(
                prepared,
                dependencies.clusters,
                masker=masker,
                patience=self.dependencies.patience,
            )
        except errors.UserError as error:
            # Its kind tells the answer, and the others of its family hold no values.
            if type(error) is not errors.UserError:
                raise
            raise masker.clean_error(error) from None
        return conversions.of_plan(shown)

    async def _commit_of(self, repository: str, named: str) -> str:
        """Return the commit that is named; one by its hash as it is, and what is new is fetched."""
        repositories = self.dependencies.repositories
        if not named:
            return await repositories.fetch_head(repository)
        is_hash = _HASH.fullmatch(named) is not None
        return named if is_hash else await repositories.find(repository, named)

    async def _application(self, name: str) -> records.ApplicationRecord:
        return refusals.required(await self.store.applications.get(name), "application", name)

    async def _with_cause(self, shown: representations.Application) -> representations.Application:
        """Return an application with what its run under way waits for, if there is one."""
        summary = await self.store.runs.summary(shown.run) if shown.run else None
        if summary is None or summary.head.finished is not None:
            return shown
        cause, status = await self._cause(shown.run), summary.head.status.value
        return structs.replace(shown, cause=cause, run_status=status)

    async def _cause(self, run_id: str) -> str:
        """Return what a run under way waits for, with the cluster and what is seen there."""
        stored = refusals.required(await self.store.runs.load(run_id), "run", run_id)
        try:
            return explanations.waiting_reason(codec.read_run(stored))
        except errors.PermanentError:
            # One that cannot be read hides no other.
            return stored.head.reason

    async def _summary(self, run_id: str) -> records.RunSummary:
        return refusals.required(await self.store.runs.summary(run_id), "run", run_id)
