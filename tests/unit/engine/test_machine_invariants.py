"""No sequence of events, in whatever order people and clusters send them, breaks the rules."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from volary.engine import abandoning, commands, events, limits, machine, orders, plan, rules, state
from volary.model import freeze, outcome, stage, webhook
from volary.model.status import RunStatus, TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("us", "eu", "asia", "africa")
STAGES = (
    stage.Stage(
        stage.StageName.CANARY_ROLLOUT,
        stage.VariantRolloutOptions(),
        timeout=timedelta(minutes=10),
    ),
    stage.Stage(
        stage.StageName.WAIT,
        stage.WaitOptions(timedelta(minutes=1)),
        timeout=timedelta(minutes=5),
        targets=("us", "eu"),
    ),
    stage.Stage(
        stage.StageName.PRIMARY_ROLLOUT,
        stage.PrimaryRolloutOptions(),
        timeout=timedelta(minutes=20),
    ),
)
#: What a wave goes through at its end.
GATES = (
    stage.Stage(
        stage.StageName.WAVE_GATE,
        stage.WaveGateOptions(timedelta(minutes=5)),
        timeout=timedelta(minutes=15),
    ),
    stage.Stage(
        stage.StageName.WEBHOOK_GATE,
        stage.WebhookGateOptions(webhook.Webhook("ask", "http://ask")),
        timeout=timedelta(minutes=15),
    ),
    stage.Stage(
        stage.StageName.WAIT_APPROVAL,
        stage.ApprovalOptions(("ana", "bo", "cy"), 2),
        timeout=timedelta(hours=1),
    ),
)
RULE = rules.ApprovalRule(count=2, timeout=timedelta(hours=1))
GROUPS = (
    (plan.Group(NAMES),),
    (plan.Group(NAMES, concurrency=2),),
    (plan.Group(("us",), "first"), plan.Group(("eu", "asia", "africa"), "rest", 1, RULE)),
)
REPORTS = (
    TaskStatus.SUCCEEDED,
    TaskStatus.SUCCEEDED,
    TaskStatus.SUCCEEDED,
    TaskStatus.FAILED,
    TaskStatus.SKIPPED,
    TaskStatus.UNREACHABLE,
    TaskStatus.CANCELLED,
    TaskStatus.RUNNING,
    TaskStatus.ROLLED_BACK,
)

PROMOTING = (stage.StageName.PRIMARY_ROLLOUT,)

Key = tuple[str, str, int]


class Conversation(RuleBasedStateMachine):
    """Plays clusters, people and time against the machine, and keeps its own books."""

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGINNING
        self.wake: datetime | None = None
        #: What somebody is carrying out, as told by commands alone.
        self.running: dict[Key, commands.StartTask] = {}
        self.wrote: set[str] = set()
        self.back: set[str] = set()
        self.releases = 0
        #: Who said yes to which group, as far as they have not taken it back: our own books.
        self.agreed: dict[tuple[str, str], set[str]] = {}
        #: Which clusters were reported healthy on this release, at the end of which wave.
        self.proven: set[tuple[str, str]] = set()

    def send(self, event: events.Event) -> machine.Step:
        before = self.run
        step = machine.advance(before, event)
        self.run = step.run
        if step.refusal:
            assert step.run is before
            assert not step.commands
        lost = self.running.keys() - {
            (each.id, task.target, task.attempt)
            for each in self.run.all_stages
            for task in each.running
        }
        # Tasks given up for lost: whoever carries them out reports too late, if ever.
        for key in lost:
            del self.running[key]
            assert key[1] in self.run.touched, "a lost task may have written"
        for command in step.commands:
            self.obey(command, before)
        return step

    def obey(self, command: commands.Command, before: state.Run) -> None:
        assert not before.is_final, "nothing happens after the end"
        match command:
            case commands.StartTask():
                assert self.may_be_changed(command), "a cluster is changed in a closed window"
                same = [key for key in self.running if key[:2] == (command.stage, command.target)]
                assert not same, "a task runs twice at once"
                on_cluster = [key for key in self.running if key[1] == command.target]
                assert not on_cluster, "two tasks run on one cluster"
                self.running[command.stage, command.target, command.attempt] = command
            case commands.StopTask():
                assert (command.stage, command.target, command.attempt) in self.running
            case commands.WakeAt():
                self.wake = command.at
            case commands.Release():
                self.releases += 1

    def may_be_changed(self, command: commands.StartTask) -> bool:
        """Say so by the definition: a minute is in a window when one began not long before."""
        changes_nothing = any(word in command.stage for word in ("WAIT", "WAVE_GATE", "WEBHOOK"))
        if command.returning or command.stage == state.ROLLBACK_ID or changes_nothing:
            return True
        if self.run.unfrozen:
            return True
        minutes = self.now.hour * 60 + self.now.minute
        within = {"office": minutes % 120 < 70, "freeze": minutes % 30 < 20}
        mine = [each for each in self.run.windows if command.target in each.targets]
        allowed = [within[each.window.name] for each in mine if not each.deny]
        denied = [within[each.window.name] for each in mine if each.deny]
        return not any(denied) and (not allowed or any(allowed))

    @precondition(lambda self: self.run.status is RunStatus.PLANNED)
    @rule()
    def start(self) -> None:
        self.send(events.Start(self.now))

    @rule(seconds=st.integers(1, 900))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.wake is not None)
    @rule()
    def sleep_until_woken(self) -> None:
        assert self.wake is not None
        self.now = max(self.now, self.wake)
        self.tick()

    @rule()
    def tick(self) -> None:
        self.send(events.TimePassed(self.now))
        due = limits.next_time(self.run)
        assert due is None or due > self.now, "a limit that passed has no effect any more"

    @precondition(lambda self: self.running)
    @rule(data=st.data(), status=st.sampled_from(REPORTS), touched=st.booleans())
    def finish(self, data, status: TaskStatus, touched: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.report(key, status, touched)

    @precondition(lambda self: self.running)
    @rule()
    def all_succeed(self) -> None:
        for key in sorted(self.running):
            if key in self.running:
                self.report(key, TaskStatus.SUCCEEDED, touched=True)

    @precondition(lambda self: self.run.waves and not self.run.is_final)
    @rule(steps=st.integers(1, 6))
    def go_on(self, steps: int) -> None:
        """All goes well for a while: so later waves are reached, too."""
        for _ in range(steps):
            if self.run.status is RunStatus.PLANNED:
                self.start()
            elif self.running:
                self.all_succeed()
            elif limits.waiting_group(self.run):
                self.approve("ana")
                self.approve("bo")
            elif self.wake is not None:
                self.sleep_until_woken()

    def report(self, key: Key, status: TaskStatus, touched: bool) -> None:
        order = self.running.pop(key)
        if touched and not order.returning:
            self.wrote.add(key[1])
        if status in (TaskStatus.SUCCEEDED, TaskStatus.ROLLED_BACK):
            if "WAVE_GATE" in key[0] and not order.returning:
                self.proven.add((key[0], key[1]))
            if key[0] == state.ROLLBACK_ID:
                self.back.add(key[1])
            elif order.returning:
                self.wrote.discard(key[1])
        told = outcome.Outcome(status, "so it was", touched=touched)
        self.send(events.TaskFinished(self.now, *key, told))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def progress(self, data) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        said = state.Progress("1 of 2 pods ready", 1, 2)
        self.send(events.TaskProgressed(self.now, *key, said))

    @rule(
        data=st.data(),
        cluster=st.sampled_from(NAMES),
        attempt=st.integers(0, 3),
        status=st.sampled_from((TaskStatus.SUCCEEDED, TaskStatus.FAILED)),
    )
    def stale_report(self, data, cluster: str, attempt: int, status: TaskStatus) -> None:
        """What was proven by another attempt, or about a stage that is over, proves nothing."""
        ids = [each.id for each in self.run.all_stages]
        stage_id = data.draw(st.sampled_from((*ids, "rollback", "nonsense")))
        self.tick()
        if (stage_id, cluster, attempt) in self.running:
            return
        told = outcome.Outcome(status, "from long ago", touched=True)
        before = self.run
        step = self.send(events.TaskFinished(self.now, stage_id, cluster, attempt, told))
        assert step.run is before

    @rule(rollback=st.booleans(), now=st.booleans())
    def cancel(self, rollback: bool, now: bool) -> None:
        self.send(events.Cancel(self.now, "ana", rollback, now))

    @rule()
    def pause(self) -> None:
        self.send(events.PauseAsked(self.now, "ana"))

    @rule()
    def resume(self) -> None:
        self.send(events.Resume(self.now, "ana"))

    @rule(cluster=st.sampled_from((*NAMES, "nowhere")))
    def skip(self, cluster: str) -> None:
        self.send(events.SkipCluster(self.now, cluster, "ana", "it burns"))

    @rule(number=st.integers(0, 3))
    def skip_stage(self, number: int) -> None:
        stages = self.run.all_stages
        stage = stages[number].id if number < len(stages) else "nothing"
        self.send(events.SkipStage(self.now, stage, "ana", "enough"))

    @rule(clusters=st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    def retry(self, clusters: list[str]) -> None:
        self.send(events.Retry(self.now, "ana", tuple(clusters)))

    @rule(by=st.sampled_from(("ana", "bo", "cy")))
    def approve(self, by: str) -> None:
        place = self.waiting_place()
        step = self.send(events.Approve(self.now, by))
        if not step.refusal:
            self.agreed.setdefault(place, set()).add(by)

    @rule(by=st.sampled_from(("ana", "bo", "cy")))
    def withdraw(self, by: str) -> None:
        place = self.waiting_place()
        step = self.send(events.Withdraw(self.now, by))
        if not step.refusal:
            self.agreed[place].remove(by)

    def waiting_place(self) -> tuple[str, str]:
        group = next((each for each in self.run.current.groups if not each.is_final), None)
        return self.run.current.id, group.name if group else ""

    @rule(wave=st.sampled_from(("", "wave-0", "wave-1", "nowhere")))
    def promote(self, wave: str) -> None:
        before = self.run
        step = self.send(events.PromoteWave(self.now, "ana", "hurry", wave))
        if not step.refusal:
            gates = ("WAVE_GATE", "ANALYSIS", "K8S_WEBHOOK_GATE")
            assert before.current.stage.name.value in gates, "a rollout is not a gate"

    @rule()
    def unfreeze(self) -> None:
        before = self.run
        step = self.send(events.Unfreeze(self.now, "ana", "fire"))
        waited = any(each.opens for each in before.current.groups)
        assert step.refusal or (waited and not before.unfrozen), "nobody waited for a window"

    @invariant()
    def nothing_starts_without_enough_people(self) -> None:
        for stage_ in self.run.stages:
            for group in stage_.groups:
                if group.rule is not None and any(task.attempt for task in group.tasks):
                    agreed = self.agreed.get((stage_.id, group.name), set())
                    assert len(agreed) >= group.rule.count

    @rule()
    def reject(self) -> None:
        self.send(events.Reject(self.now, "bo", "no"))

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
        waits = limits.waits_for_window(self.run)
        if waits and not self.run.pause:
            assert self.run.status is RunStatus.WAITING
            assert self.run.clock_stopped
            assert self.wake, "nobody would see the window open"
            assert " until " in self.run.reason

    @invariant()
    def only_one_group_of_one_stage_runs(self) -> None:
        for each in self.run.all_stages:
            if each is not self.run.current:
                assert not each.running
        for group in self.run.current.groups:
            count = sum(task.is_running and not task.returning for task in group.tasks)
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
        if self.run.status is not RunStatus.SUCCEEDED:
            return
        good = (TaskStatus.SUCCEEDED, TaskStatus.SKIPPED)
        assert all(task.status in good for each in self.run.stages for task in each.tasks)
        assert not any(cluster.left_out for cluster in self.run.clusters)

    @invariant()
    def rolled_back_is_proven(self) -> None:
        assert self.wrote <= set(self.run.touched)
        if self.run.status is RunStatus.ROLLED_BACK:
            assert set(self.run.touched) == self.back
            assert self.run.touched
        if self.run.rollback:
            assert {task.target for task in self.run.rollback.tasks} <= set(self.run.touched)

    @invariant()
    def every_state_says_why(self) -> None:
        assert self.run.reason
        for each in self.run.all_stages:
            assert all(task.reason for task in each.tasks if task.is_final), each
            assert each.reason or not each.is_final

    @invariant()
    def it_can_be_given_up_at_any_time(self) -> None:
        _, step = abandoning.abandon(self.run, "ana", "its files are gone", self.now)

        assert step.run.is_final
        assert set(self.run.touched) <= set(step.run.touched)
        assert not any(isinstance(each, commands.StartTask) for each in step.commands)

    @invariant()
    def a_new_process_would_go_on_with_the_same(self) -> None:
        started = {
            (command.stage, command.target, command.attempt)
            for command in orders.between(None, self.run)
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
            if self.run.status is RunStatus.WAITING and limits.waits_for_person(self.run):
                self.send(events.Cancel(self.now, "ana", rollback=True))
            elif self.wake is not None:
                self.now = max(self.now, self.wake)
                self.tick()
        assert self.run.is_final
        self.a_final_run_has_let_go_of_everything()


#: Days on which the first clusters may be changed, and hours in which others may not.
OFFICE = freeze.Window("office", "0 */2 * * *", timedelta(minutes=70))
FREEZE = freeze.Window("freeze", "0,30 * * * *", timedelta(minutes=20))
WINDOWS = (
    (),
    (rules.WindowRule(FREEZE, NAMES, deny=True),),
    (rules.WindowRule(OFFICE, ("us", "eu")), rules.WindowRule(FREEZE, ("eu", "asia"), deny=True)),
)


class AnyConversation(Conversation):
    """A run whose clusters move together."""

    @initialize(
        groups=st.sampled_from(GROUPS),
        on_failure=st.sampled_from(rules.OnFailure),
        on_unreachable=st.sampled_from(rules.OnUnreachable),
        timeout=st.sampled_from((timedelta(minutes=15), timedelta(hours=6))),
        windows=st.sampled_from(WINDOWS),
    )
    def planned(self, groups, on_failure, on_unreachable, timeout, windows) -> None:
        policy = rules.Policy(
            on_failure=on_failure,
            on_unreachable=on_unreachable,
            timeout=timeout,
            grace=timedelta(minutes=2),
        )
        made = plan.Plan("shop", "new", groups, STAGES, "old", policy, windows=windows)
        self.run = plan.new_run("run-1", made, BEGINNING)


class AnyWaves(Conversation):
    """A run in two or three waves, each with a budget."""

    @initialize(
        cuts=st.sets(st.integers(1, 3), min_size=1, max_size=2),
        over_stages=st.booleans(),
        failures=st.lists(st.integers(0, 2), min_size=3, max_size=3),
        unreachable=st.lists(st.integers(0, 1), min_size=3, max_size=3),
        concurrency=st.integers(0, 2),
        on_failure=st.sampled_from(rules.OnFailure),
        on_unreachable=st.sampled_from(rules.OnUnreachable),
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
            rules.WaveRule(
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
            plan.Step(
                each,
                plan.Group(wave.targets, wave.name, concurrency, progress_deadline=limit),
                wave.name,
            )
            for each, wave in pairs
        )
        policy = rules.Policy(
            grace=timedelta(minutes=2), failures=total, again_after=timedelta(minutes=1)
        )
        groups = (plan.Group(NAMES),)
        made = plan.Plan(
            "shop", "new", groups, STAGES, "old", policy, waves, steps, windows=windows
        )
        self.run = plan.new_run("run-1", made, BEGINNING)

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
                if each.wave == earlier.name and each.stage.name is stage.StageName.WAVE_GATE
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


for _machine in (AnyConversation, AnyWaves):
    _machine.TestCase.settings = settings(
        max_examples=80,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
TestAnyConversation = AnyConversation.TestCase
TestAnyWaves = AnyWaves.TestCase
