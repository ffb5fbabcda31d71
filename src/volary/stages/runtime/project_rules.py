"""What a stage leaves alone because the application's project, as it is now, does not permit it.

What a stage applies is refused as a whole before anything of it is written. What it deletes stays
one by one. A rollback leaves out what it may not write, and says so.
"""

from collections.abc import Mapping, Sequence

from volary.clusters.apply import deletions
from volary.clusters.client import object_places
from volary.clusters.inventory import pruning
from volary.model import errors, json
from volary.model.objects import manifest
from volary.stages.runtime import execution
from volary.tenancy import restrictions


async def refusals(
    work: execution.Work, manifests: Sequence[manifest.Manifest]
) -> Mapping[manifest.ResourceKey, str]:
    """Return why objects of a set may not be written, by key; of the others nothing."""
    guard = work.context.guard
    if guard.permits_everything:
        return {}
    places, _ = await object_places.find(work.context.client, manifests)
    refused: dict[manifest.ResourceKey, str] = {}
    for place in places:
        refusal = guard.refusal_of_object(place.kind, namespace=place.namespace, name=place.name)
        if refusal and place.key is not None:
            refused[place.key] = refusal
    return refused


async def require(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> None:
    """See that a whole set may be written.

    Raises:
        UserError: With all that may not be.
    """
    refused = await refusals(work, manifests)
    if refused:
        raise errors.UserError(
            *(errors.Problem(f"{refusal}: {key.title}") for key, refusal in refused.items())
        )


def keep_check(
    work: execution.Work, check: deletions.KeepCheck = pruning.keep_nothing
) -> deletions.KeepCheck:
    """Return a check that also keeps what the project does not permit to be touched."""
    guard = work.context.guard
    if guard.permits_everything:
        return check

    def stays(body: json.JsonObject) -> str:
        item = manifest.Manifest(body)
        # A live object has a namespace if, and only if, its kind is namespaced.
        kind = restrictions.ObjectKind(item.group, item.kind, bool(item.namespace))
        return check(body) or guard.refusal_of_object(
            kind, namespace=item.namespace, name=item.name
        )

    return stays
