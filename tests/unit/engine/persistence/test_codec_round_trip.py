"""Whatever happened to a run: what is stored of it is the run."""

from collections.abc import Sequence

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

import machine_invariants
import machine_simulation
from volary.engine.observers import observer_events
from volary.engine.persistence import codec, pieces, transitions
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.model.runs import run_records
from volary.model.statuses import TaskStatus


class Pieces:
    """Puts the pieces of transitions together as a store does."""

    def __init__(self, first: run_records.Transition) -> None:
        self.approvals: list[run_records.ApprovalRecord] = []
        self.run = run_records.StoredRun(first.head, 0, 0, {}, first.origin, (), ())
        self.add(first)

    def add(self, transition: run_records.Transition) -> None:
        plain = msgspec.json.encode(transition)
        transition = msgspec.json.decode(plain, type=run_records.Transition)
        assert transition.expected_version == self.run.version
        self.run = pieces.after(self.run, transition)
        self.approvals += transition.approvals


class StoredConversation(machine_invariants.AnyConversation):
    """The same conversations, with each step kept as it happens."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: Pieces | None = None

    def keep(self, before: state.Run, happened: Sequence[events.Event], after: state.Run) -> None:
        assert self.pieces is not None
        told = observer_events.between(before, after, happened[-1].at)
        version = self.pieces.run.version
        self.pieces.add(transitions.step_transition(before, happened, after, told, version))

    def send(self, event: events.Event) -> machine.Step:
        self.everything_is_stored()
        before = self.run
        step = super().send(event)
        if step.run is not before:
            self.keep(before, (event,), step.run)
        return step

    @invariant()
    def everything_is_stored(self) -> None:
        if self.pieces is None:
            first = transitions.first_transition(self.run, {}, machine_simulation.BEGINNING)
            self.pieces = Pieces(first)
        assert codec.read_run(self.pieces.run) == self.run

    @invariant()
    def the_approvals_are_stored(self) -> None:
        if self.pieces is not None:
            given = self.pieces.approvals
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
            self.keep(self.before, happened, step.run)
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
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
StoredConversation.TestCase.settings = SETTINGS
ConversationInLots.TestCase.settings = SETTINGS
TestStoredConversation = StoredConversation.TestCase
TestConversationInLots = ConversationInLots.TestCase
