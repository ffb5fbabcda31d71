"""The resource that serves each manifest's kind, and its namespace (as a RESTMapper).

The cluster's discovery decides, not a table: so a custom kind is known to be
cluster-scoped, and a version that is not served is an error before anything is sent.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import discovery
from volary.clusters.client import clients
from volary.concurrency import work_threads
from volary.manifests import objects
from volary.manifests.loading import namespace_scopes
from volary.manifests.workloads import secret_data
from volary.model import errors
from volary.model.objects import manifest

_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class MappedManifest:
    """A manifest as it is sent, with its namespace filled in, and the resource that serves it."""

    item: manifest.Manifest
    resource: discovery.Resource
    #: The object's identity, which is asked for again and again.
    key: manifest.ResourceKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the key."""
        object.__setattr__(self, "key", self.item.key)

    @property
    def is_namespace(self) -> bool:
        """Whether it is a namespace."""
        return self.item.kind == "Namespace" and not self.item.group


@dataclass(frozen=True, slots=True)
class ResourceMapping:
    """A whole set, as far as it can be placed now."""

    mapped: tuple[MappedManifest, ...]
    #: Kinds that a definition in the set will bring; placed once it is served.
    later: tuple[manifest.Manifest, ...]
    problems: tuple[errors.Problem, ...]


async def require(client: clients.Client, group: str, kind: str) -> discovery.Resource:
    """Return the resource that serves a kind of Kubernetes itself.

    Raises:
        PermanentError: when the cluster does not serve it.
    """
    resource = (await client.discover()).find(group, kind)
    if resource is None:
        raise errors.PermanentError(f"cluster {client.name} does not serve {kind}s")
    return resource


async def discover_kinds(
    client: clients.Client, kinds: Collection[discovery.GroupKind]
) -> discovery.Catalog:
    """Return what the cluster serves; what is missing of `kinds` it certainly does not serve.

    Raises:
        TemporaryError: when it cannot say so, because the server of an API group is down.
    """
    catalog = await client.discover()
    if _missing_groups(catalog, kinds).intersection(catalog.stale):
        catalog = await client.discover(refresh=True)
    _check_fresh(client.name, catalog, _missing_groups(catalog, kinds))
    return catalog


async def map_manifests(
    client: clients.Client,
    manifests: Sequence[manifest.Manifest],
    *,
    namespaces: Sequence[str] = (),
    defining: Sequence[manifest.Manifest] = (),
    refresh: bool = True,
) -> ResourceMapping:
    """Find resource and namespace of each manifest; the client's namespace where none is written.

    `namespaces` are those that may be used (empty: all), `defining` a set whose definitions will
    bring further kinds. With `refresh` the cluster is asked again when a kind is unknown.

    Raises:
        TemporaryError: when a kind is unknown, also with `refresh`, because the server of its
            API group is down.
    """
    coming = {defined_kind(item) for item in defining if is_definition(item)}
    catalog = await client.discover()
    unknown = [item for item in manifests if find(catalog, item) is None]
    if refresh and any((item.group, item.kind) not in coming for item in unknown):
        catalog = await client.discover(refresh=True)

    def place() -> ResourceMapping:
        mapped: list[MappedManifest] = []
        later: list[manifest.Manifest] = []
        problems: list[errors.Problem] = []
        for item in manifests:
            resource = find(catalog, item)
            if resource is None and (item.group, item.kind) in coming:
                later.append(item)
            elif resource is None:
                if refresh:
                    _check_fresh(client.name, catalog, {item.group})
                problems.append(_unknown(client.name, catalog, item))
            else:
                item_there = secret_data.stored(_in_namespace(item, resource, client.namespace))
                placed = MappedManifest(item_there, resource)
                mapped.append(placed)
                problems.extend(_restricted(client.name, placed, namespaces))
        return ResourceMapping(tuple(mapped), tuple(later), tuple(problems))

    return await work_threads.run_many(manifests, "placing the manifests", place)


def is_definition(item: manifest.Manifest) -> bool:
    """Whether a manifest brings a custom kind."""
    return (item.group, item.kind) == _DEFINITION


def defined_kind(definition: manifest.Manifest) -> discovery.GroupKind:
    """Return the group and kind that a definition brings."""
    spec = objects.mapping(definition.body, "spec")
    return objects.text(spec, "group"), objects.text(spec, "names", "kind")


def find(catalog: discovery.Catalog, item: manifest.Manifest) -> discovery.Resource | None:
    """Return the resource of a manifest's kind and version; None: it is not served."""
    return catalog.find(item.group, item.kind, item.api_version.rpartition("/")[2])


def _missing_groups(catalog: discovery.Catalog, kinds: Collection[discovery.GroupKind]) -> set[str]:
    return {group for group, kind in kinds if catalog.find(group, kind) is None}


def _check_fresh(cluster: str, catalog: discovery.Catalog, missing_groups: set[str]) -> None:
    """Refuse to take a kind of one of the groups for absent while the group's server is down."""
    if stale := missing_groups.intersection(catalog.stale):
        raise errors.TemporaryError(
            f"cluster {cluster} does not know what the API group {', '.join(sorted(stale))} "
            "serves: its server does not answer (`kubectl get apiservices` says more)"
        )


def _in_namespace(
    item: manifest.Manifest, resource: discovery.Resource, default: str
) -> manifest.Manifest:
    def scope(_group: str, _kind: str) -> bool:
        return resource.namespaced

    return namespace_scopes.fill([item], default, scope)[0]


def _unknown(cluster: str, catalog: discovery.Catalog, item: manifest.Manifest) -> errors.Problem:
    title = f"{item.kind} ({item.api_version})"
    other = catalog.find(item.group, item.kind)
    if other is not None:
        group = f"{item.group}/" if item.group else ""
        return errors.Problem(
            f"cluster {cluster} does not serve {title}",
            item.origin,
            hint=f"it serves {group}{other.version}",
        )
    return errors.Problem(
        f"cluster {cluster} does not know the kind {title} of {item.name}",
        item.origin,
        hint="install the CustomResourceDefinition that defines it, or add it to the manifests",
    )


def _restricted(
    cluster: str, placed: MappedManifest, allowed: Sequence[str]
) -> list[errors.Problem]:
    item = placed.item
    namespace = item.name if placed.is_namespace else item.namespace
    if not allowed or namespace in allowed:
        return []
    names = ", ".join(allowed)
    where = f"is in namespace {namespace}" if namespace else "belongs to the whole cluster"
    return [
        errors.Problem(
            f"{item.kind} {item.name} {where}, but on cluster {cluster} only {names} may be used",
            item.origin,
            hint="change the manifest's namespace, or `namespaces` of the cluster in the fleet",
        )
    ]
