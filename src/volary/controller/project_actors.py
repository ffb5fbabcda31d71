"""What is done in clusters for the applications of a project: as whom, and what of it may be."""

from collections.abc import Callable
from dataclasses import dataclass

from volary.clusters.client import actors, project_writes, write_rules
from volary.clusters.kubeconfig import connections
from volary.model import errors
from volary.model.fleet import fleets
from volary.tenancy import identities, membership


@dataclass(frozen=True, slots=True)
class ProjectActor:
    """A project by its name, as it is whenever something is asked."""

    name: str
    #: Which projects there are now.
    projects: Callable[[], membership.Projects]

    @property
    def title(self) -> str:
        """How it is called in sentences."""
        return f"project {self.name}"

    def identity(self) -> actors.Identity:
        """Return how clusters know it now.

        Raises:
            errors.UserError: There is no such project any more, or what it says cannot be.
            errors.TemporaryError: It is not known now which projects there are.
        """
        project = identities.find(self.projects(), self.name)
        known = identities.OWN if project is None else identities.identity_of(project)
        if not known.user:
            return actors.Identity(kubeconfig=known.kubeconfig)
        return actors.Identity(connections.Impersonation(known.user, groups=known.groups))

    def refusal(self, cluster: fleets.Cluster, write: write_rules.Write) -> str:
        """Return why the project may not write something to a cluster now; empty: it may."""
        try:
            project = identities.find(self.projects(), self.name)
        except errors.TemporaryError as error:
            return str(error)
        except errors.UserError as error:
            return error.problems[0].message
        return project_writes.refusal(project, cluster, write)
