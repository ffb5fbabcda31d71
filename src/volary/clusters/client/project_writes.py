"""What a project permits of single writes, whatever they are for."""

from volary.clusters.client import write_rules
from volary.model import projects
from volary.model.fleet import fleets
from volary.tenancy import restrictions


def refusal(
    project: projects.Project | None, cluster: fleets.Cluster, write: write_rules.Write
) -> str:
    """Return why a project may not write something to a cluster, a sentence; empty: it may.

    Without a project everything may be written.
    """
    if project is None:
        return ""
    resource = write.resource
    if write.purpose is write_rules.Purpose.BOOKKEEPING:
        return restrictions.refusal_of_bookkeeping(
            project, cluster, resource.kind, namespace=write.namespace, name=write.name
        )
    kind = restrictions.ObjectKind(resource.group, resource.kind, resource.namespaced)
    return restrictions.refusal_of_object(
        project, cluster, kind, namespace=write.namespace, name=write.name
    )
