"""What going back to a version would change, cluster by cluster, before anybody does it. Pure."""

from collections.abc import Sequence

from volary.controller.api import plan_representations, representations
from volary.controller.preview import previews
from volary.model import phrases


class RollbackCluster(representations.Representation, frozen=True):
    """What going back would change on one cluster."""

    name: str
    #: ``changes``, ``unchanged``, ``not_pruned``, ``refused`` or ``unreachable``.
    status: str
    #: In counts of objects: ``2 changed, 1 pruned``; or why it is not known.
    sentence: str


class RollbackPreview(representations.Representation, frozen=True):
    """What going back to a version would change: ``volary rollback --to … --dry-run`` says it."""

    application: str
    commit: str
    subject: str
    #: What it comes to: ``2 of 3 clusters change: us and eu; asia stays as it is``.
    sentence: str
    #: Whether every cluster could be asked.
    is_known: bool
    clusters: tuple[RollbackCluster, ...]


def of_plan(planned: plan_representations.Plan) -> RollbackPreview:
    """Return what a plan says that goes back to its commit."""
    return RollbackPreview(
        planned.application,
        planned.commit,
        planned.subject,
        _sentence(planned.clusters),
        all(not cluster.unreachable_reason for cluster in planned.clusters),
        tuple(
            RollbackCluster(cluster.name, cluster.status, _of_cluster(cluster))
            for cluster in planned.clusters
        ),
    )


def _sentence(clusters: Sequence[plan_representations.PlannedCluster]) -> str:
    """Return how many clusters change, and which do not, would refuse, or are not known."""

    def named(*wanted: previews.TargetStatus) -> list[str]:
        return [cluster.name for cluster in clusters if cluster.status in wanted]

    status = previews.TargetStatus
    changing = named(status.CHANGES)
    head = f"{len(changing)} of {phrases.count(len(clusters), 'cluster')}"
    parts = [f"{head} {'changes' if len(changing) == 1 else 'change'}"]
    if changing:
        parts[0] += f": {phrases.join_names(changing)}"
    if same := named(status.UNCHANGED, status.NOT_PRUNED):
        stay = "stays as it is" if len(same) == 1 else "stay as they are"
        parts.append(f"{phrases.join_names(same)} {stay}")
    if refusing := named(status.REFUSED):
        parts.append(f"{phrases.join_names(refusing)} would refuse")
    if unknown := named(status.UNREACHABLE):
        parts.append(f"what changes on {phrases.join_names(unknown)} is not known")
    return "; ".join(parts)


def _of_cluster(cluster: plan_representations.PlannedCluster) -> str:
    if cluster.unreachable_reason:
        return f"not known: {cluster.unreachable_reason}"
    if cluster.problems:
        return f"would refuse: {phrases.first_of(cluster.problems, most=1, between='; ')}"
    counts = {
        "created": cluster.created,
        "changed": cluster.changed,
        "pruned": cluster.pruned,
        "kept": cluster.kept,
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return said or "no changes"
