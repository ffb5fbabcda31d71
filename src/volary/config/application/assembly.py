"""From the sections of an application file to the application, alike for both dialects."""

from dataclasses import replace

from volary.config.application import (
    application_sections,
    cluster_strategies,
    input_sections,
    mentions,
    routing,
    triggers,
)
from volary.config.decoding import base_sections, readings
from volary.config.fleet import cluster_taints, health_rules
from volary.config.placement import (
    change_windows,
    override_rules,
    placement_sections,
    spread_and_failover,
    wave_rules,
)
from volary.config.stages import pipelines as stage_pipelines
from volary.model import applications
from volary.model.objects import object_health
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.placement import overrides, rollouts


def manifest_sources(read: input_sections.Input) -> applications.Input:
    """Return where manifests come from."""
    chart = read.helm_chart
    return applications.Input(
        manifests=tuple(read.manifests),
        namespace=read.namespace,
        auto_create_namespace=read.auto_create_namespace,
        kustomize_options=read.kustomize_options,
        helm_chart=applications.HelmChart(chart.path) if chart else None,
        helm_options=_helm_options(read.helm_options),
        objects=tuple(read.objects),
        multi_targets=tuple(_target_input(multi_target) for multi_target in read.multi_targets),
    )


def _helm_options(read: input_sections.HelmOptions) -> applications.HelmOptions:
    return applications.HelmOptions(
        release_name=read.release_name,
        set_values=read.set_values,
        value_files=tuple(read.value_files),
        set_files=read.set_files,
        api_versions=tuple(read.api_versions),
        kube_version=read.kube_version,
    )


def _target_input(read: input_sections.TargetInput) -> applications.TargetInput:
    return applications.TargetInput(
        target=read.target.name,
        manifests=tuple(read.manifests),
        kustomize_dir=read.kustomize_dir,
        kustomize_options=read.kustomize_options,
    )


def _quick_sync(read: input_sections.QuickSync) -> rollout_stages.SyncOptions:
    """Return the options of a quick sync."""
    return rollout_stages.SyncOptions(read.add_variant_label_to_selector, read.prune)


def _reference(
    read: base_sections.ObjectReference,
) -> applications.ObjectReference:
    """Return a reference to manifests."""
    return applications.ObjectReference(read.kind, read.name)


def _variant_label(read: application_sections.VariantLabel) -> variant.VariantLabel:
    """Return the label that tells variants apart."""
    return variant.VariantLabel(
        key=read.key,
        primary_value=read.primary_value,
        canary_value=read.canary_value,
        baseline_value=read.baseline_value,
        on_pods=read.on_pods,
    )


def _generated_service(
    read: application_sections.MadeService | None,
) -> applications.MadeService | None:
    """Return the Service to make."""
    if read is None:
        return None
    return applications.MadeService(
        ports=tuple(
            applications.ServicePort(port.port, port.name, port.target_port, port.app_protocol)
            for port in read.ports
        ),
        discover_ports=read.discover_ports,
        headless=read.headless,
        traffic_distribution=read.traffic_distribution,
        labels=read.labels,
        annotations=read.annotations,
    )


def _planner(read: application_sections.Planner) -> applications.Planner:
    """Return how the strategy is chosen."""
    return applications.Planner(read.always_use_pipeline, read.auto_rollback, read.hold_on_failure)


def _commit_matcher(read: application_sections.CommitMatcher) -> applications.CommitMatcher:
    """Return the expressions that force a strategy."""
    return applications.CommitMatcher(read.quick_sync, read.pipeline)


def assemble(
    reading: readings.Reading,
    metadata: application_sections.Metadata,
    spec: application_sections.Spec,
    kubernetes: application_sections.Kubernetes,
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
    stage_pipelines.check_duration(reading, spec.timeout, ("spec", "timeout"))
    placed = _placement(spec)
    router = routing.convert(kubernetes.traffic_routing)
    quick_sync = _quick_sync(kubernetes.quick_sync)
    chosen, stages = _stages(reading, spec, quick_sync, router.method)
    return applications.Application(
        name=metadata.name,
        dialect=reading.dialect,
        labels=metadata.labels,
        description=spec.description,
        targets=targets,
        input=manifest_sources(kubernetes.input),
        quick_sync=quick_sync,
        quick_sync_targets=tuple(kubernetes.quick_sync.multi_targets),
        workloads=tuple(_reference(workload) for workload in kubernetes.workloads),
        service=_reference(kubernetes.service),
        made_service=_generated_service(kubernetes.service.create),
        variant_label=_variant_label(kubernetes.variant_label),
        traffic_routing=router,
        pipeline=stages,
        strategies=chosen,
        planner=_planner(spec.planner),
        commit_matcher=_commit_matcher(spec.commit_matcher),
        triggers=triggers.convert(reading, spec.trigger),
        mentions=mentions.convert(reading, spec.notification),
        alerts=mentions.own_routes(reading, spec.notification),
        timeout=spec.timeout,
        waves=_waves(reading, spec),
        differences=_differences(reading, spec),
        spread=spread_and_failover.spread_constraints(reading, placed.spread),
        failover=spread_and_failover.failover_rules(reading, placed.failover),
        health=_health(reading, spec),
        tolerations=cluster_taints.tolerations(reading, placed.tolerations),
    )


def _placement(spec: application_sections.Spec) -> placement_sections.Placement:
    """Return what is said of placement; only our own dialect can say anything."""
    if isinstance(spec, application_sections.VolarySpec):
        return spec.placement
    return placement_sections.Placement()


def _differences(
    reading: readings.Reading, spec: application_sections.Spec
) -> overrides.Differences:
    """Return what clusters have different; only our own dialect can say."""
    if isinstance(spec, application_sections.VolarySpec):
        return override_rules.convert(reading, spec.placement)
    return overrides.Differences()


def _health(
    reading: readings.Reading, spec: application_sections.Spec
) -> tuple[object_health.Rule, ...]:
    """Return the rules of health; only our own dialect can say."""
    if isinstance(spec, application_sections.VolarySpec):
        return health_rules.convert(reading, spec.health, ("spec", "health"))
    return ()


def _waves(reading: readings.Reading, spec: application_sections.Spec) -> rollouts.Waves:
    """Return how the application moves; only our own dialect can say."""
    if isinstance(spec, application_sections.VolarySpec):
        found = wave_rules.convert(reading, spec)
        return replace(found, windows=change_windows.convert(reading, spec.windows))
    return rollouts.Waves()


def _stages(
    reading: readings.Reading,
    spec: application_sections.Spec,
    quick_sync: rollout_stages.SyncOptions,
    method: applications.RoutingMethod,
) -> tuple[tuple[applications.Strategy, ...], tuple[pipelines.Stage, ...]]:
    if isinstance(spec, application_sections.VolarySpec) and spec.strategies:
        return cluster_strategies.convert(reading, spec.strategies, quick_sync, method)
    return (), stage_pipelines.convert(
        reading, spec.pipeline.stages, method, cluster_strategies.STAGES
    )
