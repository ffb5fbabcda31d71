"""Who gets how many replicas, as the API shows it; so does a plan on the command line."""

from volary.controller.api import representations
from volary.placement.replicas import assignment, divisible_workloads


def of_assignment(made: assignment.Assignment) -> tuple[representations.WorkloadReplicas, ...]:
    """Return who gets how many replicas of each workload."""
    return tuple(_divided(workload, made) for workload in made.workloads)


def _divided(
    divided: assignment.WorkloadAssignment, made: assignment.Assignment
) -> representations.WorkloadReplicas:
    def one(name: str, share: divisible_workloads.Share) -> representations.ClusterReplicas:
        read_at = made.read_at.get(name) if name in divided.room else None
        return representations.ClusterReplicas(
            name,
            share.replicas,
            share.completions,
            share.least,
            divided.room[name] if read_at else None,
            read_at,
        )

    clusters = tuple(one(name, share) for name, share in divided.shares.items())
    return representations.WorkloadReplicas(str(divided.key), divided.reason, clusters)
