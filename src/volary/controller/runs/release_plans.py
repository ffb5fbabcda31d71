"""Releases: from a run request to a run that can begin, and from a stored run to one that goes on.

A few lost clusters are left out and backfilled later. When more than half are lost it is more
likely that the controller itself is cut off, so the release waits (`why_wait_for_clusters`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from volary.config.crosscheck import eligibility, fleet_checks
from volary.controller.planning import preflight, preparation, project_checks, run_renderer
from volary.controller.runs import ready_runs
from volary.controller.status import (
    application_state,
    application_statuses,
    run_origins,
    run_requests,
)
from volary.engine.runs import policies, run_builder, state, updates
from volary.model import applications, errors, phrases
from volary.model.fleet import fleets, taints
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages
from volary.model.runs import run_plans

_LOST = (taints.NOT_READY, taints.UNREACHABLE)


def why_wait_for_clusters(app: applications.Application, members: fleets.Fleet) -> str:
    """Return why a release waits, one sentence; empty: it does not."""
    there = [
        cluster
        for cluster in fleet_checks.deployment_targets(app, members)
        if not cluster.suspended
    ]
    away = [cluster.name for cluster in there if _is_lost(app, cluster)]
    if 2 * len(away) <= len(there):
        return ""
    return (
        f"{len(away)} of {len(there)} clusters are not ready or do not answer"
        f" ({phrases.first_of(away)}): a release goes on without half of its clusters at most"
    )


def _is_lost(app: applications.Application, cluster: fleets.Cluster) -> bool:
    untolerated = eligibility.untolerated_taints(app, cluster)
    return any(taint.by == taints.BY_RULE and taint.key in _LOST for taint in untolerated)


_LONGEST_ROLLBACK = timedelta(minutes=30)


class NotYetError(errors.TemporaryError):
    """The release cannot begin as things are; it may later."""


async def plan(
    dependencies: ready_runs.Dependencies,
    application: application_state.ApplicationState,
    run_request: run_requests.RunRequest,
    told: Callable[[str], None] = lambda _: None,
) -> preparation.PreparedRun:
    """Find out everything about a requested run; writes nothing.

    `told` is given a sentence with the clusters that are waited for.

    Raises:
        errors.UserError: Something has to be mended first.
        errors.TemporaryError: It may work later.
    """
    place, status = ready_runs.source_of(application), application.status
    project = project_checks.require(dependencies.projects(), application.record.project)
    opened = await ready_runs.open_application(dependencies, place, run_request.commit)
    seen = project_checks.seen_fleet(project, dependencies.clusters.fleet)
    away = why_wait_for_clusters(opened.application, seen)
    if away and not run_request.kind.is_rollback:
        raise NotYetError(away)
    wish = preparation.RunOptions(
        place.path,
        commit=opened.commit,
        strategy=run_request.strategy,
        assigned_before=status.releases.assigned_before,
        placed=status.placed,
        patience=dependencies.patience,
        goes_back=run_request.kind.is_rollback,
    )
    prepared = await preparation.prepare(
        remembering(wish, status),
        dependencies.clusters,
        opened,
        renderer=dependencies.renderer,
        told=told,
        project=project,
    )
    refuse_scripts(prepared.plan.stages, allowed=dependencies.executor_options.permissions.scripts)
    return prepared


def remembering(
    wish: preparation.RunOptions, status: application_statuses.ApplicationStatus
) -> preparation.RunOptions:
    """Return the options with what is known of the application from earlier runs."""
    releases = status.releases
    return replace(
        wish,
        remembered=releases.running,
        kept=releases.exceptions(releases.running),
        owners=status.owners,
        assigned=releases.assigned if releases.is_divided else None,
    )


def refuse_scripts(stages: Sequence[pipelines.Stage], *, allowed: bool) -> None:
    """Refuse a plan with scripts where none are run; a stage is not left out in silence.

    Raises:
        errors.UserError: There is one.
    """
    if allowed:
        return
    script_stages = [
        stage.index + 1 for stage in stages if stage.kind is external_stages.SCRIPT_RUN
    ]
    if script_stages:
        raise errors.user_error(
            f"stage {script_stages[0]} is a {external_stages.SCRIPT_RUN.name}, and this server runs"
            " no scripts",
            hint="remove the stage, or let who runs the server write `scripts: allow` into its"
            " settings: whoever may push then runs programs there",
        )


async def run_preflight(
    dependencies: ready_runs.Dependencies,
    prepared: preparation.PreparedRun,
    told: Callable[[str], None],
) -> tuple[preflight.Trial, ...]:
    """Ask every cluster whether it would take all that is going to be applied.

    Raises:
        errors.UserError: One of them would not.
        NotYetError: One of them cannot be asked.
    """
    trials = await preflight.try_run(
        prepared, dependencies.clusters, patience=dependencies.patience, told=told
    )
    problems = preflight.problems(trials)
    if problems:
        raise errors.UserError(*problems)
    silent = preflight.silent(trials)
    if prepared.options.on_unreachable is policies.OnUnreachable.FAIL:
        missing = [why for name, why in silent.items() if name not in prepared.waves.lenient]
        if missing:
            raise NotYetError("; ".join(missing))
    return trials


async def ready(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    run_request: run_requests.RunRequest,
    prepared: preparation.PreparedRun,
    trials: Sequence[preflight.Trial],
    *,
    can_hold: bool = True,
) -> ready_runs.ReadyRun:
    """Return the new run of a prepared request, without clusters that did not answer.

    Args:
        dependencies: What planning works with.
        place: Where the application lives.
        run_request: The run gets its id.
        prepared: What was found out for it.
        trials: What the clusters said to it.
        can_hold: Somebody can be asked, so that a failure may be held for a person.

    Raises:
        errors.UserError: There is nothing to do.
    """
    warnings = (*prepared.warnings, *preflight.unmeasured(trials))
    prepared = replace(prepared, warnings=warnings)
    plan = plan_of(prepared, can_hold=can_hold)
    policy = replace(plan.policy, again_after=dependencies.again_after)
    plan = replace(plan, policy=policy)
    run = run_builder.new_run(run_request.id, plan, dependencies.clock.now())
    for target, reason in preflight.silent(trials).items():
        # Of a wave with a rule for it, a cluster may be back when its turn comes.
        if target not in prepared.waves.lenient:
            why = f"unreachable: {reason}"
            run = updates.leave_out(run, target, why, state.LeftOut.UNREACHABLE)
    origin = _origin(place, run_request, prepared)
    application = prepared.opened.application
    return await ready_runs.of_plan(dependencies, application, prepared, run, origin)


async def reverts(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    commit: str,
    run: state.Run,
) -> bool:
    """Say whether `commit` is, in content, what ran before `run`, and not what `run` brings.

    Compared is what is rendered for the run's clusters, so a revert together with changes
    elsewhere in the repository counts, and a change of a shared base does not pass unnoticed.
    """
    if not run.running_commit or commit == run.commit:
        return False
    try:
        before = await _digests(dependencies, place, run.running_commit, run.targets)
        return (
            await _digests(dependencies, place, commit, run.targets) == before
            and await _digests(dependencies, place, run.commit, run.targets) != before
        )
    except errors.UserError:
        return False


async def _digests(
    dependencies: ready_runs.Dependencies,
    place: ready_runs.ApplicationSource,
    commit: str,
    targets: Sequence[str],
) -> Mapping[str, str]:
    """Return what an application's manifests hash to at a commit, by target.

    Raises:
        errors.UserError: It cannot be rendered.
    """
    opened = await ready_runs.open_application(dependencies, place, commit)
    return await run_renderer.digests_by_target(
        dependencies.renderer, opened, targets, dependencies.clusters.fleet
    )


def plan_of(prepared: preparation.PreparedRun, *, can_hold: bool) -> run_builder.RunSpec:
    """Return what the engine makes a run from.

    Where nobody can be asked (`can_hold` is false) a failure is never held for a person.
    """
    application, wish = prepared.opened.application, prepared.options
    on_failure = _on_failure(application.planner, can_hold=can_hold)
    limit = wish.timeout or application.timeout
    spec = run_builder.RunSpec(
        application=application.name,
        commit=prepared.opened.commit,
        groups=run_builder.one_group(prepared.plan.targets, concurrency=wish.concurrency),
        stages=prepared.plan.stages,
        running_commit=prepared.running.commit,
        running_commits=prepared.running.others,
        policy=policies.Policy(
            on_failure=on_failure,
            on_unreachable=wish.on_unreachable,
            stop_reason="autoRollback is off" if on_failure is policies.OnFailure.STOP else "",
            timeout=limit,
            rollback_timeout=min(limit, _LONGEST_ROLLBACK),
            failures=prepared.waves.failures,
            unreachable=prepared.waves.unreachable,
        ),
        waves=prepared.waves.rules_with(on_failure),
        steps=prepared.waves.steps,
        windows=prepared.waves.windows,
        absent=prepared.absent,
        warnings=tuple(map(str, prepared.warnings)),
    )
    return project_checks.limited(spec, prepared.project)


def _on_failure(planner: applications.Planner, *, can_hold: bool) -> policies.OnFailure:
    if planner.hold_on_failure and can_hold:
        return policies.OnFailure.HOLD
    return policies.OnFailure.ROLLBACK if planner.auto_rollback else policies.OnFailure.STOP


def parse_strategy(word: str) -> run_plans.Strategy | None:
    """Read a strategy as people name it; empty: the planner decides.

    Raises:
        errors.UserError: It is none.
    """
    if not word:
        return None
    known = {
        "quick": run_plans.Strategy.QUICK_SYNC,
        **{strategy.value: strategy for strategy in run_plans.Strategy},
    }
    if word not in known:
        raise errors.user_error(f"{word} is no strategy", hint="quick or pipeline")
    return known[word]


def _origin(
    place: ready_runs.ApplicationSource,
    run_request: run_requests.RunRequest,
    made: preparation.PreparedRun,
) -> run_origins.Origin:
    return replace(
        ready_runs.origin_of(place, run_request, made.opened, made.plan.targets),
        reason=run_requests.reason_for_commit(run_request, made.opened.subject),
        strategy=made.plan.strategy.value,
        summary=made.plan.summary,
        owners=made.owners,
        warnings=tuple(str(warning) for warning in made.warnings),
        chosen=made.chosen,
        assigned=made.numbers.now,
        assigned_before=made.numbers.before,
    )
