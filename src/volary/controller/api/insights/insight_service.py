"""What people see of runs as figures: the part of the service that reads them from the store.

What many ask for at a time is read once, and kept until something new has happened. Everything
read is bounded, and what is left out is counted in the answer.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta

from volary.concurrency import work_threads
from volary.controller import refusals
from volary.controller.api import (
    analysis_representations,
    conversions,
    insight_representations,
)
from volary.controller.api.insights import (
    analysis_charts,
    answer_cache,
    delivery_figures,
    run_comparisons,
    run_marks,
    traffic_charts,
)
from volary.engine.persistence import codec
from volary.model import clocks, errors
from volary.model.runs import run_records
from volary.store import pagination, records, stores

#: Findings of a run that are read for its charts, the newest.
_MOST_FINDINGS = 50_000
#: Events about traffic of a run that are read.
_MOST_EVENTS = 20_000
#: Verdicts, and decisions of people, of which there are marks: the newest.
_MOST_MARKS = 500
#: Runs whose events are remembered as far as they were read.
_MOST_STORIES = 32
#: Pauses of an application that are looked through for those of a run.
_MOST_PAUSES = 50
#: Runs that figures are made of, the newest.
_MOST_RUNS = 20_000
_PAGE = 1_000
#: Figures of delivery are believed for so long, unless a run ends meanwhile.
FRESH = timedelta(minutes=1)


@dataclass(slots=True)
class InsightService:
    """See the module."""

    store: stores.Store
    clock: clocks.Clock
    answers: answer_cache.AnswerCache = field(default_factory=answer_cache.AnswerCache)
    #: How far the events of runs were read for their marks.
    _stories: OrderedDict[str, run_marks.Story] = field(default_factory=OrderedDict)

    async def analysis(
        self, run_id: str, *, stage: str = "", cluster: str = ""
    ) -> analysis_representations.RunAnalysis:
        """Return what a run measured, of one stage or cluster where one is given.

        Raises:
            refusals.NotFound: There is no such run.
        """
        summary = refusals.required(await self.store.runs.summary(run_id), "run", run_id)
        wanted = records.FindingFilter(stage=stage, target=cluster)
        after, last, omitted = await self.store.findings.newest(run_id, wanted, _MOST_FINDINGS)

        async def make() -> analysis_representations.RunAnalysis:
            found: list[records.Finding] = []
            position = after
            while page := await self.store.findings.after(
                run_id, position, wanted=wanted, limit=_PAGE
            ):
                found += page
                position = page[-1].position
                if position >= last:
                    break
            rules = await self._rules(run_id)
            return await work_threads.run_many(
                found,
                "charts of what was measured",
                analysis_charts.chart,
                run_id,
                found,
                rules,
                omitted=omitted,
            )

        # A stage may end without a further finding.
        moment = (after, last, summary.version)
        return await self.answers.get(("analysis", run_id, stage, cluster), moment, make)

    async def traffic(self, run_id: str) -> analysis_representations.RunTraffic:
        """Return how a run moved traffic.

        Raises:
            refusals.NotFound: There is no such run.
        """
        summary = refusals.required(await self.store.runs.summary(run_id), "run", run_id)

        async def make() -> analysis_representations.RunTraffic:
            events: list[records.FeedEvent] = []
            number = 0
            while len(events) < _MOST_EVENTS and (
                page := await self.store.events.after(
                    run_id, number, names=(traffic_charts.EVENT,), limit=_PAGE
                )
            ):
                events += page
                number = page[-1].number
            return traffic_charts.chart(run_id, events)

        return await self.answers.get(("traffic", run_id), summary.version, make)

    async def marks(self, run_id: str) -> run_marks.RunMarks:
        """Return what marks the time line of a run: decisions, traffic, verdicts, lost clusters.

        Raises:
            refusals.NotFound: There is no such run.
        """
        summary = refusals.required(await self.store.runs.summary(run_id), "run", run_id)
        verdicts = records.FindingFilter(kind="verdict")
        after, last, _ = await self.store.findings.newest(run_id, verdicts, _MOST_MARKS)

        async def make() -> run_marks.RunMarks:
            # From where it was read last: a long run has very many events.
            story = self._stories.pop(run_id, None) or run_marks.Story()
            while page := await self.store.events.after(
                run_id, story.number, names=run_marks.EVENTS, limit=_PAGE
            ):
                story = run_marks.go_on(story, page)
            self._stories[run_id] = story
            while len(self._stories) > _MOST_STORIES:
                self._stories.popitem(last=False)
            concluded = await self.store.findings.after(
                run_id, after, wanted=verdicts, limit=_MOST_MARKS
            )
            approvals = await self.store.runs.approvals(run_id)
            decisions = await self._decisions(summary)
            return run_marks.marks(run_id, story, approvals, decisions, concluded)

        return await self.answers.get(("marks", run_id), (summary.version, last), make)

    async def _decisions(self, summary: records.RunSummary) -> list[records.AuditRecord]:
        """Return what people asked of a run, and of its application while it went on."""
        head = summary.head
        of_run = records.AuditFilter(run_id=head.id)
        found = list((await self.store.audit.list(of_run, limit=_MOST_MARKS)).items)
        for action in ("application.pause", "application.resume"):
            wanted = records.AuditFilter(application=head.application, action=action)
            page = await self.store.audit.list(wanted, limit=_MOST_PAUSES)
            found += (
                entry
                for entry in page.items
                if head.created <= entry.at and (head.finished is None or entry.at <= head.finished)
            )
        return found

    async def comparison(self, run_id: str, before: str) -> analysis_representations.RunComparison:
        """Return what differs between a run and another one of its application.

        Raises:
            refusals.NotFound: There is no such run, or the other one is of another application.
            refusals.Conflict: What is stored of one of them cannot be read.
        """
        after_run, before_run = await self._stored(run_id), await self._stored(before)
        if after_run.head.application != before_run.head.application:
            # Not that it is there: who may see one application may not know of another.
            raise refusals.not_found("run", before)
        try:
            shown = [conversions.of_run(each, ()) for each in (before_run, after_run)]
        except errors.PermanentError as error:
            raise refusals.conflict(str(error)) from error
        return run_comparisons.compare(*shown)

    async def delivery(
        self,
        visible: frozenset[str] | None,
        *,
        project: str = "",
        application: str = "",
        days: int,
    ) -> insight_representations.Insights:
        """Return the figures of delivery.

        Args:
            visible: The applications that count; None: every one.
            project: Only those of this project; empty: of any.
            application: Only this one; empty: any.
            days: How many days, today among them.
        """
        names = await self._applications(visible, project, application)
        until = self.clock.now()
        since = delivery_figures.first_day(until, days)

        async def make() -> insight_representations.Insights:
            ended, omitted = await self.store.runs.ended(since, applications=names, most=_MOST_RUNS)
            return await work_threads.run_many(
                ended,
                "figures of delivery",
                delivery_figures.count,
                ended,
                since,
                until,
                project=project,
                application=application,
                omitted=omitted,
            )

        # What happens within runs changes no figure, only their ends do.
        moment = (await self.store.runs.newest_end(), answer_cache.moment_of(until, FRESH))
        return await self.answers.get(("delivery", names, project, application, days), moment, make)

    async def _applications(
        self, visible: frozenset[str] | None, project: str, application: str
    ) -> frozenset[str] | None:
        names = visible
        if application:
            names = frozenset({application}) if names is None else names & {application}
        if not project:
            return names
        wanted = records.ApplicationFilter(project=project, with_removed=True)
        of_project = {
            known.name
            async for known in pagination.every(
                lambda cursor: self.store.applications.list(wanted, cursor=cursor, limit=_PAGE)
            )
        }
        return frozenset(of_project if names is None else names & of_project)

    async def _rules(self, run_id: str) -> analysis_charts.Rules | None:
        """Return what a run was to measure; None: what is stored of it cannot be read."""
        stored = await self.store.runs.load(run_id)
        if stored is None:
            return None
        try:
            return analysis_charts.rules_of(codec.read_run(stored))
        except errors.PermanentError:
            return None

    async def _stored(self, run_id: str) -> run_records.StoredRun:
        return refusals.required(await self.store.runs.load(run_id), "run", run_id)
