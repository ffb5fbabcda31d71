"""What only shows when the parts of one application file are seen together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from volary.config.application import application_sections, cluster_strategies, routing
from volary.config.decoding import readings, values
from volary.config.stages import stage_order
from volary.config.text import patterns, yaml
from volary.model import applications, routing_options
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import catalog, rollout_stages, stage_kind, traffic_stages


def _check_additions(
    reading: readings.Reading, app: applications.Application, base: yaml.Path
) -> None:
    """Note every problem of the objects and the Service that the file adds."""
    for i, added in enumerate(app.input.objects):
        _check_object(reading, added, (*base, "input", "objects", i))
    if app.made_service is None:
        return
    path = (*base, "service")
    if not app.service.name:
        reading.error(path, "the Service to make has no name", "write service.name")
    adds = app.quick_sync.add_variant_label_to_selector
    if not (app.variant_label.on_pods or adds):
        message = "the Service to make selects a label that primary's pods need not have"
        reading.warn((*path, "create"), message, "write variantLabel: {onPods: true}")
    names = [port.name for port in app.made_service.ports]
    if len(names) > 1 and len({name for name in names if name}) < len(names):
        here = (*path, "create", "ports")
        reading.error(here, "every port needs a name of its own when there are several")


def _check_object(reading: readings.Reading, item: dict[str, object], path: yaml.Path) -> None:
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str) or not item[field]:
            reading.error((*path, field), "is required, as text")
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        reading.error((*path, "metadata", "name"), "is required, as text")


_KIND = "Service"
_NO_PODS = "has no effect where a Service is rolled out: it has no pods of its own"


def _check_service_rollout(
    reading: readings.Reading, app: applications.Application, base: yaml.Path
) -> None:
    """Note every problem; `base` is where the Kubernetes part of the file is."""
    here = (*base, "workloads")
    if len(app.workloads) > 1:
        message = "a Service is rolled out alone"
        reading.error(here, message, "name nothing but the Service: its selector says which pods")
    service_workload = next(workload for workload in app.workloads if workload.kind == _KIND)
    if not service_workload.name:
        reading.error(here, "the Service that is rolled out has no name")
    elif app.service.name != service_workload.name:
        hint = f"write service: {{name: {service_workload.name}}}"
        reading.error((*base, "service"), "is the Service that is rolled out", hint)
    if app.made_service is not None:
        message = "the Service that is rolled out is in Git, so none is made"
        reading.error((*base, "service", "create"), message, "remove it")
    if app.traffic_routing.method is routing_options.RoutingMethod.POD_SELECTOR:
        reading.error(
            (*base, "trafficRouting", "method"),
            "podselector switches a Service's selector, and here that is what is tried",
            "choose a router: istio, gatewayapi, smi, nginx or traefik",
        )
    if app.quick_sync.add_variant_label_to_selector:
        here = (*base, "quickSync", "addVariantLabelToSelector")
        reading.error(here, _NO_PODS, "remove it")
    for path, stages in cluster_strategies.lists(app):
        for stage in stages:
            _check_service_stage(reading, stage, (*path, stage.index))


def _check_service_stage(
    reading: readings.Reading, stage: pipelines.Stage, path: yaml.Path
) -> None:
    if variant.Variant.BASELINE in (stage.kind.applies, stage.kind.removes):
        message = "a Service has no baseline: it would lead to the pods that primary leads to"
        reading.error((*path, "name"), message, "compare with primary")
    for option in _check_unused_options(stage.options):
        reading.error((*path, "with", option), _NO_PODS, "remove it")


def _check_unused_options(options: stage_kind.StageOptions) -> Iterator[str]:
    """Yield the options that are about copies of workloads."""
    match options:
        case rollout_stages.VariantRolloutOptions():
            if options.replicas is not None:
                yield "replicas"
            if options.of is stage_kind.Scope.FLEET:
                yield "of"
            if options.at_most is not None:
                yield "atMost"
            if options.suffix:
                yield "suffix"
        case rollout_stages.PrimaryRolloutOptions():
            if options.suffix:
                yield "suffix"
            if options.add_variant_label_to_selector:
                yield "addVariantLabelToSelector"
        case traffic_stages.ProgressiveTrafficOptions() if options.scale_canary:
            yield "scaleCanary"


_VARIANT_KINDS = ("", "Deployment", "StatefulSet")


def check(
    reading: readings.Reading,
    app: applications.Application,
    kubernetes: application_sections.Kubernetes,
    base: yaml.Path,
    directory: str | None,
) -> None:
    """Note every problem of the whole application; `base` is where its Kubernetes part is."""
    _check_input(reading, app.input, (*base, "input"))
    _check_inside(reading, kubernetes, base, directory)
    _check_additions(reading, app, base)
    _check_names(reading, app.quick_sync_targets, (*base, "quickSync", "multiTargets"))
    _check_variant_label(reading, app, (*base, "variantLabel"))
    _check_exceptions(reading, app, (*base, "conflictExceptions"))
    if app.rolls_out_service:
        _check_service_rollout(reading, app, base)
    else:
        _check_workloads(reading, app, (*base, "workloads"))
    _check_routing(reading, app, base)
    _check_expressions(reading, app)
    for path, stages in cluster_strategies.lists(app):
        _check_stages(reading, stages, path)


def _check_exceptions(
    reading: readings.Reading, app: applications.Application, path: yaml.Path
) -> None:
    """Note what is neither a field's path nor the name of a field manager."""
    for i, exception in enumerate(app.conflicts.exceptions):
        if not exception.startswith(".") and ("/" in exception or " " in exception):
            message = "is neither a field's path nor the name of a field manager"
            hint = "write the path as messages show it, such as .spec.replicas"
            reading.error((*path, i), message, hint)


def _check_stages(
    reading: readings.Reading, stages: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    written = reading.written(path)
    # A stage that could not be read would look like a missing one.
    is_complete = isinstance(written, list) and len(written) == len(stages)
    if stages and stages[0].strategy and not is_complete:
        return  # where its stages are cannot be told any more
    if is_complete:
        stage_order.check(reading, stages, path)
    for stage in stages:
        _check_names(reading, stage.targets, (*path, stage.index, "with", "multiTargets"))


def _check_input(reading: readings.Reading, read: applications.Input, path: yaml.Path) -> None:
    if read.helm_chart and read.kustomize_options:
        reading.error(path, "helmChart and kustomizeOptions are mutually exclusive")
    helm = read.helm_options != applications.HelmOptions()
    if helm and not read.helm_chart:
        reading.warn((*path, "helmOptions"), "helmOptions have no effect without helmChart")
    seen: set[str] = set()
    for i, entry in enumerate(read.multi_targets):
        name = entry.target.name
        if name in seen:
            here = (*path, "multiTargets", i, "target", "name")
            reading.error(here, f"the target {name} is listed twice", "join the entries")
        seen.add(name)


def _check_inside(
    reading: readings.Reading,
    kubernetes: application_sections.Kubernetes,
    base: yaml.Path,
    directory: str | None,
) -> None:
    """Note paths that lead out of the repository, as far as that can be known."""
    if directory is None:
        return
    for path, text in _paths(kubernetes.input, (*base, "input")):
        if values.leaves(directory, text):
            reading.error(path, f"{text} leaves the repository")


def _paths(read: applications.Input, base: yaml.Path) -> Iterable[tuple[yaml.Path, str]]:
    yield from (((*base, "manifests", i), text) for i, text in enumerate(read.manifests))
    if read.helm_chart:
        yield (*base, "helmChart", "path"), read.helm_chart.path
    options = (*base, "helmOptions")
    files = enumerate(read.helm_options.value_files)
    yield from (((*options, "valueFiles", i), text) for i, text in files)
    settings = read.helm_options.set_files.items()
    yield from (((*options, "setFiles", key), text) for key, text in settings)
    for i, entry in enumerate(read.multi_targets):
        here = (*base, "multiTargets", i)
        yield (*here, "kustomizeDir"), entry.kustomize_dir
        yield from (((*here, "manifests", j), text) for j, text in enumerate(entry.manifests))


def _check_names(reading: readings.Reading, names: Sequence[str], path: yaml.Path) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            reading.lenient(path, f"the target {name} is listed {times} times")


def _check_variant_label(
    reading: readings.Reading, app: applications.Application, path: yaml.Path
) -> None:
    label = app.variant_label
    by_value: dict[str, list[str]] = {}
    for variant_role in variant.Variant:
        by_value.setdefault(label.value(variant_role), []).append(variant_role.value)
    for value, owners in by_value.items():
        if len(owners) > 1:
            both = " and ".join(owners)
            reading.error(path, f"{both} have the same label value {value!r}")
    for variant_role in stage_order.EXTRA_VARIANTS:
        rollout = catalog.rollout_of(variant_role)
        uses_default = any(
            isinstance(step.options, rollout_stages.VariantRolloutOptions)
            and step.kind is rollout
            and not step.options.suffix
            for step in app.pipeline
        )
        if uses_default and not _is_suffix(label.value(variant_role)):
            reading.error(
                (*path, f"{variant_role.value}Value"),
                f"{label.value(variant_role)!r} cannot be a part of names",
                f"set the suffix of {rollout.name}",
            )


def _is_suffix(text: str) -> bool:
    try:
        values.dns_label(text)
    except ValueError:
        return False
    return True


def _check_workloads(
    reading: readings.Reading, app: applications.Application, path: yaml.Path
) -> None:
    if not any(step.kind.applies in stage_order.EXTRA_VARIANTS for step in app.pipeline):
        return
    for i, workload in enumerate(app.workloads):
        if workload.kind not in _VARIANT_KINDS:
            here = (*path, i, "kind")
            reading.error(
                here, f"a {workload.kind} cannot have variants", "use Deployment or StatefulSet"
            )


def _check_routing(
    reading: readings.Reading, app: applications.Application, base: yaml.Path
) -> None:
    routing.check(reading, app, base)
    is_istio = app.traffic_routing.method is routing_options.RoutingMethod.ISTIO
    if app.service.kind not in ("", "Service") and not is_istio:
        here = (*base, "service", "kind")
        reading.lenient(here, f"service must be a Service, not a {app.service.kind}")


def _check_expressions(reading: readings.Reading, app: applications.Application) -> None:
    matcher = {"quickSync": app.commit_matcher.quick_sync, "pipeline": app.commit_matcher.pipeline}
    for name, pattern in matcher.items():
        try:
            patterns.compile_pattern(pattern)
        except patterns.PatternError as error:
            path = ("spec", "commitMatcher", name)
            message = f"not a regular expression: {error}"
            reading.lenient(path, message, then="it never matches")
