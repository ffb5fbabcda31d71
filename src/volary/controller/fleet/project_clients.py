"""On whose behalf a namespace of a cluster is read, where that is done in namespaces singly.

A server that may not read a cluster as a whole may still act as the projects that it serves: what
is in a project's namespaces is then read as the project.
"""

from collections.abc import Callable
from dataclasses import dataclass

from volary.clusters.client import client_pool
from volary.controller import project_actors
from volary.model import projects
from volary.tenancy import membership, restrictions


@dataclass(frozen=True, slots=True)
class ProjectClients:
    """See the module; a `cluster_follower.Behalf`."""

    clusters: client_pool.FleetClients
    #: Which projects there are now.
    known: Callable[[], membership.Projects]

    def namespaces(self, cluster: str) -> tuple[str, ...]:
        """Return the namespaces that projects with an identity of their own name on a cluster."""
        named = (restrictions.named_namespaces(project) for project in self._there(cluster))
        return tuple(dict.fromkeys(name for names in named for name in names))

    def clients(self, cluster: str, namespace: str) -> client_pool.FleetClients:
        """Return the clients of the first project that may be there, else the server's own."""
        member = self.clusters.member(cluster)
        for project in self._there(cluster):
            if member and not restrictions.refusal_of_place(project, member, namespace):
                actor = project_actors.ProjectActor(project.name, self.known)
                return self.clusters.acting_for(actor)
        return self.clusters

    def _there(self, cluster: str) -> list[projects.Project]:
        member = self.clusters.member(cluster)
        if member is None:
            return []
        return [
            project
            for _, project in sorted(self.known().by_name.items())
            if (project.impersonate or project.credentials)
            and not restrictions.refusal_of_cluster(project, member)
        ]
