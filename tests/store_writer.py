"""A process that carries out a run and stores every step, until somebody ends it.

``store_writer.py ADDRESS SEED [step]``: prints ``kept VERSION`` after each step; with ``step`` it
waits for a line on its input before each. Ends with code 3 once it was overtaken.
"""

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta

from volary.engine.observers import observer_events
from volary.engine.persistence import codec, transitions
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import RunStatus, TaskStatus
from volary.store import factory, fencing, stores

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("us", "eu", "asia")
STAGES = tuple(
    pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
    )
    for _ in range(30)
)
RULE = policies.ApprovalRule(count=2, timeout=timedelta(days=300))


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (the process's own clock, for its lease)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def new_run() -> state.Run:
    groups = (run_builder.Group(NAMES[:1], "first"), run_builder.Group(NAMES[1:], "rest", 1, RULE))
    policy = policies.Policy(on_failure=policies.OnFailure.HOLD, timeout=timedelta(days=300))
    return run_builder.new_run(
        "run-1", run_builder.RunSpec("shop", "new", groups, STAGES, "old", policy), BEGINNING
    )


def choose(run: state.Run, version: int, dice: random.Random) -> events.Event:
    """Choose what happens next: mostly progress, sometimes trouble, never the end of all."""
    now = BEGINNING + timedelta(seconds=version)
    if run.status is RunStatus.PLANNED:
        return events.Start(now)
    running = run.current.running
    if running:
        task = dice.choice(running)
        status = dice.choice([TaskStatus.SUCCEEDED] * 3 + [TaskStatus.FAILED])
        told = statuses.Outcome(status, f"it was {dice.random()}", ("a", "b"), touched=True)
        return events.TaskFinished(now, run.current.id, task.target, task.attempt, told)
    if run.held:
        return events.Retry(now, "ana")
    return events.Approve(now, f"person {dice.randrange(9)}", "looks good")


async def drive(store: stores.Store, dice: random.Random, *, step: bool) -> None:
    lease = await store.leases.acquire("drive", "writer", timedelta(minutes=1))
    assert lease is not None
    stored = await store.runs.load("run-1")
    if stored is None:
        first = transitions.first_transition(new_run(), {"by": "test"}, BEGINNING)
        await store.keep_transition(first, fence=lease.fence)
        stored = await store.runs.load("run-1")
    assert stored is not None
    run, version = codec.read_run(stored), stored.version
    while not run.is_final:
        if step:
            say("ready")
            await asyncio.to_thread(sys.stdin.readline)
        event = choose(run, version, dice)
        done = machine.advance(run, event)
        if done.run is run:
            continue
        told = observer_events.between(run, done.run, event.at)
        kept = transitions.step_transition(run, (event,), done.run, told, version)
        version = (await store.keep_transition(kept, fence=lease.fence)).version
        run = done.run
        say("kept", version)


async def main() -> int:
    dice = random.Random(int(sys.argv[2]))
    async with factory.open_store(sys.argv[1], clock=RealClock()) as store:
        try:
            await drive(store, dice, step="step" in sys.argv)
        except fencing.LeaseLost as error:
            say("overtaken:", error)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
