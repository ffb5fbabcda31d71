"""How many pods primary has on each cluster: as written, or live where that is somebody else's."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from volary.clusters import pool
from volary.controller import dividing
from volary.manifests import workloads
from volary.model import application as applications
from volary.model import errors, manifest
from volary.stages import scaling


async def read(
    clusters: pool.Pool,
    application: applications.Application,
    manifests: Mapping[str, Sequence[manifest.Manifest]],
    *,
    patience: timedelta,
) -> dict[str, dict[str, int]]:
    """Return the pods by cluster, then by workload as ``Deployment web``.

    Raises:
        errors.UserError: A cluster whose live number counts does not tell it.
    """
    found: dict[str, dict[str, int]] = {}
    left_open: dict[str, list[manifest.Manifest]] = {}
    for target, listed in manifests.items():
        chosen = [
            item
            for item in workloads.find(listed, application.workloads)
            if workloads.has_replicas(item)
        ]
        found[target] = {title(item): workloads.replicas(item.body) for item in chosen}
        undecided = [item for item in chosen if scaling.is_open(item, listed)]
        if undecided:
            left_open[target] = undecided
    seen, silent = await dividing.observe(clusters, application, left_open, patience)
    if silent:
        told = "; ".join(f"{target}: {why}" for target, why in silent.items())
        raise errors.user_error(
            f"how many pods primary has is not known, and a share of the fleet needs it: {told}",
            hint="try again when the clusters answer, or write a share of each cluster",
        )
    for target, shares in seen.items():
        for item in left_open[target]:
            if item.key in shares:
                found[target][title(item)] = shares[item.key].replicas
    return found


def title(item: manifest.Manifest) -> str:
    """Return a workload as batches name it."""
    return f"{item.kind} {item.name}"
