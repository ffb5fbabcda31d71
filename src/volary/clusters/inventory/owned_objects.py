"""What belongs to an application in a cluster: by inventory and by label.

Kinds to look at come from the inventory and from the desired set; without an inventory,
also those that applications commonly consist of. A kind that may not be listed is
left out, and said to be. Any other failure of a list is an error: a part is not a list; so is a
kind that the cluster cannot say whether it serves.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory, inventory_store
from volary.concurrency import fan_out
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

#: What a variant can consist of (PipeCD: a variant's copies).
VARIANT_KINDS = (
    ("", "Service"),
    # The canary of an Ingress (ingress-nginx).
    ("networking.k8s.io", "Ingress"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("", "ConfigMap"),
    ("", "Secret"),
)
#: What applications commonly consist of.
COMMON_KINDS = (
    *VARIANT_KINDS,
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("", "ServiceAccount"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose objects are read, and where."""

    owner: ownership.Owner
    label: variant.VariantLabel = field(default_factory=variant.VariantLabel)
    #: Only objects of these variants; empty: of all.
    variants: tuple[variant.Variant, ...] = ()
    #: Namespaces Volary may work in; empty: all.
    namespaces: tuple[str, ...] = ()
    #: Delete also when most of the application's objects would go.
    allow_mass_deletion: bool = False
    #: Namespaces the application is known to use, for users who may not list all of them.
    likely: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnedObjects:
    """The objects and the inventory, as read just now."""

    inventory: inventory.Inventory
    #: Every object that carries the application's labels, of the kinds that were listed; without
    #: those that others can have labelled so, where the application may not have any.
    live: Sequence[json.JsonObject]
    #: What could not be read.
    warnings: tuple[str, ...]


async def read(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: Scope,
    common: Collection[tuple[str, str]],
) -> OwnedObjects:
    """Read the inventory and list the application's objects of every kind in question.

    Kinds and namespaces are those of `desired` and of the inventory; where that is empty, those
    in `common` as well.

    Raises:
        VolaryError: when a list failed for another reason than missing permission.
    """
    used = {item.namespace or client.namespace for item in desired} | set(scope.likely)
    known, warnings = await load_inventory(client, scope.owner, scope.namespaces or sorted(used))
    kinds = {(item.group, item.kind) for item in desired} | known.kinds
    if not known.references:
        kinds |= set(common)
    selector = tracking.selector(scope.owner, scope.variants, scope.label)
    remembered = {reference.key for reference in known.references}
    live: list[json.JsonObject] = []
    for kind, answer in await list_kinds(
        client, kinds, selector, known, allowed=scope.namespaces, used=used
    ):
        if isinstance(answer, api_errors.Forbidden):
            warnings.append(f"{kind.title} were left alone: {answer}")
        else:
            live.extend(
                body
                for body in answer
                if object_keys.of(body) in remembered or client.may_have_written(body, kind)
            )
    return OwnedObjects(known, live, tuple(warnings))


async def load_inventory(
    client: clients.Client, owner: ownership.Owner, namespaces: Sequence[str]
) -> tuple[inventory.Inventory, list[str]]:
    """Read the inventory; where that is not allowed, return an empty one and a warning."""
    home = client.namespace
    try:
        stored = await inventory_store.load(client, owner, namespaces=namespaces, home=home)
    except api_errors.Forbidden as refusal:
        return inventory.Inventory(owner, home), [f"only common kinds: {refusal}"]
    return stored, []


async def list_kinds(
    client: clients.Client,
    kinds: Collection[tuple[str, str]],
    selector: str,
    known: inventory.Inventory,
    *,
    allowed: Collection[str],
    used: Collection[str] = (),
) -> list[tuple[discovery.Resource, Sequence[json.JsonObject] | api_errors.Forbidden]]:
    """List every kind that is served, at once; a kind that may not be listed is a refusal.

    Where a kind may not be listed everywhere, it is in the namespaces that are known: those in
    `allowed` (empty: all are), or `used` and in the inventory.

    Raises:
        VolaryError: when a list failed for another reason than missing permission.
    """
    catalog = await resource_mapping.discover_kinds(client, kinds)
    resources = [resource for kind in sorted(kinds) if (resource := catalog.find(*kind))]
    places = sorted(allowed or ({*used, client.namespace} | known.namespaces) - {""})
    answers = await fan_out.attempt_all(
        resources,
        lambda kind: inventory_store.list_kind(
            client, kind, selector, places, everywhere=not allowed
        ),
    )
    listed: list[tuple[discovery.Resource, Sequence[json.JsonObject] | api_errors.Forbidden]] = []
    for kind, answer in zip(resources, answers, strict=True):
        if isinstance(answer, errors.VolaryError) and not isinstance(answer, api_errors.Forbidden):
            raise answer
        listed.append((kind, answer))
    return listed
