"""Given a server that keeps a run of 12 stages over 500 clusters; when all of these report at once.

Nobody carries it out: what is told of it is written into its feed, as whoever carries out would.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import server_world
from volary.controller.status import run_origins
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records

STAGES, CLUSTERS = 12, 500
RUN = "run-large"
NAMES = tuple(f"cluster-{number:03}" for number in range(CLUSTERS))


async def keep_run(world: server_world.Served) -> None:
    """Store a run whose first stage is under way on all clusters; nobody carries it out."""
    moment = world.clock.now()
    stages = tuple(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), index=place)
        for place in range(STAGES)
    )
    spec = run_builder.RunSpec("web", "c0ffee", run_builder.one_group(NAMES), stages)
    run = run_builder.new_run(RUN, spec, moment)
    run = replace(
        run,
        status=statuses.RunStatus.RUNNING,
        reason="it goes on",
        started=moment,
        deadline=moment + timedelta(hours=6),
    )
    origin = run_origins.to_document(run_origins.Origin("shop", "web/volary.yaml"))
    made = transitions.first_transition(run, origin, moment)
    await world.service.store.keep_transition(made, fence=None)


async def tell_progress(world: server_world.Served, *, version: int, ready: int) -> int:
    """Tell of each cluster that it got on; returns the number of events."""
    stored = await world.service.store.runs.load(RUN)
    assert stored is not None
    moment = world.clock.now()
    stage = stored.stages[0]
    told = tuple(
        run_records.EventRecord(
            moment,
            name,
            {
                "event": name,
                "run": RUN,
                "at": moment.isoformat(),
                "stage": stage.id,
                "stageName": stage.name,
                "target": cluster,
                "attempt": 1,
                **more,
            },
        )
        for cluster in NAMES
        for name, more in _progress(ready)
    )
    made = run_records.Transition(stored.head, version, moment, feed=told)
    await world.service.store.keep_transition(made, fence=None)
    world.service.kept.notify_all()
    return len(told)


def _progress(ready: int) -> Sequence[tuple[str, dict[str, Any]]]:
    if ready == 1:
        return (("task-started", {"deadline": None}),)
    sentence = f"{ready} of 10 pods ready"
    return (("task-progressed", {"sentence": sentence, "ready": ready, "total": 10}),)
