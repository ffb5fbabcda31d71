"""Puts a plan together: strategy, stages, targets, versions.

Rollback is the engine's own and never listed here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from volary.manifests.workloads import images
from volary.model import applications, errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
)
from volary.model.runs import run_plans
from volary.planner import comparison, strategy


def _stages_of_run(
    app: applications.Application,
    strategy: run_plans.Strategy,
    targets: Sequence[str] | None = None,
    assigned: Mapping[str, Sequence[str]] | None = None,
) -> tuple[pipelines.Stage, ...]:
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
        case run_plans.Strategy.QUICK_SYNC:
            chosen: tuple[pipelines.Stage, ...] = (
                pipelines.Stage(
                    rollout_stages.SYNC.name, app.quick_sync, targets=app.quick_sync_targets
                ),
            )
        case run_plans.Strategy.PIPELINE:
            chosen = tuple(_of_strategies(app.pipeline, assigned))
        case _:
            assert_never(strategy)
    return tuple(
        replace(
            stage,
            index=index,
            description=_describe(stage),
            targets=_limit(stage, targets),
        )
        for index, stage in enumerate(chosen)
    )


def _of_strategies(
    pipeline: Sequence[pipelines.Stage], assigned: Mapping[str, Sequence[str]] | None
) -> Iterator[pipelines.Stage]:
    for stage in pipeline:
        if not stage.strategy or assigned is None:
            yield stage
            continue
        members = tuple(assigned.get(stage.strategy, ()))
        if not members:
            continue
        left = tuple(name for name in members if not stage.targets or name in stage.targets)
        if not left:  # an empty limit would mean every cluster
            raise errors.user_error(
                f"no cluster is left for the stage {stage.name}: it is limited to "
                f"{', '.join(stage.targets)}",
                hint=f"the clusters of the strategy {stage.strategy} are {', '.join(members)}",
            )
        yield replace(stage, targets=left)


def _describe(stage: pipelines.Stage) -> str:
    text = stage.description or stage.kind.description
    return f"{stage.strategy}: {text}" if stage.strategy else text


def _limit(stage: pipelines.Stage, targets: Sequence[str] | None) -> tuple[str, ...]:
    if targets is None or not stage.targets:
        return stage.targets
    left = tuple(name for name in stage.targets if name in targets)
    if not left:  # an empty limit would mean every cluster
        raise errors.user_error(
            f"no cluster is left for the stage {stage.name}: it is limited to "
            f"{', '.join(stage.targets)}",
            hint=f"the targets of this run are {', '.join(targets)}",
        )
    return left


def make(
    app: applications.Application,
    *,
    running: Mapping[str, comparison.Manifests | None],
    target: Mapping[str, comparison.Manifests],
    subject: str = "",
    forced: run_plans.Strategy | None = None,
    assigned: Mapping[str, Sequence[str]] | None = None,
) -> run_plans.Plan:
    """Return the plan of a run on the clusters named in `target`, in that order.

    See `strategy.decide` for the arguments, and `_stages_of_run` for `assigned`.

    Raises:
        UserError: The pipeline was asked for and there is none, or a stage is left with
            no cluster.
    """
    decision = strategy.decide(app, running=running, target=target, subject=subject, forced=forced)
    names = tuple(target)
    return run_plans.Plan(
        strategy=decision.strategy,
        summary=decision.summary,
        stages=_stages_of_run(app, decision.strategy, names, assigned),
        targets=names,
        versions=versions(target),
    )


def versions(target: Mapping[str, comparison.Manifests]) -> tuple[run_plans.Version, ...]:
    """Return every distinct image with the targets that use it, in order of first use.

    PipeCD looks at the first cluster that has an object; here all clusters count.
    """
    users: dict[str, list[str]] = {}
    known: dict[int, list[str]] = {}
    for name, manifests in target.items():
        if id(manifests) not in known:
            known[id(manifests)] = images.find_all(manifests)
        for image in known[id(manifests)]:
            users.setdefault(image, []).append(name)
    return tuple(_version(image, tuple(names)) for image, names in users.items())


def _version(image: str, targets: tuple[str, ...]) -> run_plans.Version:
    parsed = images.parse(image)
    return run_plans.Version(parsed.name, parsed.version, image, targets)
