"""From ``clusterTolerations`` to ``placement.tolerations``."""

from collections.abc import Sequence
from typing import Any

from volary.config.dialects import drafts
from volary.config.dialects.karmada import policy_matching, schema
from volary.config.text import yaml
from volary.model.fleet import taints

_PATH: yaml.Path = ("spec", "placement", "tolerations")
_WRITTEN: yaml.Path = ("spec", "placement", "clusterTolerations")
#: The marks of a cluster's health, as Karmada calls them and as they are called here.
_KEYS = {
    "cluster.karmada.io/not-ready": taints.NOT_READY,
    "cluster.karmada.io/unreachable": taints.UNREACHABLE,
}


def translate(made: drafts.Draft, policies: Sequence[policy_matching.Propagation]) -> None:
    """Write which marks the application tolerates; its objects go together."""
    first = policies[0]
    differs = "tolerates other taints than {}" + policy_matching.SAME_CLUSTERS
    wanted = policy_matching.agreed(policies, _of, _WRITTEN, differs)
    for place, one in enumerate(first.read.spec.placement.cluster_tolerations):
        _check(first, one, (*_WRITTEN, place))
    if wanted:
        made.put(_PATH, wanted, first.reading.where(_WRITTEN))


def _of(policy: policy_matching.Propagation) -> list[dict[str, Any]]:
    read = policy.read.spec.placement.cluster_tolerations
    return [_section(toleration) for toleration in read if _is_carried_over(toleration)]


def _section(read: schema.Toleration) -> dict[str, Any]:
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


def _check(policy: policy_matching.Propagation, read: schema.Toleration, path: yaml.Path) -> None:
    if read.operator not in ("", *taints.TolerationOperator):
        message = f"the operator {read.operator} is unknown"
        policy.reading.error((*path, "operator"), message, "write Equal or Exists")
    elif read.effect not in ("", *taints.Effect):
        message = f"has no effect: no cluster is marked with {read.effect}"
        policy.reading.warn((*path, "effect"), message, "write NoSchedule or NoExecute")
