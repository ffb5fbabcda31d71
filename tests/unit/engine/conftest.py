"""A conversation with the machine, written down as text.

``>> event`` lines are said to it; ``<< command`` lines are what it answers, and ``== status:
reason`` what the run says of itself when its status changed. `converse` returns the whole
talk, so a test compares one text with another.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import commands, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = (
    pipelines.Stage(
        rollout_stages.CANARY_ROLLOUT.name,
        rollout_stages.VariantRolloutOptions(),
        timeout=timedelta(minutes=10),
    ),
    pipelines.Stage(
        rollout_stages.PRIMARY_ROLLOUT.name,
        rollout_stages.PrimaryRolloutOptions(),
        timeout=timedelta(minutes=20),
    ),
)
UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


class Conversation:
    """Speaks to the machine about one run."""

    def __init__(self, run: state.Run) -> None:
        self.run = run
        self.now = BEGINNING
        self.talk: list[str] = []

    def say(self, line: str) -> None:
        self.talk.append(f">> {line}")
        before = self.run
        step = machine.advance(before, self.event(line))
        self.run = step.run
        self.talk += [f"<< {text}" for text in map(self.word, step.commands) if text]
        if step.refusal:
            self.talk.append(f"<< no: {step.refusal}")
        if self.run.status is not before.status:
            self.talk.append(f"== {self.run.status}: {self.run.reason}")

    def event(self, line: str) -> events.Event:
        verb, _, rest = line.partition(" ")
        if verb.startswith("+"):
            self.now += timedelta(**{UNITS[verb[-1]]: int(verb[1:-1])})
            return events.TimePassed(self.now)
        asked: dict[str, Callable[[], events.Event]] = {
            "start": lambda: events.Start(self.now),
            "taken-over": lambda: events.TakenOver(self.now),
            "answers": lambda: events.ClusterReachable(self.now, rest),
            "cancel": lambda: events.Cancel(
                self.now, "ana", rollback="rollback" in rest, now="now" in rest
            ),
            "pause": lambda: events.PauseAsked(self.now, "ana"),
            "resume": lambda: events.Resume(self.now, "ana"),
            "skip": lambda: events.SkipCluster(self.now, "ana", rest, "on fire"),
            "skip-stage": lambda: events.SkipStage(self.now, "ana", rest, "enough"),
            "retry": lambda: events.Retry(self.now, "ana", tuple(rest.split())),
            "approve": lambda: events.Approve(self.now, rest),
            "reject": lambda: events.Reject(self.now, rest, "too risky"),
        }
        return asked[verb]() if verb in asked else self.finished(verb, rest)

    def finished(self, target: str, rest: str) -> events.Event:
        """``us succeeded``; ``us succeeded undone: why``; ``eu failed untouched: no image``."""
        how, _, reason = rest.partition(": ")
        status, _, touched = how.partition(" ")
        task = self.run.current.task(target)
        told = statuses.Outcome(
            TaskStatus(status),
            reason or "done",
            touched=touched != "untouched",
            exception=reason if touched == "undone" else "",
        )
        attempt = task.attempt if task else 1
        return events.TaskFinished(self.now, self.run.current.id, target, attempt, told)

    def word(self, command: commands.Command) -> str:
        match command:
            case commands.StartTask():
                again = f" again ({command.attempt})" if command.attempt > 1 else ""
                return f"start {command.stage} on {command.target}{again}"
            case commands.StopTask():
                return f"stop {command.target} {command.how}: {command.reason}"
            case commands.Release():
                return "release"
            case commands.WakeAt():
                return ""


@pytest.fixture
def planned_run() -> Callable[..., state.Run]:
    """Make a planned run of two stages on us and eu."""

    def make(
        targets: tuple[str, ...] = ("us", "eu"),
        *,
        groups: tuple[run_builder.Group, ...] = (),
        stages: tuple[pipelines.Stage, ...] = STAGES,
        concurrency: int = 0,
        **policy: object,
    ) -> state.Run:
        made = run_builder.RunSpec(
            "shop",
            "new",
            groups or run_builder.one_group(targets, concurrency=concurrency),
            stages,
            "old",
            policies.Policy(**policy),  # type: ignore[arg-type]
        )
        return run_builder.new_run("run-1", made, BEGINNING)

    return make


@pytest.fixture
def begun(planned_run: Callable[..., state.Run]) -> Callable[..., state.Run]:
    """Make a run that has begun: its first stage is under way on as many clusters as it may."""

    def make(*targets: tuple[str, ...], **rest: object) -> state.Run:
        return machine.advance(planned_run(*targets, **rest), events.Start(BEGINNING)).run

    return make


@pytest.fixture
def converse() -> Callable[[state.Run, str], str]:
    """Say the ``>>`` lines of a script to the machine and return the whole talk."""

    def play(run: state.Run, script: str) -> str:
        conversation = Conversation(run)
        for line in script.splitlines():
            if line.strip().startswith(">> "):
                conversation.say(line.strip()[3:])
        return "\n".join(conversation.talk)

    return play


@pytest.fixture
def played() -> Callable[[run_builder.RunSpec, str], state.Run]:
    """Make a run of a plan, say the ``>>`` lines of a script to it, and return what it became."""

    def play(made: run_builder.RunSpec, script: str) -> state.Run:
        conversation = Conversation(run_builder.new_run("run-1", made, BEGINNING))
        for line in script.splitlines():
            if line.strip().startswith(">> "):
                conversation.say(line.strip()[3:])
        return conversation.run

    return play
