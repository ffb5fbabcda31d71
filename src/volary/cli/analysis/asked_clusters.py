"""What providers are asked about without a release: an application, on which clusters, by what
names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from volary.analysis.metering import query_names
from volary.cli.local import inputs
from volary.config.crosscheck import fleet_checks
from volary.controller.planning import opened_applications, preparation
from volary.model import errors
from volary.model.fleet import fleets


@dataclass(frozen=True, slots=True)
class AskedClusters:
    """An application and its clusters."""

    opened: opened_applications.OpenedApplication
    members: fleets.Fleet
    #: What clusters get, before they get anything different.
    manifests: inputs.Manifests
    #: Names of what belongs to the application, by cluster.
    names: Mapping[str, query_names.Names]


async def open_clusters(request: preparation.RunOptions, *, only: str = "") -> AskedClusters:
    """Open an application and its fleet, and show what is wrong with them.

    Raises:
        errors.UserError: One of them cannot be read, or `only` is no cluster of them.
    """
    opened, members = await inputs.open_inputs(request)
    targets = _targets(opened, members, only)
    # Names are the same whatever clusters get differently.
    manifests = await inputs.undivided(opened, targets)
    names = {
        target: query_names.find(opened.application, manifests[target], namespace="default")
        for target in targets
    }
    return AskedClusters(opened, members, manifests, names)


def _targets(
    opened: opened_applications.OpenedApplication, members: fleets.Fleet, only: str
) -> list[str]:
    names = [
        cluster.name for cluster in fleet_checks.deployment_targets(opened.application, members)
    ]
    if only and only not in names:
        raise errors.user_error(
            f"{only} is no cluster of the application", hint=f"there are {', '.join(names)}"
        )
    return [only] if only else names
