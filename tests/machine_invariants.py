"""What holds for every run after whatever happened to it."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

import machine_simulation
from machine_simulation import BEGINNING, GROUPS, STAGES, WINDOWS
from volary.engine.runs import policies, run_builder
from volary.engine.state_machine import commands, deadlines, events, machine
from volary.model.statuses import RunStatus, TaskStatus


class LawfulRun(machine_simulation.Play):
    """A run that is played with; its kinds say how it is planned."""

    @invariant()
    def nothing_starts_without_enough_people(self) -> None:
        for stage_ in self.run.stages:
            for group in stage_.groups:
                if group.rule is not None and any(task.attempt for task in group.tasks):
                    agreed = self.agreed.get((stage_.id, group.name), set())
                    assert len(agreed) >= group.rule.count

    @invariant()
    def running_agrees_with_the_commands(self) -> None:
        believed = {
            (each.id, task.target, task.attempt)
            for each in self.run.all_stages
            for task in each.running
        }
        assert believed == set(self.running)

    @invariant()
    def every_running_thing_has_a_deadline(self) -> None:
        for each in self.run.all_stages:
            assert all(task.deadline for task in each.running)
            assert each.status is not TaskStatus.RUNNING or each.deadline
        if self.run.status in (RunStatus.RUNNING, RunStatus.ROLLING_BACK):
            assert self.run.deadline
            waited_for = any(task.status is TaskStatus.WAITING for task in self.run.current.tasks)
            assert self.running or waited_for, "a run that waits for nobody must do something"
            assert self.wake, "nobody would wake it"

    @invariant()
    def limits_stand_still_while_only_a_window_is_waited_for(self) -> None:
        waits = deadlines.is_waiting_for_window(self.run)
        if waits and not self.run.pause:
            assert self.run.status is RunStatus.WAITING
            assert self.run.clock_stopped
            assert self.wake, "nobody would see the window open"
            assert " until " in self.run.reason

    @invariant()
    def what_has_ended_waits_for_nobody(self) -> None:
        assert not (self.run.is_final and deadlines.is_waiting_for_person(self.run))

    @invariant()
    def only_one_group_of_one_stage_runs(self) -> None:
        for each in self.run.all_stages:
            if each is not self.run.current:
                assert not each.running
        for group in self.run.current.groups:
            count = sum(task.is_running and not task.rolling_back for task in group.tasks)
            assert not group.concurrency or count <= group.concurrency
            assert not count or group.is_open

    @invariant()
    def a_final_run_has_let_go_of_everything(self) -> None:
        assert self.releases == int(self.run.is_final)
        if not self.run.is_final:
            return
        assert not self.running
        assert self.wake is None
        assert self.run.finished
        for each in self.run.all_stages:
            assert each.is_final, each.id
            assert all(task.is_final for task in each.tasks)

    @invariant()
    def success_is_honest(self) -> None:
        left_out = {cluster.name for cluster in self.run.clusters if cluster.left_out}
        if self.run.status is RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
            assert left_out
            assert len(left_out) < len(self.run.clusters)
            assert all(name in self.run.reason for name in left_out)
        elif self.run.status is RunStatus.SUCCEEDED:
            assert not left_out or self.run.rollback_of
        else:
            return
        good = (TaskStatus.SUCCEEDED, TaskStatus.SKIPPED)
        assert all(
            task.status in good
            for each in self.run.stages
            for task in each.tasks
            if task.target not in left_out
        )

    @invariant()
    def rolled_back_is_proven(self) -> None:
        if self.run.status is RunStatus.ROLLED_BACK:
            assert set(self.run.touched) == self.back
            assert self.run.touched
        if self.run.rollback:
            assert {task.target for task in self.run.rollback.tasks} <= set(self.run.touched)

    @invariant()
    def touched_is_what_was_written_or_may_be(self) -> None:
        """At any moment: a process may die right after it, and the next one knows no more."""
        touched, under_way = set(self.run.touched), self.under_way()
        assert self.wrote <= touched
        assert under_way <= touched
        assert touched <= self.wrote | self.doubtful | under_way, "nobody can have written"
        provisional = {each.name for each in self.run.clusters if each.provisional}
        # One that has just been rolled back and begins again may be either.
        assert provisional <= under_way
        if "nothing was changed" in self.run.reason:
            assert self.run.is_final
            assert not self.wrote | self.doubtful

    @invariant()
    def every_state_says_why(self) -> None:
        assert self.run.reason
        for each in self.run.all_stages:
            assert all(task.reason for task in each.tasks if task.is_final), each
            assert each.reason or not each.is_final

    @invariant()
    def it_can_be_given_up_at_any_time(self) -> None:
        _, step = machine.abandon(self.run, "ana", "its files are gone", self.now)

        assert step.run.is_final
        assert set(self.run.touched) <= set(step.run.touched)
        assert not any(isinstance(each, commands.StartTask) for each in step.commands)

    @invariant()
    def a_new_process_would_go_on_with_the_same(self) -> None:
        started = {
            (command.stage, command.target, command.attempt)
            for command in commands.between(None, self.run)
            if isinstance(command, commands.StartTask)
        }
        assert started == set(self.running)

    def teardown(self) -> None:
        """Every run ends by itself when people leave it alone, once nobody is waited for."""
        if not hasattr(self, "run") or self.run.status is RunStatus.PLANNED:
            return
        for _ in range(60):
            if self.run.is_final:
                break
            if self.run.status is RunStatus.WAITING and deadlines.is_waiting_for_person(self.run):
                self.send(events.Cancel(self.now, "ana", rollback=True))
            elif self.wake is not None:
                self.now = max(self.now, self.wake)
                self.tick()
        assert self.run.is_final
        self.a_final_run_has_let_go_of_everything()


class AnyConversation(LawfulRun):
    """A run whose clusters move together."""

    @initialize(
        groups=st.sampled_from(GROUPS),
        on_failure=st.sampled_from(policies.OnFailure),
        on_unreachable=st.sampled_from(policies.OnUnreachable),
        timeout=st.sampled_from((timedelta(minutes=15), timedelta(hours=6))),
        windows=st.sampled_from(WINDOWS),
    )
    def planned(self, groups, on_failure, on_unreachable, timeout, windows) -> None:
        policy = policies.Policy(
            on_failure=on_failure,
            on_unreachable=on_unreachable,
            timeout=timeout,
            grace=timedelta(minutes=2),
        )
        made = run_builder.RunSpec("shop", "new", groups, STAGES, "old", policy, windows=windows)
        self.run = run_builder.new_run("run-1", made, BEGINNING)
