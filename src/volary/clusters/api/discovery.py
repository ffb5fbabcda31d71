"""Which kinds a cluster serves: from one aggregated request, or several legacy ones.

Pure: parsing answers into a `Catalog`. `client` asks and caches. A group whose
server is down leaves the others as they are (``stale``): its kinds are unknown, not absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from volary.manifests import objects
from volary.model import json

#: Asks for the aggregated form; servers that do not know it answer with the legacy one.
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version, and how its requests are addressed."""

    group: str
    version: str
    kind: str
    #: In paths: ``deployments``.
    plural: str
    namespaced: bool
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def base(self) -> str:
        """Path of the group and version, without a slash at the end."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def title(self) -> str:
        """As error messages name it: ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


#: A group and a kind of it.
GroupKind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every kind a cluster serves, in the server's order of preference."""

    resources: tuple[Resource, ...] = ()
    #: Groups whose server did not answer; their kinds may be missing here.
    stale: tuple[str, ...] = ()
    _by_kind: Mapping[GroupKind, tuple[Resource, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def find(self, group: str, kind: str, version: str = "") -> Resource | None:
        """Return the resource of a kind, in `version` or in the preferred one; None: not served."""
        for resource in self._by_kind.get((group, kind), ()):
            if not version or resource.version == version:
                return resource
        return None


def catalog(resources: Iterable[Resource], stale: Iterable[str] = ()) -> Catalog:
    """Return a catalog with its index; the first of a kind is the preferred version."""
    every = tuple(resources)
    index: dict[GroupKind, list[Resource]] = {}
    for resource in every:
        index.setdefault((resource.group, resource.kind), []).append(resource)
    frozen = {key: tuple(versions) for key, versions in index.items()}
    return Catalog(every, tuple(stale), MappingProxyType(frozen))


def is_aggregated(body: json.JsonObject) -> bool:
    """Tell whether an answer is the aggregated form."""
    return body.get("kind") == "APIGroupDiscoveryList"


def parse_aggregated(*bodies: json.JsonObject) -> Catalog:
    """Read the aggregated answers for ``/api`` and ``/apis``."""
    resources: list[Resource] = []
    stale: list[str] = []
    for group in (item for body in bodies for item in objects.mappings(body, "items")):
        name = objects.text(group, "metadata", "name")
        for version in objects.mappings(group, "versions"):
            if version.get("freshness") == "Stale" and name not in stale:
                stale.append(name)
            resources += _aggregated_version(name, version)
    return catalog(resources, stale)


def _aggregated_version(group: str, version: json.JsonObject) -> list[Resource]:
    return [
        Resource(
            group=group,
            version=objects.text(version, "version"),
            kind=objects.text(item, "responseKind", "kind"),
            plural=objects.text(item, "resource"),
            namespaced=item.get("scope") == "Namespaced",
            subresources=frozenset(
                objects.text(subresource, "subresource")
                for subresource in objects.mappings(item, "subresources")
            ),
        )
        for item in objects.mappings(version, "resources")
        if objects.text(item, "responseKind", "kind")
    ]


def parse_legacy_groups(core: json.JsonObject, groups: json.JsonObject) -> list[tuple[str, str]]:
    """Return the (group, version) pairs of ``/api`` and ``/apis``, preferred versions first."""
    group_versions = [("", str(version)) for version in objects.sequence(core, "versions")]
    for group in objects.mappings(groups, "groups"):
        preferred = objects.text(group, "preferredVersion", "version")
        versions = [
            objects.text(version, "version") for version in objects.mappings(group, "versions")
        ]
        versions.sort(key=lambda version: version != preferred)
        group_versions += [(objects.text(group, "name"), version) for version in versions]
    return group_versions


def parse_legacy_version(group: str, version: str, body: json.JsonObject) -> list[Resource]:
    """Read the APIResourceList of one group and version."""
    items = [
        item
        for item in objects.mappings(body, "resources")
        if objects.text(item, "name") and objects.text(item, "kind")
    ]
    subresources: dict[str, set[str]] = {}
    for item in items:
        plural, _, subresource = str(item.get("name")).partition("/")
        subresources.setdefault(plural, set())
        if subresource:
            subresources[plural].add(subresource)
    return [
        Resource(
            group=group,
            version=version,
            kind=str(item["kind"]),
            plural=str(item["name"]),
            namespaced=bool(item.get("namespaced")),
            subresources=frozenset(subresources[str(item["name"])]),
        )
        for item in items
        if "/" not in str(item.get("name"))
    ]
