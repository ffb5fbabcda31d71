"""Turns the sections of an application file into the model's values."""

from volary.config import sections, services
from volary.model import application, stage, variant


def inputs(read: sections.Input) -> application.Input:
    """Return where manifests come from."""
    chart = read.helm_chart
    return application.Input(
        manifests=tuple(read.manifests),
        namespace=read.namespace,
        auto_create_namespace=read.auto_create_namespace,
        kustomize_options=read.kustomize_options,
        helm_chart=application.HelmChart(chart.path) if chart else None,
        helm_options=_helm_options(read.helm_options),
        objects=tuple(read.objects),
        multi_targets=tuple(_target_input(each) for each in read.multi_targets),
    )


def _helm_options(read: sections.HelmOptions) -> application.HelmOptions:
    return application.HelmOptions(
        release_name=read.release_name,
        set_values=read.set_values,
        value_files=tuple(read.value_files),
        set_files=read.set_files,
        api_versions=tuple(read.api_versions),
        kube_version=read.kube_version,
    )


def _target_input(read: sections.TargetInput) -> application.TargetInput:
    return application.TargetInput(
        target=read.target.name,
        manifests=tuple(read.manifests),
        kustomize_dir=read.kustomize_dir,
        kustomize_options=read.kustomize_options,
    )


def quick_sync(read: sections.QuickSync) -> stage.SyncOptions:
    """Return the options of a quick sync."""
    return stage.SyncOptions(read.add_variant_label_to_selector, read.prune)


def reference(
    read: sections.ObjectReference,
) -> application.ObjectReference:
    """Return a reference to manifests."""
    return application.ObjectReference(read.kind, read.name)


def variant_label(read: sections.VariantLabel) -> variant.VariantLabel:
    """Return the label that tells variants apart."""
    return variant.VariantLabel(
        key=read.key,
        primary_value=read.primary_value,
        canary_value=read.canary_value,
        baseline_value=read.baseline_value,
        on_pods=read.on_pods,
    )


def made_service(read: services.MadeService | None) -> application.MadeService | None:
    """Return the Service to make."""
    if read is None:
        return None
    return application.MadeService(
        ports=tuple(
            application.ServicePort(each.port, each.name, each.target_port, each.app_protocol)
            for each in read.ports
        ),
        discover_ports=read.discover_ports,
        headless=read.headless,
        traffic_distribution=read.traffic_distribution,
        labels=read.labels,
        annotations=read.annotations,
    )


def planner(read: sections.Planner) -> application.Planner:
    """Return how the strategy is chosen."""
    return application.Planner(read.always_use_pipeline, read.auto_rollback, read.hold_on_failure)


def commit_matcher(read: sections.CommitMatcher) -> application.CommitMatcher:
    """Return the expressions that force a strategy."""
    return application.CommitMatcher(read.quick_sync, read.pipeline)
