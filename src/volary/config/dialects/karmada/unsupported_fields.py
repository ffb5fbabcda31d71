"""What a propagation policy says that is not carried out: named, with what follows.

It is an error where passing over it would deploy to other clusters or otherwise than Karmada
does, and a warning where it would not.
"""

from volary.config.dialects.karmada import policy_matching
from volary.config.text import yaml

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


def check_placement(policy: policy_matching.Propagation) -> None:
    """Note what has a say in the choice of clusters."""
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
            "has no effect: fields of others are not taken over",
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
