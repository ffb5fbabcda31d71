"""What belongs to an application in a cluster: by inventory and by label.

Kinds to look at come from the inventory and from the desired set; without either,
also those that applications commonly consist of. A kind that may not be listed is
left out, and said to be. Any other failure of a list is an error: a part is not a list.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients, fan_out
from volary.clusters.inventory import inventory, inventory_store
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant

#: What a variant can consist of (PipeCD: a variant's copies).
VARIANT_KINDS = (
    ("", "Service"),
    # The canary beside an Ingress (ingress-nginx).
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
    """Whose objects are looked at, and where."""

    application: str
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
    #: Every object that carries the application's labels, of the kinds that were listed.
    live: Sequence[json.JsonObject]
    #: What could not be looked at.
    warnings: tuple[str, ...]


async def read(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: Scope,
    common: Collection[tuple[str, str]],
) -> OwnedObjects:
    """Read the inventory and list the application's objects of every kind in question.

    Args:
        client: Of the cluster.
        desired: What Git has; its kinds and namespaces are looked at.
        scope: Whose objects are meant.
        common: Further kinds, when nothing is desired or no inventory is there.

    Raises:
        VolaryError: when a list failed for another reason than missing permission.
    """
    written = {item.namespace or client.namespace for item in desired}
    used = sorted(written | set(scope.likely))
    known, unknown = await _read_inventory(client, scope, used)
    remembered = {(reference.key.group, reference.key.kind) for reference in known.references}
    kinds = {(item.group, item.kind) for item in desired} | remembered
    if not known.references or not desired:
        kinds |= set(common)
    catalog = await client.discover()
    places = sorted(
        set(scope.namespaces)
        or {*used, client.namespace, *(reference.key.namespace for reference in known.references)}
        - {""}
    )
    selector = tracking.selector(scope.application, scope.variants, scope.label)
    resources = [resource for kind in sorted(kinds) if (resource := catalog.find(*kind))]
    answers = await fan_out.attempt_all(
        resources,
        lambda kind: list_kind(client, kind, selector, places, everywhere=not scope.namespaces),
    )
    live: list[json.JsonObject] = []
    warnings = [unknown] if unknown else []
    for kind, answer in zip(resources, answers, strict=True):
        if isinstance(answer, api_errors.Forbidden):
            warnings.append(f"{kind.title} were left alone: {answer}")
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            live.extend(answer)
    return OwnedObjects(known, live, tuple(warnings))


async def _read_inventory(
    client: clients.Client, scope: Scope, used: Sequence[str]
) -> tuple[inventory.Inventory, str]:
    """Read the inventory; where that is not allowed, return an empty one and say so."""
    home = client.namespace
    namespaces = scope.namespaces or used
    try:
        stored = await inventory_store.load(
            client, scope.application, namespaces=namespaces, home=home
        )
    except api_errors.Forbidden as refusal:
        return inventory.Inventory(scope.application, home), f"only common kinds: {refusal}"
    return stored, ""


async def list_kind(
    client: clients.Client,
    kind: discovery.Resource,
    selector: str,
    namespaces: Sequence[str],
    *,
    everywhere: bool,
) -> list[json.JsonObject]:
    """List a kind in all namespaces, or where that is not allowed, in those that are known."""
    if everywhere or not kind.namespaced:
        try:
            return await _page(client, kind, "", selector)
        except api_errors.Forbidden:
            if not kind.namespaced:
                raise
    answers = await fan_out.attempt_all(
        namespaces, lambda namespace: _page(client, kind, namespace, selector)
    )
    return inventory_store.allowed(answers)


async def _page(
    client: clients.Client, kind: discovery.Resource, namespace: str, selector: str
) -> list[json.JsonObject]:
    listed = await client.list(kind, namespace=namespace, label_selector=selector)
    return list(listed.items)
