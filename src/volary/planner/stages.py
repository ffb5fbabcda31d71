"""The stages of a run. Rollback is the engine's own and never listed here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from volary.model import application, errors, plan, stage

#: What a stage does, for stages without a description (PipeCD: canonical descriptions).
DESCRIPTIONS = {
    stage.StageName.SYNC: "Sync by applying all manifests",
    stage.StageName.CANARY_ROLLOUT: "Rollout the new version as CANARY to all targets",
    stage.StageName.CANARY_CLEAN: "Remove all canary resources",
    stage.StageName.PRIMARY_ROLLOUT: "Rollout the new version as PRIMARY to all targets",
    stage.StageName.BASELINE_ROLLOUT: "Rollout the current version as BASELINE to all targets",
    stage.StageName.BASELINE_CLEAN: "Remove all baseline resources",
    stage.StageName.TRAFFIC_ROUTING: "Update traffic routing percentages for all targets",
    stage.StageName.WAIT: "Wait before the next stage",
    stage.StageName.WAIT_APPROVAL: "Wait until people agree",
    stage.StageName.ANALYSIS: "Measure the new version and judge it",
    stage.StageName.PROGRESSIVE_TRAFFIC: "Move traffic to the new version step by step",
    stage.StageName.BLUE_GREEN: "Switch all traffic to the new version",
    stage.StageName.WEBHOOK_GATE: "Wait until a webhook agrees",
    stage.StageName.SCRIPT_RUN: "Run a script",
    stage.StageName.ROLLBACK: "Rollback the deployment",
    stage.StageName.WAVE_GATE: "See the wave's clusters healthy on this release",
    stage.StageName.PLACEMENT_SYNC: "Bring clusters what moves to them, at the release they run",
    stage.StageName.PLACEMENT_REMOVE: "Remove the application from clusters that it leaves",
}


def build(
    app: application.Application,
    strategy: plan.Strategy,
    targets: Sequence[str] | None = None,
    assigned: Mapping[str, Sequence[str]] | None = None,
) -> tuple[stage.Stage, ...]:
    """Return the stages in order, each with a description.

    Stages of a strategy are limited to its clusters, and left out when it has none.

    Args:
        app: The application at the new commit.
        strategy: What was decided.
        targets: Clusters of the run; limits of stages keep only these, because a
            suspended cluster may be named but is not visited. None: keep limits as written.
        assigned: Names of the run's clusters by strategy; None: strategies limit nothing.

    Raises:
        UserError: A stage is left with no cluster.
    """
    match strategy:
        case plan.Strategy.QUICK_SYNC:
            chosen: tuple[stage.Stage, ...] = (
                stage.Stage(stage.StageName.SYNC, app.quick_sync, targets=app.quick_sync_targets),
            )
        case plan.Strategy.PIPELINE:
            chosen = tuple(_of_strategies(app.pipeline, assigned))
        case _:
            assert_never(strategy)
    return tuple(
        replace(
            each,
            index=index,
            description=_describe(each),
            targets=_limit(each, targets),
        )
        for index, each in enumerate(chosen)
    )


def _of_strategies(
    pipeline: Sequence[stage.Stage], assigned: Mapping[str, Sequence[str]] | None
) -> Iterator[stage.Stage]:
    for each in pipeline:
        if not each.strategy or assigned is None:
            yield each
            continue
        members = tuple(assigned.get(each.strategy, ()))
        if not members:
            continue
        left = tuple(name for name in members if not each.targets or name in each.targets)
        if not left:  # an empty limit would mean every cluster
            raise errors.user_error(
                f"no cluster is left for the stage {each.name}: it is limited to "
                f"{', '.join(each.targets)}",
                hint=f"the clusters of the strategy {each.strategy} are {', '.join(members)}",
            )
        yield replace(each, targets=left)


def _describe(each: stage.Stage) -> str:
    text = each.description or DESCRIPTIONS[each.name]
    return f"{each.strategy}: {text}" if each.strategy else text


def _limit(each: stage.Stage, targets: Sequence[str] | None) -> tuple[str, ...]:
    if targets is None or not each.targets:
        return each.targets
    left = tuple(name for name in each.targets if name in targets)
    if not left:  # an empty limit would mean every cluster
        raise errors.user_error(
            f"no cluster is left for the stage {each.name}: it is limited to "
            f"{', '.join(each.targets)}",
            hint=f"the targets of this run are {', '.join(targets)}",
        )
    return left
