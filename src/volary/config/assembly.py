"""From the sections of an application file to the application, alike for both dialects."""

from dataclasses import replace

from volary.config import (
    convert,
    health_rules,
    mentions,
    moving,
    pipeline,
    placing,
    routing,
    sections,
    shape,
    strategies,
    tolerating,
    trigger,
    waves,
    windows,
)
from volary.model import application as applications
from volary.model import health, overrides, placement, stage


def assemble(
    reading: shape.Reading,
    metadata: sections.Metadata,
    spec: sections.Spec,
    kubernetes: sections.Kubernetes,
    targets: applications.TargetSelector,
) -> applications.Application:
    """Return the application; what its parts say is wrong is noted.

    Args:
        reading: Where problems are noted.
        metadata: Its name and labels.
        spec: What both dialects have.
        kubernetes: The part about Kubernetes, wherever the dialect has it.
        targets: The clusters it is for.
    """
    pipeline.check_duration(reading, spec.timeout, ("spec", "timeout"))
    router = routing.convert(kubernetes.traffic_routing)
    quick_sync = convert.quick_sync(kubernetes.quick_sync)
    chosen, stages = _stages(reading, spec, quick_sync, router.method)
    return applications.Application(
        name=metadata.name,
        dialect=reading.dialect,
        labels=metadata.labels,
        description=spec.description,
        targets=targets,
        input=convert.inputs(kubernetes.input),
        quick_sync=quick_sync,
        quick_sync_targets=tuple(kubernetes.quick_sync.multi_targets),
        workloads=tuple(convert.reference(each) for each in kubernetes.workloads),
        service=convert.reference(kubernetes.service),
        made_service=convert.made_service(kubernetes.service.create),
        variant_label=convert.variant_label(kubernetes.variant_label),
        traffic_routing=router,
        pipeline=stages,
        strategies=chosen,
        planner=convert.planner(spec.planner),
        commit_matcher=convert.commit_matcher(spec.commit_matcher),
        triggers=trigger.convert(reading, spec.trigger),
        mentions=mentions.convert(reading, spec.notification),
        alerts=mentions.alerts(reading, spec.notification),
        timeout=spec.timeout,
        waves=_waves(reading, spec),
        differences=_differences(reading, spec),
        spread=moving.spread_of(reading, spec),
        failover=moving.failover_of(reading, spec),
        health=_health(reading, spec),
        tolerations=tolerating.of_spec(reading, spec),
    )


def _differences(reading: shape.Reading, spec: sections.Spec) -> overrides.Differences:
    """Return what clusters have different; only our own dialect can say."""
    if isinstance(spec, sections.VolarySpec):
        return placing.convert(reading, spec.placement)
    return overrides.Differences()


def _health(reading: shape.Reading, spec: sections.Spec) -> tuple[health.Rule, ...]:
    """Return the rules of health; only our own dialect can say."""
    if isinstance(spec, sections.VolarySpec):
        return health_rules.convert(reading, spec.health, ("spec", "health"))
    return ()


def _waves(reading: shape.Reading, spec: sections.Spec) -> placement.Waves:
    """Return how the application moves; only our own dialect can say."""
    if isinstance(spec, sections.VolarySpec):
        found = waves.convert(reading, spec)
        return replace(found, windows=windows.convert(reading, spec.windows))
    return placement.Waves()


def _stages(
    reading: shape.Reading,
    spec: sections.Spec,
    quick_sync: stage.SyncOptions,
    method: applications.RoutingMethod,
) -> tuple[tuple[applications.Strategy, ...], tuple[stage.Stage, ...]]:
    if isinstance(spec, sections.VolarySpec) and spec.strategies:
        return strategies.convert(reading, spec.strategies, quick_sync, method)
    return (), pipeline.convert(reading, spec.pipeline.stages, method, strategies.STAGES)
