"""What workspaces write in clusters: the objects that they consist of, and no others."""

from dataclasses import dataclass

from volary.clusters.client import actors, write_rules
from volary.model.fleet import fleets
from volary.tenancy import workspace_manifests

_KINDS = {*workspace_manifests.KINDS, ("", "Namespace")}


@dataclass(frozen=True, slots=True)
class WorkspaceActor:
    """The server itself, on behalf of the platform team."""

    @property
    def title(self) -> str:
        """How it is called in sentences."""
        return "workspaces"

    def identity(self) -> actors.Identity:
        """Return that it is the server's own."""
        return actors.Identity()

    def refusal(self, cluster: fleets.Cluster, write: write_rules.Write) -> str:
        """Return why something may not be written; empty: it may."""
        del cluster  # they are the same everywhere
        resource = write.resource
        is_record = write.purpose is write_rules.Purpose.BOOKKEEPING
        if is_record or (resource.group, resource.kind) in _KINDS:
            return ""
        return f"a workspace has no {resource.kind}"
