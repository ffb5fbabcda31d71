"""From propagation policies to ``targets`` and ``placement.replicas``.

What a policy says that is not carried out is named, with what follows: it is an error where passing
over it would deploy to other clusters or otherwise than Karmada does, else a warning.
"""

from collections.abc import Sequence
from typing import Any

from volary.config.dialects import drafts
from volary.config.dialects.karmada import affinities, policy_matching, schema
from volary.config.text import yaml
from volary.model import errors
from volary.model.placement import divisible_kinds

_TARGETS: yaml.Path = ("spec", "targets")
_REPLICAS: yaml.Path = ("spec", "placement", "replicas")
_MOST_NAMES: yaml.Path = ("spec", "suspension", "dispatchingOnClusters", "clusterNames")
_SCHEDULING: yaml.Path = ("spec", "placement", "replicaScheduling")
_AGGREGATED = "Aggregated"
_AVAILABLE = "AvailableReplicas"
#: Begins a warning.
_NO_EFFECT = "has no effect: "


def targets(made: drafts.Draft, policies: Sequence[policy_matching.Propagation]) -> None:
    """Write which clusters the application is for; it has one answer for all of its objects."""
    first = policies[0]
    for policy in policies:
        _check_placement(policy)
    differs = f"chooses other clusters than {{}} ({first.reading.where(())})"
    differs += policy_matching.SAME_CLUSTERS
    chosen = policy_matching.agreed(policies, _chosen, ("spec", "placement"), differs)
    if not chosen:
        return
    made.came_from(_TARGETS, first.reading.where(("spec", "placement")))
    held = first.reading.where(_MOST_NAMES)
    at = ("spec", "placement", "clusterAffinity")
    names = {
        "names": ("clusterNames",),
        "matchLabels": ("labelSelector", "matchLabels"),
        "matchExpressions": ("labelSelector", "matchExpressions"),
        "matchFields": ("fieldSelector", "matchExpressions"),
        "exclude": ("exclude",),
    }
    for key, value in chosen.items():
        made.put((*_TARGETS, key), value, first.reading.where((*at, *names[key])))
    for place, name in enumerate(chosen.get("exclude", [])):
        if name not in _excluded(first):
            made.came_from((*_TARGETS, "exclude", place), held)


def suspension(policies: Sequence[policy_matching.Propagation]) -> None:
    """Note what is held back."""
    for policy in policies:
        held = policy.read.spec.suspension
        if held is None:
            continue
        at: yaml.Path = ("spec", "suspension")
        if held.dispatching:
            message = f"{policy.title} is suspended: nothing is dispatched"
            where, hint = policy.reading.where((*at, "dispatching")), "remove it to release again"
            policy.reading.problems.append(errors.Problem(message, where, hint, holds=True))
        names = _suspended_clusters(policy)
        if names:
            message = f"not deployed to {', '.join(names)}: {policy.title} suspends it"
            if _is_divided(policy):
                message += ", and its share of the replicas goes to the other clusters"
            policy.reading.warn((*at, "dispatchingOnClusters"), message)


def suspended_clusters(made: drafts.Draft, policies: Sequence[policy_matching.Propagation]) -> None:
    """Write which clusters are held back, where the file beside the policies chooses them."""
    names = list(dict.fromkeys(name for policy in policies for name in _suspended_clusters(policy)))
    if names:
        holding = next(policy for policy in policies if _suspended_clusters(policy))
        made.put((*_TARGETS, "exclude"), names, holding.reading.where(_MOST_NAMES))


def replicas(
    made: drafts.Draft,
    claimed: Sequence[tuple[policy_matching.Propagation, Sequence[yaml.Document] | None]],
) -> None:
    """Write how replicas are spread, as the policies of workloads say."""
    about = [
        policy
        for policy, objects in claimed
        if objects is None or any(divisible_kinds.has_pods(item.value) for item in objects)
    ]
    if not about:
        return
    first = about[0]
    differs = "spreads replicas otherwise than {}"
    spread = policy_matching.agreed(about, _spread, _SCHEDULING, differs, objects="workloads")
    for workload_policy in about:
        _check_weight(workload_policy)
        _without_effect(workload_policy)
    if spread:
        made.put(_REPLICAS, spread, first.reading.where(_SCHEDULING))


def _without_effect(policy: policy_matching.Propagation) -> None:
    """Name what Karmada does not look at either."""
    read = policy.read.spec.placement.replica_scheduling
    if read is None:
        return
    weights = read.weight_preference
    why = ""
    if not _is_divided(policy):
        why = "every cluster runs all replicas (replicaSchedulingType: Duplicated)"
        if read.replica_division_preference:
            policy.reading.warn((*_SCHEDULING, "replicaDivisionPreference"), _NO_EFFECT + why)
    elif read.replica_division_preference == _AGGREGATED:
        why = "with Aggregated nobody is weighted"
    if weights is not None and why:
        policy.reading.warn((*_SCHEDULING, "weightPreference"), _NO_EFFECT + why)
    elif weights is not None and weights.dynamic_weight and weights.static_weight_list:
        at = (*_SCHEDULING, "weightPreference", "staticWeightList")
        policy.reading.warn(at, _NO_EFFECT + "dynamicWeight is given as well")


def _check_weight(policy: policy_matching.Propagation) -> None:
    preference = _preference(policy)
    if preference is None or preference.dynamic_weight in ("", _AVAILABLE):
        return
    at = (*_SCHEDULING, "weightPreference", "dynamicWeight")
    message = f"{preference.dynamic_weight} is not known"
    policy.reading.error(at, message, f"write {_AVAILABLE}")


def _preference(policy: policy_matching.Propagation) -> schema.WeightPreference | None:
    """Return how replicas are weighted; None where that does not matter."""
    read = policy.read.spec.placement.replica_scheduling
    if read is None or not _is_divided(policy):
        return None
    return None if read.replica_division_preference == _AGGREGATED else read.weight_preference


def _chosen(policy: policy_matching.Propagation) -> dict[str, Any]:
    chosen_clusters = affinities.clusters(_affinity(policy))
    left_out = list(dict.fromkeys([*_excluded(policy), *_suspended_clusters(policy)]))
    return {**chosen_clusters, "exclude": left_out} if left_out else chosen_clusters


def _affinity(policy: policy_matching.Propagation) -> schema.ClusterAffinity | None:
    placed = policy.read.spec.placement
    if placed.cluster_affinity is None and placed.cluster_affinities:
        return placed.cluster_affinities[0]
    return placed.cluster_affinity


def _excluded(policy: policy_matching.Propagation) -> list[str]:
    affinity = _affinity(policy)
    return list(affinity.exclude) if affinity else []


def _suspended_clusters(policy: policy_matching.Propagation) -> list[str]:
    held = policy.read.spec.suspension
    if held is None or held.dispatching_on_clusters is None:
        return []
    return list(held.dispatching_on_clusters.cluster_names)


def _is_divided(policy: policy_matching.Propagation) -> bool:
    read = policy.read.spec.placement.replica_scheduling
    return read is not None and read.replica_scheduling_type == "Divided"


def _spread(policy: policy_matching.Propagation) -> dict[str, Any]:
    """Return the section for the replicas; empty: every cluster runs all of them."""
    read = policy.read.spec.placement.replica_scheduling
    if read is None or not _is_divided(policy):
        return {}
    section: dict[str, Any] = {"division": "Divided"}
    if read.replica_division_preference == _AGGREGATED:
        return {**section, "preference": _AGGREGATED}
    preference = _preference(policy)
    if preference is not None and preference.dynamic_weight:
        # The static weights beside it are not looked at (Karmada).
        return {**section, "preference": _AVAILABLE}
    if preference is not None and preference.static_weight_list:
        section["weights"] = [
            {"targets": affinities.clusters(entry.target_cluster), "weight": entry.weight}
            for entry in preference.static_weight_list
        ]
    return section


_PLACEMENT: yaml.Path = ("spec", "placement")


def check_namespaces(policy: policy_matching.Propagation) -> None:
    """Note selectors of objects that a policy cannot be for (Karmada: its webhook)."""
    for place, selector in enumerate(policy.read.spec.resource_selectors):
        if policy.namespace and selector.namespace not in ("", policy.namespace):
            at = ("spec", "resourceSelectors", place, "namespace")
            message = (
                f"{policy.title} is in the namespace {policy.namespace}, not {selector.namespace}"
            )
            policy.reading.error(at, message, "write a ClusterPropagationPolicy, or remove it")


def _check_placement(policy: policy_matching.Propagation) -> None:
    placed, reading = policy.read.spec.placement, policy.reading
    _check_affinities(policy)
    if placed.workload_affinity is not None:
        at = (*_PLACEMENT, "workloadAffinity")
        reading.error(at, "placing by other workloads is not carried out", "name the clusters")
    name = policy.read.spec.scheduler_name
    if name not in ("", "default-scheduler"):
        message = f"the scheduler {name} is not asked"
        reading.error(("spec", "schedulerName"), message, "write the clusters it would choose")


def _check_affinities(policy: policy_matching.Propagation) -> None:
    placed, reading = policy.read.spec.placement, policy.reading
    if not placed.cluster_affinities:
        return
    at = (*_PLACEMENT, "clusterAffinities")
    if placed.cluster_affinity is not None:
        reading.error(at, "clusterAffinity and clusterAffinities are both given", "keep one")
    if len(placed.cluster_affinities) > 1:
        names = ", ".join(
            cluster_affinity.affinity_name for cluster_affinity in placed.cluster_affinities[1:]
        )
        message = f"falling back to {names} is not carried out"
        reading.error(at, message, "write the first one as clusterAffinity")
    if any(cluster_affinity.overflow_affinities for cluster_affinity in placed.cluster_affinities):
        message = "overflowAffinities are not carried out: tiers are not filled one after another"
        reading.error((*at, 0, "overflowAffinities"), message, "write one clusterAffinity")


def check_propagation(policy: policy_matching.Propagation) -> None:
    """Note what else is not carried out."""
    spec, reading = policy.read.spec, policy.reading
    noted: tuple[tuple[str, bool, str, str], ...] = (
        (
            "conflictResolution",
            spec.conflict_resolution == "Overwrite",
            "has no effect: fields of controllers are not taken over",
            "annotate the object with volary.dev/force-conflicts: enabled",
        ),
        (
            "preemption",
            spec.preemption == "Always",
            "has no effect: which policy is for an object is decided anew in every run",
            "",
        ),
        (
            "activationPreference",
            bool(spec.activation_preference),
            "has no effect: an edit of a policy goes out with the next run, as any other change",
            "",
        ),
        (
            "preserveResourcesOnDeletion",
            spec.preserve_resources_on_deletion,
            "has no effect: without a policy there is no run, and nothing is deleted",
            "",
        ),
        ("schedulePriority", spec.schedule_priority is not None, "has no effect", ""),
    )
    for key, given, message, hint in noted:
        if given:
            reading.warn(("spec", key), message, hint)
