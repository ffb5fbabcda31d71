"""Writes a cluster's share of what is divided into its manifests. Pure."""

from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.workloads import autoscalers
from volary.model import errors, json
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.replicas import assignment, divisible_workloads

_NONE = divisible_workloads.Share(0)


def apply(
    manifests: Sequence[manifest.Manifest],
    policy: overrides.ReplicaDivision,
    cluster: fleets.Cluster,
    targets: Sequence[fleets.Cluster],
    *,
    assigned: assignment.Assignment | None = None,
) -> list[manifest.Manifest]:
    """Return the manifests with the cluster's share of the replicas.

    A workload with an autoscaler among the manifests keeps its own number, which the autoscaler
    decides; what is divided of it are the autoscaler's bounds, if anything. A cluster
    that takes no part in these gets no autoscaler, and no pods.

    What was decided before is `assigned`; where that is None, static weights divide over
    `targets`, all clusters of the application.

    Raises:
        UserError: Free capacity has a say, and nothing was decided.
    """
    if policy.division is not overrides.Division.DIVIDED:
        return list(manifests)
    dividends = divisible_workloads.find({cluster.name: manifests}, policy)
    missing = [
        dividend
        for dividend in dividends
        if assigned is None or assigned.find(dividend.key) is None
    ]
    if missing and policy.needs_capacity:
        raise unassigned(missing[0])
    decided = {
        workload.key: workload for workload in assignment.assign(policy, missing, targets).workloads
    }
    if assigned is not None:
        decided = {**{workload.key: workload for workload in assigned.workloads}, **decided}
    known = {dividend.key: decided[dividend.key].shares.get(cluster.name) for dividend in dividends}
    return _shared(manifests, known)


def unassigned(workload: divisible_workloads.Workload) -> errors.UserError:
    """Return why a workload cannot be written for one cluster alone."""
    return errors.UserError(
        errors.Problem(
            f"how many pods of {workload.key.title} a cluster gets is not decided here",
            workload.origin,
            "free capacity is read when a release is prepared: volary plan, volary targets",
        )
    )


_Known = dict[manifest.ResourceKey, divisible_workloads.Share | None]


def _shared(manifests: Sequence[manifest.Manifest], known: _Known) -> list[manifest.Manifest]:
    off = {
        item.key: scaler.key
        for item, scaler in divisible_workloads.autoscaled(manifests)
        if scaler.key in known and known[scaler.key] is None
    }
    gone = set(off.values())
    return [
        _with(item, _NONE if item.key in off else known.get(item.key) or _NONE)
        if item.key in known or item.key in off
        else item
        for item in manifests
        if item.key not in gone
    ]


def _with(item: manifest.Manifest, share: divisible_workloads.Share) -> manifest.Manifest:
    if item.kind in autoscalers.KINDS:
        return autoscalers.with_bounds(item, share.least or 0, share.replicas)
    key = "parallelism" if item.kind == "Job" else "replicas"
    changes: json.JsonObject = {key: share.replicas}
    has_completions = objects.value(item.body, "spec", "completions") is not None
    # A Job without any pods, that nobody says the end of, would never end.
    if has_completions or (item.kind == "Job" and not share.replicas):
        changes["completions"] = share.completions or 0
    return item.with_spec(changes)
