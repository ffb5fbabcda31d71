"""Which part of an application's requests each variant gets while something is measured. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from volary.manifests.workloads import workloads
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    stage_kind,
    traffic_stages,
)
from volary.stages.judgement import cluster_judges, measured_stages


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of the requests; those of a copy are counted too, so the sum may be above 1."""

    #: Of the new version.
    canary: float
    baseline: float = 0.0
    primary: float = 0.0
    #: Why nobody can tell before a release; empty: the numbers count.
    unknown: str = ""


#: The new version has taken primary's place.
EVERYTHING = Shares(1.0, 0.0, 1.0)


def of_stages(
    application: applications.Application, manifests: Sequence[manifest.Manifest]
) -> Mapping[str, Shares]:
    """Return the parts in each stage and wave, by the name that is shown of it.

    Without a router pods share the requests, and manifests say how many primary has.
    """
    carriers = workloads.find(manifests, application.workloads)
    pods = workloads.replicas(carriers[0].body) if carriers else None
    found: dict[str, Shares] = {}
    begun: list[pipelines.Stage] = []
    for stage in application.pipeline:
        if begun and begun[-1].strategy != stage.strategy:
            begun = []
        begun.append(stage)
        found[measured_stages.stage_name(stage)] = _after(
            begun, application.traffic_routing.method, pods
        )
    for wave in application.waves.waves:
        found[measured_stages.gate_name(wave.name)] = EVERYTHING
    return found


def _after(
    begun: Sequence[pipelines.Stage], method: routing_options.RoutingMethod, pods: int | None
) -> Shares:
    for stage in reversed(begun):
        match stage.options:
            case traffic_stages.BlueGreenOptions():
                return EVERYTHING
            case _ if cluster_judges.new_version(tuple(begun)) is variant.Variant.PRIMARY:
                return EVERYTHING
            case traffic_stages.TrafficOptions() as options:
                return _divided(options)
            case traffic_stages.ProgressiveTrafficOptions() as options:
                return _in_steps(options, is_under_way=stage is begun[-1])
            case _:
                pass
    if method is routing_options.RoutingMethod.POD_SELECTOR:
        return _by_pods(begun, pods)
    return Shares(0.0, 0.0, 1.0)


def _divided(options: traffic_stages.TrafficOptions) -> Shares:
    if options.match:
        return Shares(0.0, unknown="canary gets the requests that match")
    canary, baseline, primary = options.canary, options.baseline, options.primary
    return Shares((canary + options.mirror) / 100, baseline / 100, primary / 100)


def _in_steps(options: traffic_stages.ProgressiveTrafficOptions, *, is_under_way: bool) -> Shares:
    """Return the mean over the steps; afterwards that of the last one."""
    if options.match:
        return Shares(0.0, unknown="canary gets the requests that match")
    if options.iterations:
        if options.mirror:
            return Shares(options.mirror_weight / 100, 0.0, 1.0)
        return Shares(0.0, unknown="canary gets no requests of users before the switch")
    weights = list(_weights(options))
    canary = (fmean(weights) if is_under_way else weights[-1]) / 100
    return Shares(canary, 0.0, 1 - canary)


def _weights(options: traffic_stages.ProgressiveTrafficOptions) -> Iterator[int]:
    if options.step_weights:
        yield from options.step_weights
        return
    weight = 0
    while weight < options.max_weight:
        weight = min(options.max_weight, weight + max(1, options.step_weight))
        yield weight


def _by_pods(begun: Sequence[pipelines.Stage], pods: int | None) -> Shares:
    if pods is None:
        return Shares(0.0, unknown="primary's pods are not known")
    counts: dict[variant.Variant, int] = {}
    for stage in begun:
        if stage.kind.removes is not None:
            counts.pop(stage.kind.removes, None)
        if isinstance(stage.options, rollout_stages.VariantRolloutOptions) and stage.kind.applies:
            replicas = stage.options.replicas
            is_absolute = replicas is None or not replicas.is_percentage
            if stage.options.of is stage_kind.Scope.FLEET and is_absolute:
                return Shares(0.0, unknown="canary's pods are divided over the fleet")
            counts[stage.kind.applies] = 1 if replicas is None else replicas.of(pods)
    every = pods + sum(counts.values())
    if not every:
        return Shares(0.0)
    canary, baseline = (
        counts.get(which, 0) / every for which in (variant.Variant.CANARY, variant.Variant.BASELINE)
    )
    return Shares(canary, baseline, pods / every)
