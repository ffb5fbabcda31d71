"""What goes between workflows, activities and those who ask: plain values, as JSON documents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import get_type_hints

import msgspec

from volary.engine import executor
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.model import json, statuses
from volary.model.pipeline.stage_kinds import added_stages
from volary.model.runs import run_records

#: Names in Temporal: they are part of histories, so they never change.
WORKFLOW = "volary.run"
KEEP_STEP = "volary.keep_step"
PERFORM_TASK = "volary.perform_task"
CONCLUDE = "volary.conclude"
REQUEST = "request"
REPORT = "report"
ORDERS = "orders"
STORED = "stored"
STOP_ORDER = "stop_order"
#: An activity fails so where its order is for others: whoever took it has joined since.
OTHER_RECIPIENTS = "OtherRecipients"


@dataclass(frozen=True, slots=True)
class Queues:
    """Which task queues the workers of one installation take from."""

    prefix: str = "volary"

    @property
    def runs(self) -> str:
        """The queue of workflows and of what keeps their steps."""
        return f"{self.prefix}-runs"

    @property
    def central(self) -> str:
        """The queue of all tasks that are carried out by the process that opened their run."""
        return f"{self.prefix}-central"

    def cluster(self, name: str) -> str:
        """Return the queue of the tasks of those who work beside a cluster."""
        return f"{self.prefix}-cluster-{name}"

    def workflow_id(self, run_id: str) -> str:
        """Return the id of the workflow of a run."""
        return f"{self.prefix}-run-{run_id}"


#: By cluster, what says to whoever carries its tasks out that they may: made by whoever opens the
#: run, and read by them alone. Empty of a cluster that nobody may carry tasks out on yet. Clusters
#: that are not named are those of the process that opens the run.
Orders = Mapping[str, json.JsonObject]


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run workflow begins with, or goes on with."""

    stored: run_records.StoredRun
    queues: Queues
    #: Seconds without an answered heartbeat after which a task's worker counts as gone.
    heartbeat_seconds: float
    #: From so many events in its history on, the workflow goes on in a new one.
    most_events: int
    #: How many workers in a row a task may lose, each soon after it began.
    most_losses: int = 10
    #: It goes on at a step whose commands nobody has carried out yet.
    continues: bool = False
    orders: Orders = field(default_factory=dict)
    #: Seconds after which a task that nobody has taken says that its cluster is not reached.
    untaken_seconds: float = 60.0
    #: How many tasks are begun and have not ended, at most: the others wait for their turn.
    #: Temporal takes no more than 2,000 of one workflow.
    most_tasks: int = 1_000


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run workflow."""

    #: At which the run was kept last.
    version: int


@dataclass(frozen=True, slots=True)
class StepInput:
    """A step of a run that has to be kept."""

    run_id: str
    step: run_records.Transition


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """What became of a step."""

    #: The answer that its request had before; empty: it was kept.
    answered: str = ""
    #: Seconds by which the service's clock was set forward, or back; 0: it was not. Else the step
    #: was not kept: limits move first.
    clock_jumped: float = 0.0


@dataclass(frozen=True, slots=True)
class StopOrder:
    """How a task has to stop, and why; `state.Stopping.NOT`: it goes on."""

    how: state.Stopping = state.Stopping.NOT
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A task that has to be carried out."""

    context: json.JsonObject
    #: How users call the stage that it is of, also where it takes it back.
    stage_name: str
    heartbeat_seconds: float
    #: How often it may say how far it is, at first.
    tick_seconds: float
    #: How it has to stop from the beginning on.
    stop: StopOrder = StopOrder()
    #: See `Orders`.
    order: json.JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConclusionInput:
    """A run that has ended well: what its cluster keeps for a way back is not needed any more."""

    run_id: str
    target: str
    #: See `Orders`.
    order: json.JsonObject
    #: How long it may take.
    seconds: float


def begun(given: TaskInput, stop: StopOrder, order: json.JsonObject) -> TaskInput:
    """Return a task as it is begun, again or for the first time."""
    return replace(given, stop=stop, order=order)


def undoes_scripts(given: TaskInput) -> bool:
    """Say whether scripts are run once the cluster is back."""
    if given.context["stage"]["name"] != added_stages.ROLLBACK.name:
        return False
    return any(stage.options.undone_by_script for stage in read_context(given.context).begun)


def without_scripts(given: TaskInput) -> TaskInput:
    """Return a rollback that leaves the scripts to be run to somebody else."""
    context = read_context(given.context)
    begun = tuple(stage for stage in context.begun if not stage.options.undone_by_script)
    return replace(given, context=write_context(replace(context, begun=begun)))


def scripts_alone(given: TaskInput, ended: statuses.Outcome) -> TaskInput:
    """Return what is left of a rollback that somebody else has carried out: its scripts."""
    context = replace(read_context(given.context), rolled_back=ended)
    return replace(given, context=write_context(context))


def continued(given: RunInput, stored: run_records.StoredRun, orders: Orders) -> RunInput:
    """Return what a run goes on with in a new history."""
    return replace(given, stored=stored, orders=orders, continues=True)


@dataclass(frozen=True, slots=True)
class EventDocument:
    """An event of the machine: its name, and its fields."""

    event: str
    fields: json.JsonObject


def _kinds(base: type[events.Event]) -> Iterator[type[events.Event]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


_EVENTS = {kind.__name__: kind for kind in _kinds(events.Event)}


def write_event(event: events.Event) -> EventDocument:
    """Return an event as a document."""
    return EventDocument(type(event).__name__, msgspec.to_builtins(event))


def read_event(document: EventDocument) -> events.Event:
    """Return the event of a document.

    Raises:
        LookupError: This version knows no such event.
        msgspec.ValidationError: It has not the fields of one.
    """
    return json.convert(document.fields, read_kind(document.event))


def read_kind(name: str) -> type[events.Event]:
    """Return the kind of event of that name.

    Raises:
        LookupError: This version knows no such event.
    """
    return _EVENTS[name]


_STAGES = ("stage", "begun")
_CONTEXT = tuple(each.name for each in fields(executor.TaskContext) if each.name != "stop")
_TYPES = get_type_hints(executor.TaskContext)


def write_context(context: executor.TaskContext) -> json.JsonObject:
    """Return what a task has to know as a document; how it has to stop is not among it."""
    return {name: msgspec.to_builtins(getattr(context, name)) for name in _CONTEXT}


def read_context(document: json.JsonObject) -> executor.TaskContext:
    """Return what a task has to know, with a stop flag of its own."""
    values = {
        name: json.convert(value, _TYPES[name])
        for name, value in document.items()
        if name not in _STAGES
    }
    return executor.TaskContext(
        **values,
        stage=codec.read_pipeline_stage(document["stage"]),
        begun=tuple(map(codec.read_pipeline_stage, document["begun"])),
    )
