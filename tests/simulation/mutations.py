"""Mistakes in the product that its simulation has to notice, each made for a while.

They are made where the product looks names up, so that nothing of it has to know of them. Each
says a seed that notices it, and how what is noticed begins.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from simulation import databases, plays, sources
from volary.clusters.apply import preconditions
from volary.controller.api.commands import command_handler
from volary.controller.applications import commit_keeper, registry
from volary.controller.leadership import tenures
from volary.controller.persistence import journal
from volary.engine.execution import runners
from volary.engine.persistence import codec
from volary.engine.runs import state, updates
from volary.engine.state_machine import events, machine, sightings
from volary.notifying import notifier
from volary.store import fencing, stores
from volary.store.sql.repositories import transitions
from volary.store.sql.schema import tables

Make = Callable[[pytest.MonkeyPatch], None]
#: Where a mistake is looked for once its own seed does not lead to it any more: a seed makes
#: another world when the product does something else, or one thing more.
_OTHERS = range(1, 201)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake."""

    make: Make
    #: Words of the failure that it leads to.
    noticed: str
    #: A seed that leads to it.
    seed: int


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a seed's world with a mistake in the product."""

    seed: int
    is_noticed: bool
    #: What failed; empty: nothing did.
    said: str
    #: Seconds of a processor.
    took: float

    def __str__(self) -> str:
        what = "notices it" if self.is_noticed else "fails" if self.said else "notices nothing"
        said = f": {self.said}" if self.said else ""
        return f"seed {self.seed} {what} ({self.took:.2f} s){said}"


def attempts(name: str, source: sources.Source, seeds: Sequence[int] = ()) -> Iterator[Trial]:
    """Make a mistake, and play seeds: its own one, then others, if none are given.

    The mistake is there until the last one was asked for.
    """
    mutation = MUTATIONS[name]
    with pytest.MonkeyPatch.context() as patch:
        mutation.make(patch)
        for seed in seeds or (mutation.seed, *_OTHERS):
            began, said = time.process_time(), ""
            try:
                plays.play(seed, source)
            except Exception as error:  # noqa: BLE001 (whatever it leads to)
                said = str(error) or repr(error)
            took = time.process_time() - began
            yield Trial(seed, mutation.noticed in said, said, took)


def first(name: str, source: sources.Source) -> Trial | None:
    """Return the first of a mistake's seeds that notices it; None: none does."""
    return next((trial for trial in attempts(name, source) if trial.is_noticed), None)


#: By name.
MUTATIONS: dict[str, Mutation] = {}


def _mutation(noticed: str, *, seed: int = 1) -> Callable[[Make], Make]:
    def enter(make: Make) -> Make:
        MUTATIONS[make.__name__] = Mutation(make, noticed, seed)
        return make

    return enter


# The lease.


@_mutation("is stored for term", seed=3)
def store_without_fence(patch: pytest.MonkeyPatch) -> None:
    """Writes to the store are not checked for their lease."""
    patch.setattr(fencing, "fence_refusal", lambda *_: None)


@_mutation("after Term(", seed=446)
def write_without_permit(patch: pytest.MonkeyPatch) -> None:
    """Writes to clusters do not wait for the permit."""

    async def at_once(_: tenures.Tenure) -> None:
        return None

    patch.setattr(tenures.Tenure, "wait", at_once)


@_mutation("takes the lease over")
def expire_leases_by_clients_clocks(patch: pytest.MonkeyPatch) -> None:
    """Who asks for a lease says by its own clock whether it has expired."""
    begin = stores.Store.__init__

    def begun(self: stores.Store, base: Any, *, clock: Any, **named: Any) -> None:
        begin(self, base, **{**named, "clock": clock, "lease_clock": clock})

    patch.setattr(stores.Store, "__init__", begun)


# What is kept, and when.


@_mutation("no run has touched", seed=165)
def begin_before_touched(patch: pytest.MonkeyPatch) -> None:
    """A cluster counts as touched only once a task there has ended."""
    patch.setattr(updates, "mark_begun", lambda run, _: run)


@_mutation("counts as untouched", seed=85)
def take_over_in_silence(patch: pytest.MonkeyPatch) -> None:
    """Who takes a run up keeps nothing of it before it carries the tasks out again."""

    async def take_over(self: Any, group: asyncio.TaskGroup) -> None:
        self._carry_out_commands(group, machine.outstanding(self._run))

    patch.setattr(runners.Runner, "_take_over", take_over)


@_mutation("is answered before it is kept", seed=245)
def act_before_the_step_is_kept(patch: pytest.MonkeyPatch) -> None:
    """Steps are kept in the background, while what follows from them is begun."""
    keep = journal.StoreJournal.keep
    last: dict[int, asyncio.Task[None]] = {}

    async def behind(self: journal.StoreJournal, record: Any, before: Any) -> None:
        if before is not None:
            await asyncio.wait((before,))
        await keep(self, record)

    async def hand_over(self: journal.StoreJournal, record: Any) -> None:
        before = last.get(id(self))
        last[id(self)] = asyncio.get_running_loop().create_task(behind(self, record, before))

    patch.setattr(journal.StoreJournal, "keep", hand_over)


@_mutation("a step was kept twice", seed=79)
def keep_repeated_steps_again(patch: pytest.MonkeyPatch) -> None:
    """A step that is sent once more, for its answer was lost, is kept once more."""
    judge = fencing.judge_transition

    def again(transition: Any, digest: str, stored: Any) -> Any:
        answer = judge(transition, digest, stored)
        return answer if isinstance(answer, Exception) else None

    patch.setattr(fencing, "judge_transition", again)


@_mutation("has unfinished runs", seed=165)
def begin_beside_unfinished_runs(patch: pytest.MonkeyPatch) -> None:
    """A run that was left behind is forgotten, and nothing keeps another from beginning."""

    async def nothing(*_: Any) -> None:
        return None

    async def none(*_: Any) -> dict[tuple[str, str], str]:
        return {}

    patch.setattr(registry.ApplicationRegistry, "_load_run", nothing)
    patch.setattr(transitions, "_unfinished", none)
    kept = {index for index in tables.runs.indexes if index.name != "runs_one_unfinished"}
    patch.setattr(tables.runs, "indexes", kept)
    patch.setattr(databases, "DATABASES", databases.Databases())


@_mutation(", not set(): ", seed=91)
def forget_what_ran_before(patch: pytest.MonkeyPatch) -> None:
    """What a cluster goes back to is not stored."""
    write = codec.write_head

    def without(run: state.Run) -> Any:
        document = write(run)
        clusters = [{**one, "running_commit": ""} for one in document["clusters"]]
        return {**document, "clusters": clusters}

    patch.setattr(codec, "write_head", without)


@_mutation("which nobody has kept", seed=3)
def keep_no_commits(patch: pytest.MonkeyPatch) -> None:
    """No ref holds the commits that a run needs."""

    async def nothing(*_: Any, **__: Any) -> None:
        return None

    patch.setattr(commit_keeper.CommitKeeper, "_keep", nothing)


@_mutation("not quiet after", seed=165)
def begin_nothing_again(patch: pytest.MonkeyPatch) -> None:
    """Who takes a run up does not begin what was under way."""
    patch.setattr(machine, "outstanding", lambda _: ())


# What people ask for, and hear.


@_mutation("is answered before it is kept", seed=245)
def answer_before_the_step(patch: pytest.MonkeyPatch) -> None:
    """A request is answered, and only then carried out."""
    carry_out = command_handler.CommandHandler.carry_out

    async def early(self: Any, request: Any) -> str:
        leader = self._leader
        await leader.store.requests.answer(request.id, refusal="", fence=leader.fence)
        return await carry_out(self, request)

    patch.setattr(command_handler.CommandHandler, "carry_out", early)


@_mutation("was cancelled, and is", seed=6)
def drop_cancels(patch: pytest.MonkeyPatch) -> None:
    """A cancel is answered as if it were taken, and the run does not hear of it."""
    ask = runners.Runner.request

    async def request(self: runners.Runner, event: events.Event) -> str:
        return "" if isinstance(event, events.Cancel) else await ask(self, event)

    patch.setattr(runners.Runner, "request", request)


@_mutation("is forgotten", seed=245)
def forget_approvals(patch: pytest.MonkeyPatch) -> None:
    """Who approved is not stored with the group."""
    write = codec.stage_record

    def without(position: int, stage: state.StageState) -> Any:
        made = write(position, stage)
        for group in made.document["groups"]:
            group["approvals"] = []
        return made

    patch.setattr(codec, "stage_record", without)


@_mutation("nobody was notified", seed=24)
def notify_beside_the_step(patch: pytest.MonkeyPatch) -> None:
    """What people are notified of is not kept with its step, but soon after it."""
    prepare, post = notifier.RunNotifier.prepare, notifier.RunNotifier.post
    beside: dict[int, notifier.StepNotices] = {}

    def without(self: notifier.RunNotifier, told: Any, version: int) -> notifier.StepNotices:
        beside[id(self)] = step = prepare(self, told, version)
        return replace(step, messages=())

    def post_beside(self: notifier.RunNotifier, step: notifier.StepNotices) -> None:
        post(self, step)
        for message in beside[id(self)].messages:
            self.notifier._queue.post(message)

    patch.setattr(notifier.RunNotifier, "prepare", without)
    patch.setattr(notifier.RunNotifier, "post", post_beside)


@_mutation("was said to", seed=176)
def act_on_what_nobody_saw(patch: pytest.MonkeyPatch) -> None:
    """A request counts for whatever the run is at by then."""
    patch.setattr(sightings, "why_stale", lambda *_: "")


# What clusters are sent.


@_mutation("came late, and was carried out", seed=13)
def write_over_anything(patch: pytest.MonkeyPatch) -> None:
    """Writes do not say which object they were decided on."""
    patch.setattr(preconditions, "over", lambda body, _: body)
