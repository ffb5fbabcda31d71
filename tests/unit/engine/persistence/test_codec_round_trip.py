"""Whatever happened to a run: what is stored of it is the run, and its commands are outstanding."""

from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

import machine_invariants
import machine_simulation
from volary.engine.persistence import codec, transitions
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.model.statuses import TaskStatus
from volary.store import records
from volary.store.memory import store as memory


class NoClock:
    """The store asks it about leases only."""

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that awaits nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the twin in memory must not wait")


class StoredConversation(machine_invariants.AnyConversation):
    """The same conversations, with each step kept as it happens."""

    def __init__(self) -> None:
        super().__init__()
        self.store = memory.MemoryStore(clock=NoClock(), limits=records.Limits())
        self.version = 0

    def send(self, event: events.Event) -> machine.Step:
        self.everything_is_stored()
        before = self.run
        step = super().send(event)
        if step.run is not before:
            kept = transitions.step_transition(before, (event,), step, self.version)
            self.version = at_once(self.store.keep_transition(kept, fence=None)).version
        assert codec.read_event(codec.write_event(event)) == event
        for command in step.commands:
            assert codec.read_command(codec.write_command(command)) == command
        return step

    @invariant()
    def everything_is_stored(self) -> None:
        if not self.version:
            first = transitions.first_transition(self.run, {}, machine_simulation.BEGINNING)
            self.version = at_once(self.store.keep_transition(first, fence=None)).version
        stored = at_once(self.store.runs.load(self.run.id))
        assert codec.read_run(stored) == self.run
        commands = {each.key: codec.read_command(each.document) for each in stored.commands}
        expected = {transitions.command_key(each): each for each in machine.outstanding(self.run)}
        assert commands == expected

    @invariant()
    def the_approvals_are_stored(self) -> None:
        if self.version:
            given = at_once(self.store.runs.approvals(self.run.id))
            counted = [
                (each.by, each.at)
                for stage in self.run.all_stages
                for group in stage.groups
                for each in group.approvals
            ]
            assert set(counted) <= {(each.by, each.at) for each in given if each.approved}


class ConversationInLots(StoredConversation):
    """Reports that come together are one step, and lead to the same as one after another."""

    def __init__(self) -> None:
        super().__init__()
        self.lot: list[events.Event] = []
        self.before: state.Run | None = None

    def send(self, event: events.Event) -> machine.Step:
        if not isinstance(event, events.TaskFinished | events.TaskProgressed):
            self.keep_the_lot()
            return super().send(event)
        if not self.lot:
            StoredConversation.everything_is_stored(self)
            self.before = self.run
        self.lot.append(event)
        return machine_invariants.AnyConversation.send(self, event)

    def keep_the_lot(self) -> None:
        if self.before is None:
            return
        happened, step = machine.advance_all(self.before, self.lot)
        assert step.run == self.run
        if step.run is not self.before:
            kept = transitions.step_transition(self.before, happened, step, self.version)
            version = at_once(self.store.keep_transition(kept, fence=None)).version
            remembered = [each for each in happened if isinstance(each, events.TaskFinished)]
            assert version == self.version + max(1, len(remembered))
            self.version = version
        self.lot, self.before = [], None

    @precondition(lambda self: self.running)
    @rule(statuses=st.lists(st.sampled_from(machine_simulation.REPORTS), min_size=2, max_size=4))
    def several_report(self, statuses: list[TaskStatus]) -> None:
        for status, key in zip(statuses, sorted(self.running), strict=False):
            if key in self.running:
                self.report(key, status, touched=True)

    @invariant()
    def everything_is_stored(self) -> None:
        self.keep_the_lot()
        super().everything_is_stored()


SETTINGS = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
StoredConversation.TestCase.settings = SETTINGS
ConversationInLots.TestCase.settings = SETTINGS
TestStoredConversation = StoredConversation.TestCase
TestConversationInLots = ConversationInLots.TestCase
