"""Runs in waves over sandbox clusters, from beginning to end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import engine_world
import stage_contexts
from stage_world import NEW, OLD, SPEED, Clock, World, world
from volary.controller.planning import run_waves
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import policies, run_builder, state
from volary.model import applications, clocks
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import rollouts
from volary.stages import executor as stage_executor

__all__ = [
    "NEW",
    "OLD",
    "SPEED",
    "Clock",
    "Reacting",
    "Story",
    "begins",
    "moved",
    "starts",
    "world",
]

SYNC = (
    pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(seconds=20)
    ),
)


@dataclass
class Story:
    """What a run told, in order."""

    told: list[feed.RunEvent] = field(default_factory=list)
    run: state.Run | None = None
    runner: runners.AnyRunner | None = None
    #: Told each event as well, at once.
    heard_by: list[Callable[[feed.RunEvent], None]] = field(default_factory=list)

    def notify(self, event: feed.RunEvent) -> None:
        self.told.append(event)
        for each in self.heard_by:
            each(event)

    def started(self) -> list[tuple[str, str]]:
        """The (stage, cluster) pairs in the order in which they began."""
        return [
            (each.stage, each.target) for each in self.told if isinstance(each, feed.TaskStarted)
        ]


async def moved(
    given: World,
    waves: rollouts.Waves,
    *,
    stages: Sequence[pipelines.Stage] = SYNC,
    labels: Mapping[str, Mapping[str, str]] | None = None,
    policy: policies.Policy | None = None,
    story: Story | None = None,
    clock: clocks.Clock | None = None,
) -> Story:
    """Carry out a run of the new version in waves, and return what it told."""
    story, clock = story or Story(), clock or Clock()
    application: applications.Application = replace(given.application, waves=waves)
    given.application = application
    clusters = [fleets.Cluster(name, (labels or {}).get(name, {})) for name in given.names]
    numbered = tuple(replace(each, index=place) for place, each in enumerate(stages))
    planned = run_waves.plan_waves(application, clusters, numbered)
    made = run_builder.RunSpec(
        application.name,
        NEW,
        run_builder.one_group(given.names),
        numbered,
        OLD,
        replace(
            policy or policies.Policy(again_after=timedelta(seconds=0.5)),
            failures=planned.failures,
            unreachable=planned.unreachable,
        ),
        planned.rules,
        planned.steps,
        windows=planned.windows,
    )

    async def render(commit: str, target: str) -> list[manifest.Manifest]:
        return given.special.get((commit, target)) or given.sources[commit]

    carrying = stage_executor.ClusterExecutor(
        application, given.clients, render, clock, given.options
    )
    run = run_builder.new_run(stage_contexts.RUN_ID, made, clock.now())
    async with engine_world.chosen(clock) as process:
        story.runner = process.runner(run, carrying, story)
        story.run = await story.runner.carry_out()
    return story


class Reacting(Story):
    """Does something once, when something is told for the first time."""

    def __init__(
        self, when: Callable[[feed.RunEvent], bool], then: Callable[["Reacting"], object]
    ) -> None:
        super().__init__()
        self._when, self._then, self._done = when, then, False

    def notify(self, event: feed.RunEvent) -> None:
        super().notify(event)
        if not self._done and self._when(event):
            self._done = True
            self._then(self)


def begins(stage_id: str) -> Callable[[feed.RunEvent], bool]:
    return lambda event: isinstance(event, feed.StageStarted) and event.stage == stage_id


def starts(stage_id: str, target: str) -> Callable[[feed.RunEvent], bool]:
    return lambda event: (
        isinstance(event, feed.TaskStarted) and (event.stage, event.target) == (stage_id, target)
    )
