"""What a run will have to be allowed besides writing, as far as its sets say so.

What is waited for is listed and watched. Copies of variants are listed to be deleted by their
clean-up, and where a stage prunes, the kinds of its set are. Objects that are adopted are kept in
Secrets until the run has ended, and the inventory names them.
"""

from collections.abc import Iterator, Sequence

from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import pruning
from volary.clusters.observe import permissions
from volary.clusters.watching import waits
from volary.model import applications, errors
from volary.model.pipeline import variant
from volary.stages.runtime import stage_runners

#: With which kinds of the core group objects are kept as they were.
_KEEPING = (("Secret", ("list", "create", "patch", "delete")), ("ConfigMap", ("create", "patch")))
_COPIES = (variant.Variant.CANARY, variant.Variant.BASELINE)


async def check(
    client: clients.Client,
    rollouts: Sequence[stage_runners.Rollout],
    application: applications.Application,
    *,
    keeps_in: str = "",
) -> tuple[errors.Problem, ...]:
    """Return a problem for each permission that a cluster says is missing.

    `keeps_in` is the namespace where adopted objects are kept as they were; empty: none is.
    """
    wanted: list[permissions.Permission] = []
    for kind, verbs in _KEEPING if keeps_in else ():
        resource = await resource_mapping.require(client, "", kind)
        wanted += [permissions.Permission(verb, resource, keeps_in) for verb in verbs]
    for rollout in rollouts:
        mapped = await resource_mapping.map_manifests(client, rollout.manifests, refresh=False)
        for placed in mapped.mapped:
            for verb in _verbs(placed, rollout, application):
                place = placed.item.namespace
                wanted.append(permissions.Permission(verb, placed.resource, place))
    return tuple(
        errors.Problem(
            f"cluster {client.name}: {lacking.sentence}",
            hint="give the user this permission by a "
            + ("Role and a RoleBinding" if lacking.namespace else "ClusterRole and its binding"),
        )
        for lacking in await permissions.missing(client, wanted)
    )


def _verbs(
    placed: resource_mapping.MappedManifest,
    rollout: stage_runners.Rollout,
    application: applications.Application,
) -> Iterator[str]:
    item, label = placed.item, application.variant_label
    is_copy = item.labels.get(label.key) in [label.value(which) for which in _COPIES]
    is_waited = waits.is_waited(item, application.health)
    if is_waited or is_copy:
        yield "list"
    if is_waited:
        yield "watch"
    if is_copy or (rollout.prune and not pruning.protection(item.body)):
        yield "delete"
