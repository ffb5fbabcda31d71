"""Checks of an application that rolls out a Service instead of pods (``workloads: kind Service``).

Only our own dialect can say so: PipeCD refuses the kind, and there it stays refused.
"""

from collections.abc import Iterator

from volary.config import shape, strategies, yaml
from volary.model import application, stage

_KIND = "Service"
_NO_PODS = "has no effect where a Service is rolled out: it has no pods of its own"
_BASELINE = (stage.StageName.BASELINE_ROLLOUT, stage.StageName.BASELINE_CLEAN)


def check(reading: shape.Reading, app: application.Application, base: yaml.Path) -> None:
    """Note every problem; `base` is where the Kubernetes part of the file is."""
    here = (*base, "workloads")
    if len(app.workloads) > 1:
        message = "a Service is rolled out alone"
        reading.error(here, message, "name nothing but the Service: its selector says which pods")
    found = next(each for each in app.workloads if each.kind == _KIND)
    if not found.name:
        reading.error(here, "the Service that is rolled out has no name")
    elif app.service.name != found.name:
        hint = f"write service: {{name: {found.name}}}"
        reading.error((*base, "service"), "is the Service that is rolled out", hint)
    if app.made_service is not None:
        message = "the Service that is rolled out is in Git, so none is made"
        reading.error((*base, "service", "create"), message, "remove it")
    if app.traffic_routing.method is application.RoutingMethod.POD_SELECTOR:
        reading.error(
            (*base, "trafficRouting", "method"),
            "podselector switches a Service's selector, and here that is what is tried",
            "choose a router: istio, gatewayapi, smi, nginx or traefik",
        )
    if app.quick_sync.add_variant_label_to_selector:
        here = (*base, "quickSync", "addVariantLabelToSelector")
        reading.error(here, _NO_PODS, "remove it")
    for path, stages in strategies.lists(app):
        first = stages[0].index if stages and stages[0].strategy else 0
        for each in stages:
            _check_stage(reading, each, (*path, each.index - first))


def _check_stage(reading: shape.Reading, each: stage.Stage, path: yaml.Path) -> None:
    if each.name in _BASELINE:
        message = "a Service has no baseline: it would lead to the pods that primary leads to"
        reading.error((*path, "name"), message, "compare with primary")
    for option in _unused(each.options):
        reading.error((*path, "with", option), _NO_PODS, "remove it")


def _unused(options: stage.StageOptions) -> Iterator[str]:
    """Yield the options that are about copies of workloads."""
    match options:
        case stage.VariantRolloutOptions():
            if options.replicas is not None:
                yield "replicas"
            if options.of is stage.Scope.FLEET:
                yield "of"
            if options.at_most is not None:
                yield "atMost"
            if options.suffix:
                yield "suffix"
        case stage.PrimaryRolloutOptions():
            if options.suffix:
                yield "suffix"
            if options.add_variant_label_to_selector:
                yield "addVariantLabelToSelector"
        case stage.ProgressiveTrafficOptions() if options.scale_canary:
            yield "scaleCanary"
