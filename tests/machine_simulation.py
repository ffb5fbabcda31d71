"""Clusters, people and time played against the machine, by chance."""

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import commands, deadlines, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import (
    added_stages,
    external_stages,
    rollout_stages,
    waiting_stages,
)
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus, TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("us", "eu", "asia", "africa")
STAGES = (
    pipelines.Stage(
        rollout_stages.CANARY_ROLLOUT.name,
        rollout_stages.VariantRolloutOptions(),
        timeout=timedelta(minutes=10),
    ),
    pipelines.Stage(
        waiting_stages.WAIT.name,
        waiting_stages.WaitOptions(timedelta(minutes=1)),
        timeout=timedelta(minutes=5),
        targets=("us", "eu"),
    ),
    pipelines.Stage(
        rollout_stages.PRIMARY_ROLLOUT.name,
        rollout_stages.PrimaryRolloutOptions(),
        timeout=timedelta(minutes=20),
    ),
)
#: What a wave goes through at its end.
GATES = (
    pipelines.Stage(
        added_stages.WAVE_GATE.name,
        added_stages.WaveGateOptions(timedelta(minutes=5)),
        timeout=timedelta(minutes=15),
    ),
    pipelines.Stage(
        external_stages.WEBHOOK_GATE.name,
        external_stages.WebhookGateOptions(webhook.Webhook(url="ask", name="http://ask")),
        timeout=timedelta(minutes=15),
    ),
    pipelines.Stage(
        waiting_stages.WAIT_APPROVAL.name,
        waiting_stages.ApprovalOptions(("ana", "bo", "cy"), 2),
        timeout=timedelta(hours=1),
    ),
)
RULE = policies.ApprovalRule(count=2, timeout=timedelta(hours=1))
GROUPS = (
    (run_builder.Group(NAMES),),
    (run_builder.Group(NAMES, concurrency=2),),
    (
        run_builder.Group(("us",), "first"),
        run_builder.Group(("eu", "asia", "africa"), "rest", 1, RULE),
    ),
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

PROMOTING = (rollout_stages.PRIMARY_ROLLOUT.name,)

Key = tuple[str, str, int]
#: Days on which the first clusters may be changed, and hours in which others may not.
OFFICE = rollouts.Window("office", "0 */2 * * *", timedelta(minutes=70))
FREEZE = rollouts.Window("freeze", "0,30 * * * *", timedelta(minutes=20))
WINDOWS = (
    (),
    (policies.WindowRule(FREEZE, NAMES, deny=True),),
    (
        policies.WindowRule(OFFICE, ("us", "eu")),
        policies.WindowRule(FREEZE, ("eu", "asia"), deny=True),
    ),
)
#: How much of each kind of run is tried.
THOROUGH = settings(
    max_examples=80,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Play(RuleBasedStateMachine):
    """Plays clusters, people and time against the machine, and keeps its own books."""

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGINNING
        self.wake: datetime | None = None
        #: What somebody is carrying out, as told by commands alone.
        self.running: dict[Key, commands.StartTask] = {}
        self.wrote: set[str] = set()
        #: Tasks that have written since this process began: it says so when they end.
        self.known: set[Key] = set()
        #: Clusters of which nobody can say whether they were written to.
        self.doubtful: set[str] = set()
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
            if self.may_write(self.running.pop(key)):
                self.doubtful.add(key[1])
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
        if command.rolling_back or command.stage == state.ROLLBACK_ID or changes_nothing:
            return True
        if self.run.unfrozen:
            return True
        minutes = self.now.hour * 60 + self.now.minute
        within = {
            "office": minutes % 120 < 70,
            "freeze": minutes % 30 < 20,
            # Of a project that came meanwhile.
            "mornings": 8 * 60 <= minutes < 12 * 60,
        }
        mine = [each for each in self.run.windows if command.target in each.targets]
        allowed = [within[each.window.name] for each in mine if not each.deny]
        denied = [within[each.window.name] for each in mine if each.deny]
        return not any(denied) and (not allowed or any(allowed))

    def may_write(self, order: commands.StartTask) -> bool:
        """Say whether a task may bring something of the release: a way back does not."""
        if order.rolling_back or order.stage == state.ROLLBACK_ID:
            return False
        return not any(word in order.stage for word in ("WAIT", "WAVE_GATE", "WEBHOOK"))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def write(self, data) -> None:
        """A task writes, and nobody hears of it yet."""
        key = data.draw(st.sampled_from(sorted(self.running)))
        if self.may_write(self.running[key]):
            self.wrote.add(key[1])
            self.known.add(key)

    @rule()
    def another_process(self) -> None:
        """What the tasks under way have written is forgotten, and they begin again."""
        self.known.clear()
        self.doubtful |= self.under_way()
        running = set(self.running)
        self.send(events.TakenOver(self.now))
        assert running <= set(self.running)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), status=st.sampled_from(REPORTS))
    def another_process_in_the_middle_of_writing(self, data, status: TaskStatus) -> None:
        """All has been written, and the next process sees nothing that it would have to write."""
        self.wrote |= self.under_way()
        self.another_process()
        self.finish_one(data, status, touched=False)

    def under_way(self) -> set[str]:
        return {order.target for order in self.running.values() if self.may_write(order)}

    @precondition(lambda self: self.run.status is RunStatus.PLANNED)
    @rule()
    def start(self) -> None:
        self.send(events.Start(self.now))

    @rule(seconds=st.integers(1, 900))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(hours=st.integers(-48, 48).filter(bool))
    def clock_jumps(self, hours: int) -> None:
        """Nobody loses time by it, nor wins any."""
        before, by = self.run, timedelta(hours=hours)
        self.now += by
        self.send(events.ClockJumped(self.now, by))
        ended = {TaskStatus.FAILED, TaskStatus.UNREACHABLE, TaskStatus.CANCELLED}
        for old, new in zip(before.current.tasks, self.run.current.tasks, strict=False):
            assert old.status in ended or new.status not in ended
            if not new.is_final:
                assert new.deadline is None or new.deadline != old.deadline

    @precondition(lambda self: self.wake is not None)
    @rule()
    def sleep_until_woken(self) -> None:
        assert self.wake is not None
        self.now = max(self.now, self.wake)
        self.tick()

    @rule()
    def tick(self) -> None:
        self.send(events.TimePassed(self.now))
        if deadlines.next_time(self.run) == self.now:
            # Its clock had stopped at the very moment of a limit, and goes on at this one.
            self.send(events.TimePassed(self.now))
        due = deadlines.next_time(self.run)
        assert due is None or due > self.now, "a limit that passed has no effect any more"

    @rule(cluster=st.sampled_from((*NAMES, "nowhere")))
    def answers(self, cluster: str) -> None:
        """What is tried because of it is what waited for it, and nothing else of the stage."""
        before = self.run.current.task(cluster)
        waited = before is not None and before.status is TaskStatus.WAITING
        running = set(self.running)
        self.send(events.ClusterReachable(self.now, cluster))
        tried = {key[1] for key in self.running.keys() - running}
        if not waited and not self.run.windows:
            assert not tried, "nobody waited for it"

    @rule(most=st.integers(0, 2), hours=st.sampled_from((0, 4)))
    def project_changes(self, most: int, hours: int) -> None:
        """Nothing fails by it, and what runs goes on."""
        window = rollouts.Window("mornings", "0 8 * * *", timedelta(hours=hours))
        rule = policies.WindowRule(window, NAMES[:2], project="team-a")
        before, running = self.run, set(self.running)
        self.send(events.ProjectChanged(self.now, (rule,) if hours else (), most))
        assert running <= set(self.running)
        assert self.run.ending == before.ending

    @precondition(lambda self: self.running)
    @rule(data=st.data(), status=st.sampled_from(REPORTS), touched=st.booleans())
    def finish(self, data, status: TaskStatus, touched: bool) -> None:
        self.finish_one(data, status, touched)

    def finish_one(self, data, status: TaskStatus, touched: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.report(key, status, touched)

    @precondition(lambda self: self.running)
    @rule(touched=st.booleans())
    def all_succeed(self, touched: bool) -> None:
        for key in sorted(self.running):
            if key in self.running:
                self.report(key, TaskStatus.SUCCEEDED, touched)

    @precondition(lambda self: self.run.waves and not self.run.is_final)
    @rule(steps=st.integers(1, 6))
    def go_on(self, steps: int) -> None:
        """All goes well for a while: so later waves are reached, too."""
        for _ in range(steps):
            if self.run.status is RunStatus.PLANNED:
                self.start()
            elif self.running:
                self.all_succeed(touched=True)
            elif deadlines.waiting_group(self.run):
                self.approve("ana")
                self.approve("bo")
            elif self.wake is not None:
                self.sleep_until_woken()

    def report(self, key: Key, status: TaskStatus, touched: bool) -> None:
        order = self.running.pop(key)
        if touched and self.may_write(order):
            self.wrote.add(key[1])
        takes_back = order.rolling_back or key[0] == state.ROLLBACK_ID
        is_end = status is not TaskStatus.RUNNING
        if status is TaskStatus.ROLLED_BACK:
            is_end = bool(takes_back)
        if not is_end and self.may_write(order):
            self.doubtful.add(key[1])
        touched = touched or key in self.known
        self.known.discard(key)
        if is_end and status in (TaskStatus.SUCCEEDED, TaskStatus.ROLLED_BACK):
            if "WAVE_GATE" in key[0] and not order.rolling_back:
                self.proven.add((key[0], key[1]))
            if key[0] == state.ROLLBACK_ID:
                self.back.add(key[1])
            elif order.rolling_back:
                self.wrote.discard(key[1])
                self.doubtful.discard(key[1])
        told = statuses.Outcome(status, "so it was", touched=touched)
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
        told = statuses.Outcome(status, "from long ago", touched=True)
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
        self.send(events.SkipCluster(self.now, "ana", cluster, "it burns"))

    @rule(number=st.integers(0, 3))
    def skip_stage(self, number: int) -> None:
        stages = self.run.all_stages
        stage = stages[number].id if number < len(stages) else "nothing"
        self.send(events.SkipStage(self.now, "ana", stage, "enough"))

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
            assert before.current.stage.name in gates, "a rollout is not a gate"

    @rule()
    def unfreeze(self) -> None:
        before = self.run
        step = self.send(events.Unfreeze(self.now, "ana", "fire"))
        waited = any(each.opens for each in before.current.groups)
        assert step.refusal or (waited and not before.unfrozen), "nobody waited for a window"

    @rule()
    def reject(self) -> None:
        self.send(events.Reject(self.now, "bo", "no"))
