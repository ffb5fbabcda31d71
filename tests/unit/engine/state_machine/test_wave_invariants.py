"""No sequence of events breaks the rules of a run in waves."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

import machine_invariants
from machine_simulation import BEGINNING, GATES, NAMES, PROMOTING, STAGES, THOROUGH, WINDOWS
from volary.engine.runs import policies, run_builder, state
from volary.model.pipeline.stage_kinds import added_stages
from volary.model.statuses import TaskStatus


class AnyWaves(machine_invariants.LawfulRun):
    """A run in two or three waves, each with a budget."""

    @initialize(
        cuts=st.sets(st.integers(1, 3), min_size=1, max_size=2),
        over_stages=st.booleans(),
        failures=st.lists(st.integers(0, 2), min_size=3, max_size=3),
        unreachable=st.lists(st.integers(0, 1), min_size=3, max_size=3),
        concurrency=st.integers(0, 2),
        on_failure=st.sampled_from(policies.OnFailure),
        on_unreachable=st.sampled_from(policies.OnUnreachable),
        total=st.sampled_from((None, 1)),
        limit=st.sampled_from((None, timedelta(minutes=3))),
        windows=st.sampled_from(WINDOWS),
    )
    def planned(
        self,
        cuts,
        over_stages,
        failures,
        unreachable,
        concurrency,
        on_failure,
        on_unreachable,
        total,
        limit,
        windows,
    ) -> None:
        edges = (0, *sorted(cuts), len(NAMES))
        waves = tuple(
            policies.WaveRule(
                f"wave-{position}",
                NAMES[first:last],
                failures[position],
                unreachable[position],
                on_failure,
                on_unreachable,
                concurrency,
            )
            for position, (first, last) in enumerate(pairwise(edges))
        )
        numbered = [replace(each, index=index) for index, each in enumerate(STAGES)]
        gates = [replace(each, index=len(STAGES) + place) for place, each in enumerate(GATES)]
        pairs = (
            [(each, wave) for each in numbered[:-1] for wave in waves]
            + [(each, wave) for wave in waves for each in (numbered[-1], *gates)]
            if over_stages
            else [(each, wave) for wave in waves for each in (*numbered, *gates)]
        )
        steps = tuple(
            run_builder.WaveStep(
                each,
                run_builder.Group(wave.targets, wave.name, concurrency, progress_deadline=limit),
                wave.name,
            )
            for each, wave in pairs
        )
        policy = policies.Policy(
            grace=timedelta(minutes=2), failures=total, again_after=timedelta(minutes=1)
        )
        groups = (run_builder.Group(NAMES),)
        made = run_builder.RunSpec(
            "shop", "new", groups, STAGES, "old", policy, waves, steps, windows=windows
        )
        self.run = run_builder.new_run("run-1", made, BEGINNING)

    @invariant()
    def budgets_are_never_exceeded(self) -> None:
        spent = {
            kind: {each.name for each in self.run.clusters if each.left_out_for is kind}
            for kind in state.LeftOut
        }
        for wave in self.run.waves:
            members = set(wave.targets)
            assert len(spent[state.LeftOut.FAILED] & members) <= wave.failures
            assert len(spent[state.LeftOut.UNREACHABLE] & members) <= wave.unreachable
        if self.run.policy.failures is not None:
            assert len(spent[state.LeftOut.FAILED]) <= self.run.policy.failures

    @invariant()
    def no_step_starts_before_the_one_before_it_is_done(self) -> None:
        for earlier, later in pairwise(self.run.stages):
            if any(task.attempt for task in later.tasks):
                assert earlier.is_final
                assert earlier.status is not TaskStatus.FAILED
                good = (TaskStatus.SUCCEEDED, TaskStatus.SKIPPED)
                for task in earlier.tasks:
                    cluster = self.run.cluster(task.target)
                    assert cluster is not None
                    assert task.status in good or cluster.left_out

    @invariant()
    def no_wave_starts_before_the_one_before_it_holds(self) -> None:
        """By our own books: each cluster still with the run was seen healthy on this release."""
        for earlier, later in pairwise(self.run.waves):
            begun = any(
                task.attempt
                for each in self.run.stages
                if each.wave == later.name and each.stage.name in PROMOTING
                for task in each.tasks
            )
            if not begun:
                continue
            (gate,) = (
                each.id
                for each in self.run.stages
                if each.wave == earlier.name and each.stage.kind is added_stages.WAVE_GATE
            )
            for name in earlier.targets:
                cluster = self.run.cluster(name)
                assert cluster is not None
                assert cluster.left_out or (gate, name) in self.proven, name

    @invariant()
    def a_rollback_of_one_wave_leaves_the_others_alone(self) -> None:
        if self.run.rollback is None or self.run.ending is None or not self.run.ending.wave:
            return
        (wave,) = (each for each in self.run.waves if each.name == self.run.ending.wave)
        assert {task.target for task in self.run.rollback.tasks} <= set(wave.targets)


AnyWaves.TestCase.settings = THOROUGH
TestAnyWaves = AnyWaves.TestCase
