"""Checks of shares of the whole fleet, as far as the file alone can tell."""

from collections.abc import Sequence

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import routing_options
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages


def check_rollout(
    reading: readings.Reading, read: rollout_stages.VariantRolloutOptions, path: yaml.Path
) -> None:
    """Note a share of the fleet that is none, and what has no effect without one."""
    if read.of is stage_kind.Scope.FLEET:
        if read.replicas is None or not read.replicas.number:
            message = "a share of the fleet has to be said"
            reading.error((*path, "replicas"), message, "write replicas: 10%")
        elif read.replicas.is_percentage and read.replicas.number > 100:
            message = f"{read.replicas} of the fleet is more than there is"
            reading.error((*path, "replicas"), message, "write at most 100%")
        if read.at_most is not None and not read.at_most.number:
            reading.error((*path, "atMost"), "no cluster would get any", "write at least 1")
    elif read.at_most is not None:
        reading.error((*path, "atMost"), "atMost has no effect", "write of: fleet")


def may_divide(
    reading: readings.Reading,
    weights: traffic_stages.TrafficOptions,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> bool:
    """Say whether the traffic of the fleet can be divided like this; note why not."""
    if weights.of is stage_kind.Scope.CLUSTER:
        return True
    at = (*path, "of")
    if method is routing_options.RoutingMethod.POD_SELECTOR:
        message = "a share of all traffic needs a router that divides it"
        reading.error(at, message, "use another method than podselector")
        return False
    if weights.match or weights.mirror:
        message = "requests that match, and copies, go to canary on every cluster"
        reading.error(at, message, "write of: cluster, or leave match and mirror out")
        return False
    return True


def check_order(
    reading: readings.Reading, pipeline: Sequence[pipelines.Stage], path: yaml.Path
) -> None:
    """Note traffic for canary on every cluster where some may have got none of it."""
    shared = False
    for stage in pipeline:
        options = stage.options
        if stage.kind.applies is variant.Variant.CANARY:
            of = options.of if isinstance(options, rollout_stages.VariantRolloutOptions) else None
            shared = of is stage_kind.Scope.FLEET
        elif stage.kind.removes is variant.Variant.CANARY:
            shared = False
        elif shared and _is_for_every_cluster(options):
            message = "a cluster without its share of canary cannot send traffic there"
            hint = "write of: fleet here too; where a cluster gets none, the run is refused"
            reading.warn((*path, stage.index), message, hint)


def _is_for_every_cluster(options: stage_kind.StageOptions) -> bool:
    if isinstance(options, traffic_stages.TrafficOptions):
        return options.canary > 0 and options.of is stage_kind.Scope.CLUSTER
    return isinstance(options, traffic_stages.ProgressiveTrafficOptions)
