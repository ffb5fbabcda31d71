"""Answers what the tasks of agents ask for, each for its own clusters alone.

An agent may ask about runs that have one of its clusters as a target, and its rows are those of
that cluster. Any server answers, from the store. What tasks of a stage say to each other goes
through the leader, which has the run open: any other server says that it has not.
"""

import asyncio
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.agents.tasks import meeting_values, services
from volary.analysis.metering import meters
from volary.controller import refusals
from volary.controller.agents import run_orders
from volary.controller.persistence import redaction
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import codec
from volary.manifests import redaction as manifest_redaction
from volary.model import analysis, clocks, errors, json, statuses
from volary.model.runs import run_records
from volary.stages.judgement import findings, in_flight
from volary.stages.runtime import rendezvouses, task_states
from volary.store import records, stores

#: Rows of the store that are read at once.
_PAGE = 500
#: Seconds that an answer waits for something new to tell.
_LONGEST_WAIT = 10.0
#: Seconds after which somebody counts as gone who says nothing.
_MISSED = 60.0
#: How long after the end of a run its tasks may still say something.
_LAST_WORDS = timedelta(minutes=10)


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

    async def report(
        self,
        clusters: Collection[str],
        run: str,
        said: Sequence[services.Said],
        *,
        by: str,
        again: bool,
    ) -> None:
        """Keep what tasks said.

        `again`: some of it may have been kept already, and is not kept twice then.
        """
        if not said:
            return
        heads = [await self._run(clusters, run, target) for target in {one.target for one in said}]
        head = heads[0]
        if head.finished is not None and self.clock.now() > head.finished + _LAST_WORDS:
            raise refusals.conflict(f"run {run} has ended")
        masker = self.secrets.masker(head.application)
        lines = [_line(run, event, masker) for event in said if isinstance(event, feed.TaskLogged)]
        if again:
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
        stored = refusals.required(await self.store.runs.load(run_id), "run", run_id)
        run = codec.read_run(stored)
        # One that compares with clusters without the release asks about those as well.
        if not set(clusters) & set(run.targets) or question.target not in run.targets:
            raise refusals.not_found("run", run_id)
        rules = [rule for stage in run.stages for rule in _rules_in(stage.stage)]
        if any(stage.stage.kind.removes for stage in run.stages):
            providers = {rule.provider for rule in rules} | {""}
            rules += [in_flight.rule_for(provider) for provider in providers]
        asked = {_query(rule) for rule in rules}
        if _query(question.rule) not in asked or question.application.name != run.application:
            raise refusals.conflict("no stage of the run asks that")
        return await self.meter.measure(question)

    async def meet(self, clusters: Collection[str], meeting: services.Meeting) -> services.Met:
        """Take what a task says to the others of its stage, and return what they say.

        Raises:
            errors.TemporaryError: This server has not opened the run: another one may have.
        """
        await self._run(clusters, meeting.run, meeting.target)
        performer = self.apart.open_runs.get(meeting.run)
        if performer is None:
            raise errors.TemporaryError(f"run {meeting.run} is not open in this server")
        place = performer.rendezvous(meeting.stage)
        self._attend(place, meeting)
        for topic, document in meeting.said.items():
            value = meeting_values.read(document)
            if value is not None:
                place.post(meeting.target, topic, value)
        if meeting.seen >= 0 and meeting.is_present:
            try:
                async with asyncio.timeout(_LONGEST_WAIT):
                    await place.changed(meeting.seen)
            except TimeoutError:
                pass
        return _met(place)

    def _attend(self, place: rendezvouses.Rendezvous, meeting: services.Meeting) -> None:
        key = (place.id, meeting.target)
        waiting = self._present.pop(key, None)
        if waiting is not None:
            waiting.cancel()
        if not meeting.is_present:
            place.leave(meeting.target)
            return
        place.join(meeting.target)
        loop = asyncio.get_running_loop()
        self._present[key] = loop.call_later(_MISSED, self._miss, place, meeting.target)

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
        if target in clusters and await self.store.runs.has_target(run_id, target):
            summary = await self.store.runs.summary(run_id)
            if summary is not None:
                return summary.head
        raise refusals.not_found("run", run_id)

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


def _met(place: rendezvouses.Rendezvous) -> services.Met:
    said: dict[str, dict[str, object]] = {}
    for topic in place.topics:
        written = {
            target: meeting_values.write(value) for target, value in place.said(topic).items()
        }
        said[topic] = {target: text for target, text in written.items() if text is not None}
    return services.Met(place.id, place.number, place.members, said)


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


def _rules_in(value: object) -> Iterator[analysis.Rule]:
    """Find the rules in a stage's options, wherever they are."""
    if isinstance(value, analysis.Rule):
        yield value
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from _rules_in(getattr(value, each.name))
    elif isinstance(value, tuple):
        for inner in value:
            yield from _rules_in(inner)


def _query(rule: analysis.Rule) -> tuple[str, ...]:
    """Return what of a rule decides what is asked, and whom."""
    return (rule.name, rule.provider, rule.query, rule.total_query, rule.built_in)


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
