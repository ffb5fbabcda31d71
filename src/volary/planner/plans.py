"""Puts a plan together: strategy, stages, targets, versions.

Rollback is the engine's own and never listed here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from volary.config.text import globs
from volary.manifests.workloads import images
from volary.model import applications, errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_plans
from volary.planner import strategy


def _stages_of_run(
    app: applications.Application,
    strategy: run_plans.Strategy,
    targets: Sequence[str],
    assigned: Mapping[str, Sequence[str]] | None,
) -> tuple[pipelines.Stage, ...]:
    """Return the stages in order, each with a description.

    Stages of a strategy are limited to its clusters, and left out when it has none.

    Args:
        app: The application at the new commit.
        strategy: What was decided.
        targets: Clusters of the run; limits of stages keep only these, because a
            suspended cluster may be named but is not visited.
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
    hint = f"the targets of this run are {', '.join(targets)}"
    return tuple(
        replace(
            stage,
            index=index,
            description=_describe(stage),
            targets=stage.targets and _limit(stage, stage.targets, targets, hint),
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
        hint = f"the clusters of the strategy {stage.strategy} are {', '.join(members)}"
        yield replace(stage, targets=_limit(stage, members, stage.targets or members, hint))


def _describe(stage: pipelines.Stage) -> str:
    text = stage.description or stage.kind.description
    return f"{stage.strategy}: {text}" if stage.strategy else text


def _limit(
    stage: pipelines.Stage, names: Sequence[str], limit: Sequence[str], hint: str
) -> tuple[str, ...]:
    """Return those of the clusters that are in the limit too."""
    left = tuple(name for name in names if name in limit)
    if not left:  # an empty limit would mean every cluster
        raise errors.user_error(
            f"no cluster is left for the stage {stage.name}: it is limited to "
            f"{', '.join(stage.targets)}",
            hint=hint,
        )
    return left


def make(
    app: applications.Application,
    *,
    running: Mapping[str, strategy.Manifests | None],
    target: Mapping[str, strategy.Manifests],
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


def versions(target: Mapping[str, strategy.Manifests]) -> tuple[run_plans.Version, ...]:
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


def reason_to_skip(
    skip_on: pipelines.SkipOn, *, subject: str, changed: Sequence[str] | None
) -> str:
    """Say why the stage is skipped; empty: it is not.

    Paths first, then prefixes. Without a running commit (`changed` is None) paths cannot
    skip anything: PipeCD crashes there.

    Raises:
        errors.UserError: A pattern cannot be read.
    """
    if skip_on.paths and changed is not None:
        outside = next((path for path in changed if not globs.matches(skip_on.paths, path)), None)
        if outside is None:
            return "every changed file is among the paths that skip this stage"
    for prefix in skip_on.commit_message_prefixes:
        if prefix and subject.startswith(prefix):
            return f"the commit message starts with {prefix!r}"
    return ""


def skip_stages(
    decided: run_plans.Plan, *, subject: str, changed: Sequence[str] | None
) -> run_plans.Plan:
    """Return the plan without the stages that this commit leaves out.

    Only a pipeline's stages can be left out: PipeCD looks at the wrong ones in a quick sync.
    `subject` is the first line of the commit message; `changed` are the paths that differ from
    the running commit, None: nothing runs, or unknown.
    """
    if decided.strategy is not run_plans.Strategy.PIPELINE:
        return decided
    reasons = {
        stage.index: reason_to_skip(stage.skip_on, subject=subject, changed=changed)
        for stage in decided.stages
    }
    kept = tuple(stage for stage in decided.stages if not reasons[stage.index])
    skipped = tuple(
        run_plans.SkippedStage(stage.name, stage.index, reasons[stage.index])
        for stage in decided.stages
        if reasons[stage.index]
    )
    return replace(decided, stages=kept, skipped=skipped)
