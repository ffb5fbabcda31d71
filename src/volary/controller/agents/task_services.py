"""Answers what the tasks of agents ask for, each for its own clusters alone.

An agent may ask about runs that have one of its clusters as a target, and its rows are those of
that cluster. Any server answers, from the store. What tasks of a stage say to each other goes
through the leader, which has the run open: any other server says that it has not.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.agents.tasks import meeting_values, services
from volary.analysis.metering import meters
from volary.controller import refusals
from volary.controller.agents import run_orders, run_questions
from volary.controller.persistence import redaction
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.manifests import redaction as manifest_redaction
from volary.model import analysis, clocks, errors, json, statuses
from volary.model.runs import run_records
from volary.stages.judgement import findings
from volary.stages.runtime import rendezvouses, task_states
from volary.store import records, stores

#: Rows of the store that are read at once.
_PAGE = 500
#: Seconds that an answer waits for something new to tell at most, and for more of it then.
_LONGEST_WAIT, _GATHERED = 10.0, 0.05
#: Seconds after which somebody counts as gone who says nothing.
_MISSED = 60.0
#: How long after the end of a run its tasks may still say something.
_LAST_WORDS = timedelta(minutes=10)
#: Clusters of runs that are known to be their targets, which never changes.
_MOST_TARGETS = 50_000


@dataclass(slots=True)
class TaskServices:
    """Answers one agent or many."""

    store: stores.Store
    clock: clocks.Clock
    meter: meters.Meter
    secrets: redaction.SecretValues
    apart: run_orders.ApartTasks
    #: Who is present from elsewhere, until when.
    _present: dict[tuple[str, str], asyncio.TimerHandle] = field(default_factory=dict)
    _targets: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    _questions: run_questions.RunQuestions = field(init=False)

    def __post_init__(self) -> None:
        """Know nothing of any run yet."""
        self._questions = run_questions.RunQuestions(self.store)

    async def artifact(self, clusters: Collection[str], digest: str, target: str) -> bytes:
        """Return an artifact for one of the agent's clusters.

        Raises:
            refusals.NotFound: There is none.
        """
        found = None
        if target in clusters:
            found = await self.store.artifacts.body(digest, target)
        return refusals.required(found, "artifact", digest)

    async def admit(self, clusters: Collection[str], place: task_states.TaskAttempt) -> None:
        """Agree that a task is carried out: the run, as it is stored, has it under way.

        A task without a stage is what follows a run that has ended well.

        Raises:
            refusals.NotFound: There is no such run.
            refusals.Conflict: The run has no such task under way.
        """
        head = await self._run(clusters, place.run, place.target)
        under_way = (
            await self.store.runs.has_task_under_way(
                place.run, place.stage, place.target, place.attempt
            )
            if place.stage
            else head.status in statuses.GOOD_ENDS
        )
        if not under_way:
            what = place.stage or "what follows its end"
            raise refusals.conflict(f"{what} on {place.target} is not under way in run {place.run}")

    async def load(
        self, clusters: Collection[str], place: task_states.TaskAttempt
    ) -> json.JsonObject:
        """Return what a task saved last."""
        await self._run(clusters, place.run, place.target)
        return await self.store.memories.load(_key(place))

    async def save(
        self,
        clusters: Collection[str],
        place: task_states.TaskAttempt,
        document: json.JsonObject,
    ) -> None:
        """Keep what a task saves."""
        await self._unfinished(clusters, place.run, place.target)
        await self.store.memories.save(_key(place), document, fence=None)

    async def found(
        self, clusters: Collection[str], place: task_states.TaskAttempt
    ) -> list[json.JsonObject]:
        """Return the measurements that an attempt reported before, in their order."""
        await self._run(clusters, place.run, place.target)
        wanted = records.FindingFilter(
            stage=place.stage, target=place.target, kind=findings.MEASUREMENT
        )
        documents: list[json.JsonObject] = []
        position = 0
        while True:
            page = await self.store.findings.after(place.run, position, wanted=wanted, limit=_PAGE)
            documents += [one.document for one in page if one.attempt == place.attempt]
            if len(page) < _PAGE:
                return documents
            position = page[-1].position

    async def recall(
        self, clusters: Collection[str], run: str, target: str, name: str
    ) -> json.JsonObject:
        """Return what an earlier run of the application kept for the cluster."""
        head = await self._run(clusters, run, target)
        return await self.store.memories.recall(head.application, target, name)

    async def keep(
        self, clusters: Collection[str], run: str, target: str, name: str, document: json.JsonObject
    ) -> None:
        """Keep something for later runs of the application on the cluster."""
        head = await self._unfinished(clusters, run, target)
        await self.store.memories.keep(head.application, target, name, document, fence=None)

    async def report_all(
        self, clusters: Collection[str], reports: Sequence[services.Report], *, by: str
    ) -> list[str]:
        """Keep what tasks of several runs said; return why that of each is refused; empty: kept."""

        async def keep(report: services.Report) -> str:
            try:
                await self.report(clusters, report, by=by)
            except errors.UserError as error:
                return str(error)
            return ""

        return await asyncio.gather(*map(keep, reports))

    async def report(self, clusters: Collection[str], report: services.Report, *, by: str) -> None:
        """Keep what tasks of a run said.

        What may have been kept already is not kept twice.

        Raises:
            refusals.NotFound: The agent may not speak of such a run.
            refusals.Conflict: It has ended long ago.
        """
        run, said = report.run, report.said
        if not said:
            return
        for target in {one.target for one in said}:
            await self._check_target(clusters, run, target)
        head = await self._run(clusters, run, said[0].target)
        if head.finished is not None and self.clock.now() > head.finished + _LAST_WORDS:
            raise refusals.conflict(f"run {run} has ended")
        masker = self.secrets.masker(head.application)
        lines = [_line(run, event, masker) for event in said if isinstance(event, feed.TaskLogged)]
        if report.again:
            lines = await self._unknown(run, lines)
        await self.store.logs.append(lines, fence=None)
        await self.store.findings.append(
            [_finding(run, event, masker) for event in said if isinstance(event, feed.TaskFinding)],
            fence=None,
        )
        for event in said:
            if isinstance(event, feed.TaskTookOver):
                await self._note(head.application, run, event, by)

    async def _unknown(self, run: str, lines: Sequence[records.LogLine]) -> list[records.LogLine]:
        """Return those lines that are not kept yet."""
        known: set[tuple[object, ...]] = set()
        for stage, target in {(line.stage, line.target) for line in lines}:
            position = 0
            while page := await self.store.logs.after(
                run, position, stage=stage, target=target, limit=_PAGE
            ):
                known |= {_identity(line) for line in page}
                position = page[-1].position
        return [line for line in lines if _identity(line) not in known]

    async def _note(self, application: str, run: str, event: feed.TaskTookOver, by: str) -> None:
        await self.store.audit.write(
            records.AuditRecord(
                at=event.at,
                by=by,
                action="object.taken-over",
                result="ok",
                application=application,
                run_id=run,
                document={
                    "cluster": event.target,
                    "object": event.object,
                    "from": event.claimant,
                },
            )
        )

    async def measure(
        self, clusters: Collection[str], run_id: str, question: meters.Question
    ) -> analysis.Measurement:
        """Ask a system of metrics what a stage of the run asks, and nothing else.

        Raises:
            refusals.Conflict: No stage of the run has that rule, or it is about something else.
        """
        known = await self._questions.of(run_id)
        # One that compares with clusters without the release asks about those as well.
        if not known.targets.intersection(clusters) or question.target not in known.targets:
            raise refusals.not_found("run", run_id)
        if not known.has(question):
            raise refusals.conflict("no stage of the run asks that")
        return await self.meter.measure(question)

    async def measure_all(
        self, clusters: Collection[str], run_id: str, questions: Sequence[meters.Question]
    ) -> list[analysis.Measurement]:
        """Ask several questions at a time; what is refused is an answer that says so."""

        async def measure(question: meters.Question) -> analysis.Measurement:
            try:
                return await self.measure(clusters, run_id, question)
            except errors.VolaryError as error:
                return question.failure(str(error))

        return await asyncio.gather(*map(measure, questions))

    async def meet(
        self,
        clusters: Collection[str],
        meetings: Sequence[services.Meeting],
        *,
        wait: float = 0.0,
    ) -> list[services.Met]:
        """Take what tasks say to the others of their stages, and return what they say.

        With `wait` the answer waits up to so many seconds until others have said something at any
        of them; not where one of them has to be asked for elsewhere.
        """
        places = [await self._place(clusters, meeting) for meeting in meetings]
        heard: list[tuple[rendezvouses.Rendezvous, services.Meeting]] = []
        for place, meeting in zip(places, meetings, strict=True):
            if isinstance(place, rendezvouses.Rendezvous):
                self._take(place, meeting)
                heard.append((place, meeting))
        if wait > 0 and len(heard) == len(meetings):
            await _until_news(heard, min(wait, _LONGEST_WAIT))
        return [
            place if isinstance(place, services.Met) else _met(place, meeting)
            for place, meeting in zip(places, meetings, strict=True)
        ]

    async def _place(
        self, clusters: Collection[str], meeting: services.Meeting
    ) -> rendezvouses.Rendezvous | services.Met:
        """Return where tasks of a stage meet, or why they do not."""
        targets = {*meeting.said, *meeting.left, *meeting.listening}
        try:
            for target in targets:
                await self._check_target(clusters, meeting.run, target)
        except refusals.NotFound as error:
            return services.Met(trouble=str(error), is_refused=True)
        performer = self.apart.open_runs.get(meeting.run)
        if performer is None or not targets:
            return services.Met(trouble=f"run {meeting.run} is not open in this server")
        return performer.rendezvous(meeting.stage)

    def _take(self, place: rendezvouses.Rendezvous, meeting: services.Meeting) -> None:
        for target, said in meeting.said.items():
            self._attend(place, target)
            place.join(target)
            for topic, document in said.items():
                value = meeting_values.read(document)
                if value is not None:
                    place.post(target, topic, value)
        for target in meeting.listening:
            # Who was missed, or has left meanwhile, comes only by saying so.
            if (place.id, target) in self._present:
                self._attend(place, target)
        for target in meeting.left:
            waiting = self._present.pop((place.id, target), None)
            if waiting is not None:
                waiting.cancel()
            place.leave(target)

    def _attend(self, place: rendezvouses.Rendezvous, target: str) -> None:
        key = (place.id, target)
        waiting = self._present.pop(key, None)
        if waiting is not None:
            waiting.cancel()
        loop = asyncio.get_running_loop()
        self._present[key] = loop.call_later(_MISSED, self._miss, place, target)

    def _miss(self, place: rendezvouses.Rendezvous, target: str) -> None:
        self._present.pop((place.id, target), None)
        place.leave(target)

    async def _run(
        self, clusters: Collection[str], run_id: str, target: str
    ) -> run_records.RunHead:
        """Return the head of a run that has a cluster of the agent as a target.

        Raises:
            refusals.NotFound: There is no such run.
        """
        await self._check_target(clusters, run_id, target)
        summary = await self.store.runs.summary(run_id)
        return refusals.required(summary, "run", run_id).head

    async def _check_target(self, clusters: Collection[str], run_id: str, target: str) -> None:
        """See that a run has a cluster of the agent as a target.

        Raises:
            refusals.NotFound: It has not.
        """
        if target not in clusters:
            raise refusals.not_found("run", run_id)
        key = (run_id, target)
        if key not in self._targets:
            if not await self.store.runs.has_target(run_id, target):
                raise refusals.not_found("run", run_id)
            self._targets[key] = None
            while len(self._targets) > _MOST_TARGETS:
                self._targets.popitem(last=False)

    async def _unfinished(
        self, clusters: Collection[str], run_id: str, target: str
    ) -> run_records.RunHead:
        """Return the head of such a run that has not ended.

        Raises:
            refusals.Conflict: It has ended.
        """
        head = await self._run(clusters, run_id, target)
        if head.finished is not None:
            raise refusals.conflict(f"run {run_id} has ended")
        return head


async def _until_news(
    heard: Sequence[tuple[rendezvouses.Rendezvous, services.Meeting]], seconds: float
) -> None:
    """Wait until others have come, said something or left at one of some places, or for so long."""
    happened: set[rendezvouses.Rendezvous] = set()
    woken = asyncio.Event()

    def note(place: rendezvouses.Rendezvous) -> None:
        happened.add(place)
        woken.set()

    with contextlib.ExitStack() as listening:
        for place, _ in heard:
            listening.enter_context(place.telling(note))
        looked_at = list(heard)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not any(_has_news(place, meeting) for place, meeting in looked_at):
                    woken.clear()
                    happened.clear()
                    await woken.wait()
                    looked_at = [one for one in heard if one[0] in happened]
                await asyncio.sleep(_GATHERED)


def _has_news(place: rendezvouses.Rendezvous, meeting: services.Meeting) -> bool:
    return place.id != meeting.place or place.has_news(meeting.seen, meeting.listening)


def _met(place: rendezvouses.Rendezvous, meeting: services.Meeting) -> services.Met:
    seen = meeting.seen if meeting.place == place.id else 0
    said = (
        services.Word(word.topic, word.target, word.number, meeting_values.write(word.value))
        for word in place.said_since(seen)
    )
    known = tuple(word for word in said if word.value is not None)
    return services.Met(place.id, place.number, place.arrivals, known)


def _key(place: task_states.TaskAttempt) -> records.TaskKey:
    return records.TaskKey(place.run, place.stage, place.target, place.attempt)


def _line(run: str, event: feed.TaskLogged, masker: manifest_redaction.Masker) -> records.LogLine:
    return records.LogLine(
        run_id=run,
        stage=event.stage,
        target=event.target,
        attempt=event.attempt,
        at=event.at,
        level=event.level.value,
        text=masker.clean(event.line),
    )


def _identity(line: records.LogLine) -> tuple[object, ...]:
    """Return what tells a line from others."""
    return (line.stage, line.target, line.attempt, line.at, line.text)


def _finding(
    run: str, event: feed.TaskFinding, masker: manifest_redaction.Masker
) -> records.Finding:
    document = event_redaction.clean_finding(masker, dict(event.document))
    return records.Finding(
        run_id=run,
        stage=event.stage,
        target=event.target,
        attempt=event.attempt,
        at=event.at,
        kind=event.kind,
        metric=event.metric,
        document=document,
        key=findings.key(event.attempt, event.kind, event.metric, document),
    )
