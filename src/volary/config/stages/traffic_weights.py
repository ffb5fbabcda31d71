"""Reads the weights of a traffic stage and checks them against the router."""

from dataclasses import replace

from volary.config.decoding import base_sections, readings
from volary.config.stages import progressive_rules, stage_sections
from volary.config.text import yaml
from volary.model import routing_options
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind, traffic_stages

_DIVIDING = "use trafficRouting.method istio, gatewayapi, smi, nginx or traefik to divide traffic"


def convert(
    reading: readings.Reading,
    read: stage_sections.Traffic,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> traffic_stages.TrafficOptions | None:
    """Return the weights; None when they cannot be used, which is noted then.

    Weights that do not add up to 100 are an error in both dialects (PipeCD sends
    whatever is missing to primary, or to nobody). One form that PipeCD's Istio
    router documents is kept in its dialect: without ``primary``, primary takes the rest.
    """
    match = progressive_rules.matches(reading, read.match, (*path, "match"))
    written = base_sections.value_of(traffic_stages.TrafficOptions, read, primary=0, match=match)
    weights = _weights(reading, read, written, method, path)
    if weights is None:
        return None
    progressive_rules.check_affinity(reading, weights.session_affinity, (*path, "sessionAffinity"))
    if not _may_divide(reading, weights, method, path):
        return None
    if method is routing_options.RoutingMethod.POD_SELECTOR:
        message = unsupported_by_pod_selector(weights)
        if message:
            reading.error(path, message, _DIVIDING)
            return None
    return weights


def unsupported_by_pod_selector(weights: traffic_stages.TrafficOptions) -> str:
    """Return why a Service's selector cannot do this, in PipeCD's words; empty when it can."""
    if weights.baseline > 0:
        return "PodSelector method does not support baseline variant"
    if 100 not in (weights.primary, weights.canary):
        return (
            "PodSelector requires either primary or canary to be 100% "
            f"(primary={weights.primary}, canary={weights.canary})"
        )
    return ""


def _may_divide(
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


def _weights(
    reading: readings.Reading,
    read: stage_sections.Traffic,
    weights: traffic_stages.TrafficOptions,
    method: routing_options.RoutingMethod,
    path: yaml.Path,
) -> traffic_stages.TrafficOptions | None:
    others = weights.canary + weights.baseline
    if read.all:
        if read.primary or others:
            message = "all and single percentages are both given"
            reading.lenient(path, message, "keep one of them", then="all wins")
        primary, canary, baseline = (100 * (read.all == which.value) for which in variant.Variant)
        return replace(weights, primary=primary, canary=canary, baseline=baseline)
    primary = read.primary or 0
    if read.primary is None and not others and read.match:
        primary = 100
    is_istio = method is routing_options.RoutingMethod.ISTIO
    is_implied = reading.is_pipecd and is_istio and 0 < others <= 100
    if read.primary is None and (is_implied or weights.of is stage_kind.Scope.FLEET):
        primary = max(0, 100 - others)
    total = primary + others
    if total != 100:
        hint = f"add primary: {100 - others}" if 0 < others <= 100 and not primary else ""
        reading.error(
            path,
            f"weights must add up to 100, not {total} "
            f"(primary={primary}, canary={weights.canary}, baseline={weights.baseline})",
            hint,
        )
        return None
    return replace(weights, primary=primary)
