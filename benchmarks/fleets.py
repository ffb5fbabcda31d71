"""What waves cost the machine: ``python -m benchmarks.fleets`` writes ``fleets.md``.

A run in ten waves is planned, and advanced from its start to its end by events alone: no clusters,
no event loop, no store. Then releases on sandbox clusters, which `rollouts` carries out.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import rollouts

WAVES = 10
SIZES = (10, 100, 1_000, 10_000)
QUICK_SIZES = (10, 100)
_FILE = Path(__file__).with_name("fleets.md")
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds for one size, the best of the repetitions."""

    clusters: int
    planned: float
    advanced: float
    tasks: int

    @property
    def line(self) -> str:
        """Its row of the table."""
        per_task = self.advanced / self.tasks * 1e6
        return (
            f"| {self.clusters:,} | {self.planned * 1000:.2f} ms | {self.tasks:,} "
            f"| {self.advanced:.3f} s | {per_task:.0f} µs |"
        )


_PAGE = f"""# What waves cost

Written by `python -m benchmarks.fleets` (`--quick`: a short form).

## Planning and advancing

Planning {WAVES} waves, and advancing a run of two
stages and the proof at the end of each wave from its start to its end, event by event, without
clusters, event loop or store. The best of {REPETITIONS}, in CPU time.

| Clusters | Planning the waves | Tasks | Advancing the run | per task |
| --- | --- | --- | --- | --- |
"""


def main() -> None:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few clusters; two minutes")
    parser.add_argument("--output", type=Path, default=_FILE, help="file to write")
    chosen = parser.parse_args()
    rows = [measure(size) for size in (QUICK_SIZES if chosen.quick else SIZES)]
    page = _PAGE + "".join(f"{each.line}\n" for each in rows)
    page += rollouts.render(rollouts.QUICK if chosen.quick else rollouts.FULL)
    chosen.output.write_text(page)
    sys.stdout.write(page)


def measure(clusters: int) -> Measured:
    """Measure one size."""
    from volary.controller.planning import run_waves
    from volary.engine.runs import run_builder
    from volary.model import applications
    from volary.model.fleet import fleets
    from volary.model.pipeline import pipelines
    from volary.model.pipeline.stage_kinds import rollout_stages
    from volary.model.placement import rollouts as placement_rollouts

    members = [
        fleets.Cluster(f"cluster-{each:05}", {"region": f"r{each % 8}"}) for each in range(clusters)
    ]
    share = placement_rollouts.Share(100 // WAVES, is_percentage=True)
    moves = placement_rollouts.Waves(
        tuple(placement_rollouts.Wave(f"wave-{each}", size=share) for each in range(WAVES))
    )
    shop = applications.Application("shop", waves=moves)
    stages = (
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), index=0),
        pipelines.Stage(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions(), index=1
        ),
    )
    planned = run_waves.plan_waves(shop, members, stages)
    groups = run_builder.one_group([each.name for each in members])
    made = run_builder.RunSpec(
        "shop", "new", groups, stages, waves=planned.rules, steps=planned.steps
    )
    tasks = clusters * (len(stages) + 1)
    return Measured(
        clusters,
        _best(lambda: run_waves.plan_waves(shop, members, stages)),
        _best(lambda: _carry_out(made, tasks)),
        tasks,
    )


def _carry_out(made: object, tasks: int) -> None:
    """Advance a run from its start to its end, every task succeeding at once."""
    from volary.engine.runs import run_builder
    from volary.engine.state_machine import commands, events, machine
    from volary.model import statuses

    assert isinstance(made, run_builder.RunSpec)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    done = statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)
    step = machine.advance(run_builder.new_run("run", made, now), events.Start(now))
    orders, carried_out = list(step.commands), 0
    while orders:
        order = orders.pop()
        if isinstance(order, commands.StartTask):
            carried_out += 1
            now += timedelta(milliseconds=1)
            ended = events.TaskFinished(now, order.stage, order.target, order.attempt, done)
            step = machine.advance(step.run, ended)
            orders += step.commands
    if step.run.status is not statuses.RunStatus.SUCCEEDED or carried_out != tasks:
        raise RuntimeError(f"{carried_out} of {tasks} tasks: {step.run.reason}")


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPETITIONS):
        gc.collect()
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


if __name__ == "__main__":
    main()
