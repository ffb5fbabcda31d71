"""From ``clusterTolerations``, ``spreadConstraints`` and ``failover`` to ``placement``."""

from collections.abc import Sequence
from typing import Any

from volary.config.dialects import drafts
from volary.config.dialects.karmada import policy_matching, schema
from volary.config.text import yaml
from volary.model.fleet import taints

_SPREAD: yaml.Path = ("spec", "placement", "spread")
_CONSTRAINTS: yaml.Path = ("spec", "placement", "spreadConstraints")
_MOVES: yaml.Path = ("spec", "placement", "failover")
_FAILOVER: yaml.Path = ("spec", "failover")
#: The older spellings, and ours.
_PURGES = {"Graciously": "Gracefully", "Immediately": "Directly"}
_TOLERATIONS: yaml.Path = ("spec", "placement", "tolerations")
_CLUSTER_TOLERATIONS: yaml.Path = ("spec", "placement", "clusterTolerations")
#: The marks of a cluster's health, as Karmada calls them and as they are called here.
_KEYS = {
    "cluster.karmada.io/not-ready": taints.NOT_READY,
    "cluster.karmada.io/unreachable": taints.UNREACHABLE,
}


def translate(made: drafts.Draft, policies: Sequence[policy_matching.Propagation]) -> None:
    """Write which taints the application tolerates, how it is spread, and when it moves."""
    first = policies[0]
    differs = "tolerates other taints than {}" + policy_matching.SAME_CLUSTERS
    tolerated = policy_matching.agreed(policies, _tolerations, _CLUSTER_TOLERATIONS, differs)
    for policy in policies:
        _check(policy)
        for place, toleration in enumerate(policy.read.spec.placement.cluster_tolerations):
            _check_toleration(policy, toleration, (*_CLUSTER_TOLERATIONS, place))
    if tolerated:
        made.put(_TOLERATIONS, tolerated, first.reading.where(_CLUSTER_TOLERATIONS))
    differs = "says something else than {}" + policy_matching.SAME_CLUSTERS
    spread = policy_matching.agreed(policies, _spread, _CONSTRAINTS, differs)
    moves = policy_matching.agreed(policies, _failover, _FAILOVER, differs)
    if spread:
        made.put(_SPREAD, spread, first.reading.where(_CONSTRAINTS))
    if moves:
        made.put(_MOVES, moves, first.reading.where(_FAILOVER))


def _spread(policy: policy_matching.Propagation) -> list[dict[str, Any]]:
    if _is_by_static_weight(policy):
        return []
    return [
        _constraint(spread_constraint)
        for spread_constraint in policy.read.spec.placement.spread_constraints
    ]


def _constraint(read: schema.SpreadConstraint) -> dict[str, Any]:
    constraint: dict[str, Any] = {"minGroups": read.min_groups or 1}
    if read.spread_by_label:
        constraint["byLabel"] = read.spread_by_label
    else:
        constraint["by"] = read.spread_by_field or "cluster"
    return {**constraint, "maxGroups": read.max_groups} if read.max_groups else constraint


def _is_by_static_weight(policy: policy_matching.Propagation) -> bool:
    """Say whether spread constraints have no effect (Karmada: shouldIgnoreSpreadConstraint)."""
    read = policy.read.spec.placement.replica_scheduling
    if read is None or read.replica_scheduling_type != "Divided":
        return False
    if read.replica_division_preference == "Aggregated":
        return False
    return read.weight_preference is None or not read.weight_preference.dynamic_weight


def _check(policy: policy_matching.Propagation) -> None:
    constraints = policy.read.spec.placement.spread_constraints
    for place, constraint in enumerate(constraints):
        if constraint.spread_by_field and constraint.spread_by_label:
            message = "spreadByField and spreadByLabel are both given"
            policy.reading.error((*_CONSTRAINTS, place), message, "keep one of them")
    if constraints and _is_by_static_weight(policy):
        message = "has no effect with static weights, in Karmada neither"
        policy.reading.warn(_CONSTRAINTS, message, "remove it")
    read = policy.read.spec.failover
    if read is not None and read.cluster is not None and read.cluster.decision_conditions:
        policy.reading.error(
            (*_FAILOVER, "cluster", "decisionConditions"),
            "has no effect: a taint is tolerated for as long as a toleration says",
            "write tolerationSeconds of a clusterToleration",
        )
    for key, behaviour in (
        ("application", read and read.application),
        ("cluster", read and read.cluster),
    ):
        if behaviour and behaviour.state_preservation:
            policy.reading.error(
                (*_FAILOVER, key, "statePreservation"),
                "values of the old status are not brought to the new copy",
                "remove it if the application does without",
            )


def _failover(policy: policy_matching.Propagation) -> dict[str, Any]:
    read = policy.read.spec.failover
    if read is None:
        return {}
    section: dict[str, Any] = {}
    if read.application is not None:
        conditions = read.application.decision_conditions
        seconds = 300 if conditions is None else conditions.toleration_seconds
        section["application"] = _behaviour(read.application, 300 if seconds is None else seconds)
    if read.cluster is not None:
        # What no toleration matches is not tolerated at all.
        section["cluster"] = _behaviour(read.cluster, 0)
    return section


def _behaviour(read: schema.FailoverBehaviour, toleration: int) -> dict[str, Any]:
    section: dict[str, Any] = {"toleration": f"{toleration}s"}
    if read.purge_mode:
        section["purge"] = _PURGES.get(read.purge_mode, read.purge_mode)
    if read.grace_period_seconds is not None:
        section["gracePeriod"] = f"{read.grace_period_seconds}s"
    return section


def _tolerations(policy: policy_matching.Propagation) -> list[dict[str, Any]]:
    read = policy.read.spec.placement.cluster_tolerations
    return [_toleration(toleration) for toleration in read if _is_carried_over(toleration)]


def _toleration(read: schema.Toleration) -> dict[str, Any]:
    section = {
        "key": _KEYS.get(read.key, read.key),
        "operator": read.operator,
        "value": read.value,
        "effect": read.effect,
        "tolerationSeconds": read.toleration_seconds,
    }
    return {key: value for key, value in section.items() if value not in ("", None)}


def _is_carried_over(read: schema.Toleration) -> bool:
    return read.effect in ("", *taints.Effect) and read.operator in ("", *taints.TolerationOperator)


def _check_toleration(
    policy: policy_matching.Propagation, read: schema.Toleration, path: yaml.Path
) -> None:
    if read.operator not in ("", *taints.TolerationOperator):
        message = f"the operator {read.operator} is unknown"
        policy.reading.error((*path, "operator"), message, "write Equal or Exists")
    elif read.effect not in ("", *taints.Effect):
        message = f"has no effect: no cluster is marked with {read.effect}"
        policy.reading.warn((*path, "effect"), message, "write NoSchedule or NoExecute")
