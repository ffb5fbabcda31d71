"""``K8S_PRIMARY_ROLLOUT`` and ``K8S_SYNC``: the new version becomes primary.

Promotion loses no request: manifests are applied with the live routes in place of Git's, then
primary is waited for, and only when its pods are ready are the routes given back to it (PipeCD
applies the routes of Git first): at once, or step by step. ``stepWeightPromotion`` stands where
Flagger has it, with the stage that moved the traffic to canary; a step is taken per interval,
and the live routes say how many are left, so it goes on after a crash as it does without one.
What Git no longer has is pruned last. A sync does the same, and prunes variants that were left
over as well.
"""

from collections.abc import Sequence

from volary.concurrency import work_threads
from volary.manifests import objects
from volary.manifests.routes import generated_routes
from volary.manifests.services import service_targets
from volary.manifests.workloads import workloads
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages
from volary.planner import traffic_steps
from volary.stages.rollouts import rendering, service_changes
from volary.stages.runtime import applied_waits, cluster_changes, contexts, execution, stage_runners
from volary.stages.traffic import division, live_routes, routes


def step_options(begun: contexts.Stages) -> traffic_stages.ProgressiveTrafficOptions | None:
    """Return the last stage's options that return traffic in steps; None: at once."""
    for stage in reversed(begun):
        options = stage.options
        if isinstance(options, traffic_stages.ProgressiveTrafficOptions):
            return options if options.step_weight_promotion else None
    return None


async def return_in_steps(work: execution.Work, source: Sequence[manifest.Manifest]) -> None:
    """Move canary's traffic back in steps, down to none, where that is configured.

    Raises:
        StageFailedError: when primary cannot take it.
        StoppedError: when asked to stop; the traffic stays as it is then.
    """
    wanted = step_options(work.context.begun)
    if wanted is None:
        return
    while True:
        seen = await routes.observe(work, source)
        if seen is None or not seen.canary:
            return
        weight = traffic_steps.next_weight_back(wanted, seen.canary)
        position = traffic_steps.Position(weight=weight)
        asked = division.at(wanted, position, seen.baseline)
        observed = await routes.divide(work, source, asked)
        work.context.weights("traffic returns to primary", asked.shares, observed.shares)
        if not asked.canary:
            return
        await work.pause(wanted.interval)


_POD_SELECTOR = routing_options.RoutingMethod.POD_SELECTOR
Options = rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions


def plan(sources: stage_runners.Sources, options: Options) -> stage_runners.Rollout:
    """Decide what the stage applies and prunes.

    Raises:
        UserError: when there is nothing to apply, or the manifests do not allow it.
    """
    application = sources.application
    rendered = rendering.primary(sources.manifests, application, options, commit=sources.commit)
    generated_routes.check_primary(rendered, application)
    is_sync = isinstance(options, rollout_stages.SyncOptions)
    # A Service that tells no variants apart leads to primary whatever its pods are labelled.
    if not is_sync or live_routes.candidates(rendered, application):
        _check_pods(rendered, application)
    variants = () if is_sync else (variant.Variant.PRIMARY,)
    return stage_runners.Rollout(rendered, options.prune, variants, follows_pods=True)


def _check_pods(
    rendered: Sequence[manifest.Manifest], application: applications.Application
) -> None:
    """Refuse pods of primary that a Service's selector cannot tell from the canary's.

    Only where a pipeline moves a Service's selector. The workloads' own selectors need not have
    the label (PipeCD asks for it there, where it cannot be written any more).
    """
    moves = any(stage.kind.routes_traffic for stage in application.pipeline)
    if application.traffic_routing.method is not _POD_SELECTOR or not moves:
        return
    label = application.variant_label
    problems = [
        errors.Problem(
            f'the pods of {item.key.title} lack the label "{label.key}: {label.primary_value}"',
            item.origin,
            hint="write it into spec.template.metadata.labels, or set variantLabel: {onPods: true}"
            " in the application file",
        )
        for item in workloads.find(rendered, application.workloads)
        if objects.text(item.body, "spec", "template", "metadata", "labels", label.key)
        != label.primary_value
    ]
    if problems:
        raise errors.UserError(*dict.fromkeys(problems))


async def run(work: execution.Work, options: Options) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    source = await work.load(context.target_source)
    sources = stage_runners.Sources(context.application, source, context.task.commit)
    planned = await work_threads.run_many(
        source, "making primary's manifests", plan, sources, options
    )
    route_objects = await live_routes.of(work, planned.manifests)
    held = live_routes.keep_live(planned.manifests, route_objects)
    now, late = live_routes.split_new(held, route_objects)
    services: list[manifest.Manifest] = []
    if context.application.rolls_out_service:
        now, services = service_targets.split_by_readiness(now, context.application)
    followers = service_changes.ServiceChanges(work, waiting=services)
    changes = await cluster_changes.apply(work, now, followers.hold)
    seen = await applied_waits.wait(work, followers.others(now))
    if followers.waiting:
        seen = f"{seen}; {await followers.finish()}"
    if late:
        await cluster_changes.apply(work, late)
    await return_in_steps(work, planned.manifests)
    await routes.return_to_primary(work, route_objects, planned.manifests)
    if planned.prune:
        if context.application.rolls_out_service:
            context.propagation.note_earlier()
        if followers.is_switched or context.application.rolls_out_service:
            await work.settle()
        refused = await _prune(work, planned)
        seen = f"{seen}; {refused}" if refused else seen
    return f"primary: {changes.summary}; {seen}"


async def _prune(work: execution.Work, planned: stage_runners.Rollout) -> str:
    """Prune, and return why that was refused; empty: it was not."""
    work.check_stop()
    work.context.progress("pruning what Git no longer has")
    result = await cluster_changes.prune_away(
        work, planned.manifests, cluster_changes.scope(work, *planned.variants)
    )
    if not result.deleted and not result.refusal:
        work.note("nothing to prune")
    return result.refusal


PRIMARY = stage_runners.StageRunner(kind=rollout_stages.PRIMARY_ROLLOUT, run=run, plan=plan)
SYNC = stage_runners.StageRunner(kind=rollout_stages.SYNC, run=run, plan=plan)
