"""Which clusters a selector takes, with the reason for each one that it does not.

Source of the rules: Karmada's ClusterMatches; a zone matches when any of the cluster's does.
"""

from collections.abc import Iterator, Mapping

from volary.model.fleet import fleets
from volary.model.placement import rollouts

#: The fields of a cluster that can be compared.
FIELDS = ("provider", "region", "zone")


def mismatch(selector: rollouts.ClusterSelector, cluster: fleets.Cluster) -> str:
    """Return why `cluster` is not taken, in a clause; empty when it is."""
    return next(_mismatches(selector, cluster), "")


def matches(selector: rollouts.ClusterSelector | None, cluster: fleets.Cluster) -> bool:
    """Say whether `cluster` is taken; without a selector every one is."""
    return selector is None or not mismatch(selector, cluster)


def _mismatches(selector: rollouts.ClusterSelector, cluster: fleets.Cluster) -> Iterator[str]:
    if selector.plugin and cluster.plugins and selector.plugin not in cluster.plugins:
        yield f"a deploy target of {', '.join(cluster.plugins)}, not of {selector.plugin}"
    if cluster.name in selector.exclude:
        yield "excluded by name"
    if selector.names and cluster.name not in selector.names:
        yield f"not one of {', '.join(selector.names)}"
    for key, value in selector.match_labels.items():
        if cluster.labels.get(key) != value:
            yield f"label {key} is {_label_text(cluster.labels, key)}, not {value}"
    for requirement in selector.match_expressions:
        values = {cluster.labels[requirement.key]} if requirement.key in cluster.labels else None
        if not is_met(requirement, values):
            told = _label_text(cluster.labels, requirement.key)
            yield f"label {requirement.key} is {told}, but has to be {describe(requirement)}"
    for requirement in selector.match_fields:
        cluster_values = field_values(cluster, requirement.key)
        if not is_met(requirement, cluster_values or None):
            told = ", ".join(sorted(cluster_values)) or "not set"
            yield f"{requirement.key} is {told}, but has to be {describe(requirement)}"


def field_values(cluster: fleets.Cluster, key: str) -> set[str]:
    """Return the values of a field; its label of the same name counts when it is not set."""
    written = {
        "provider": (cluster.provider,),
        "region": (cluster.region,),
        "zone": cluster.zones,
    }.get(key, ())
    values = {value for value in written if value}
    return values or ({cluster.labels[key]} if cluster.labels.get(key) else set())


def describe(requirement: rollouts.Requirement) -> str:
    """Return a condition in words: ``one of a, b``; ``set``."""
    values = ", ".join(requirement.values)
    match requirement.operator:
        case rollouts.Operator.IN:
            return f"one of {values}"
        case rollouts.Operator.NOT_IN:
            return f"none of {values}"
        case rollouts.Operator.EXISTS:
            return "set"
        case rollouts.Operator.DOES_NOT_EXIST:
            return "not set"


def is_met(requirement: rollouts.Requirement, values: set[str] | None) -> bool:
    """Say whether a condition holds for what is there; None: there is no such label.

    A missing label is in nothing (Kubernetes: selectors).
    """
    match requirement.operator:
        case rollouts.Operator.IN:
            return bool((values or set()) & set(requirement.values))
        case rollouts.Operator.NOT_IN:
            return not (values or set()) & set(requirement.values)
        case rollouts.Operator.EXISTS:
            return values is not None
        case rollouts.Operator.DOES_NOT_EXIST:
            return values is None


def _label_text(labels: Mapping[str, str], key: str) -> str:
    return labels.get(key) or "not set"
