"""``K8S_PRIMARY_ROLLOUT`` and ``K8S_SYNC``: the new version becomes primary.

Promotion loses no request: manifests are applied with the live routes in place of
Git's, then primary is waited for, and only when its pods are ready are the routes given
back to it (PipeCD applies the routes of Git first). What Git no longer has is pruned
last. A sync does the same, and prunes variants that were left over as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.manifests import made_routes, objects, service_targets, workloads
from volary.model import application as applications
from volary.model import errors, manifest, outcome, problem, stage, variant
from volary.stages import carrying, promotion, rendering, routes, switching, work
from volary.stages import context as contexts

_POD_SELECTOR = applications.RoutingMethod.POD_SELECTOR
_Options = stage.SyncOptions | stage.PrimaryRolloutOptions


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be applied, and what carries routes among it."""

    manifests: tuple[manifest.Manifest, ...]
    routing: tuple[manifest.Manifest, ...]
    prune: bool
    #: Whose objects a prune looks at; empty: of all variants.
    variants: tuple[variant.Variant, ...]


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: _Options,
    *,
    commit: str,
) -> Plan:
    """Decide what the stage applies and prunes.

    Raises:
        UserError: when there is nothing to apply, or the manifests do not allow it.
    """
    is_sync = isinstance(options, stage.SyncOptions)
    rendered = rendering.primary(source, application, options, commit=commit)
    made_routes.check_primary(rendered, application)
    if not is_sync:
        _check_selectors(rendered, application)
    return Plan(
        tuple(rendered),
        tuple(carrying.candidates(rendered, application)),
        options.prune,
        () if is_sync else (variant.Variant.PRIMARY,),
    )


def _check_selectors(
    rendered: Sequence[manifest.Manifest], application: applications.Application
) -> None:
    """Refuse primary workloads that a selector cannot tell from the canary's.

    Only where a pipeline moves a Service's selector (PipeCD: primary rollout of the
    single-cluster plugin).
    """
    moves = any(each.name is stage.StageName.TRAFFIC_ROUTING for each in application.pipeline)
    if application.traffic_routing.method is not _POD_SELECTOR or not moves:
        return
    label = application.variant_label
    written = f"{label.key}: {label.primary_value}"
    pods = ("template", "metadata", "labels")
    paths = (pods,) if label.on_pods else (("selector", "matchLabels"), pods)
    problems = [
        problem.Problem(
            f'missing "{written}" in selector of workload {item.name}',
            item.origin,
            hint="write it into matchLabels and the pod labels, or set"
            " addVariantLabelToSelector (selectors of live workloads cannot be changed)",
        )
        for item in workloads.find(rendered, application.workloads)
        for path in paths
        if objects.text(item.body, "spec", *path, label.key) != label.primary_value
    ]
    if problems:
        raise errors.UserError(*dict.fromkeys(problems))


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    source = await doing.load(context.target_source)
    planned = plan(source, context.application, _options(context), commit=context.commit)
    carriers = await carrying.look(doing, planned.routing)
    held = carrying.hold(planned.manifests, carriers, context.application)
    now, late = carrying.apart(held, carriers)
    services: list[manifest.Manifest] = []
    if service_targets.is_target(context.application):
        now, services = service_targets.apart(now, context.application)
    changes = await doing.apply(now)
    seen = await doing.wait_ready(now)
    if services:
        seen = f"{seen}; {await switching.switch(doing, services)}"
    if late:
        await doing.apply(late)
    await promotion.step_back(doing, planned.manifests)
    await routes.give_back(doing, carriers, planned.manifests)
    if planned.prune:
        if services:
            await doing.settle()
        await _prune(doing, planned)
    return f"primary: {changes.summary}; {seen}"


async def _prune(doing: work.Work, planned: Plan) -> None:
    doing.check_stop()
    doing.context.progress("pruning what Git no longer has")
    result = await doing.prune_away(planned.manifests, doing.scope(*planned.variants))
    if not result.deleted and not result.refusal:
        doing.note("nothing to prune")


def _options(context: contexts.StageContext) -> _Options:
    options = context.stage.options
    if isinstance(options, stage.SyncOptions | stage.PrimaryRolloutOptions):
        return options
    raise TypeError(f"{context.stage.name} has {type(options).__name__}")
