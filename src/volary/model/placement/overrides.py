"""What differs between clusters: changes to manifests, and shares of the replicas."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from volary.model.placement import rollouts


class Operator(StrEnum):
    """What an override does to what is there (Karmada: OverriderOperator)."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class Component(StrEnum):
    """The part of an image's reference that is changed."""

    REGISTRY = "Registry"
    REPOSITORY = "Repository"
    #: The tag, or the digest.
    TAG = "Tag"


class Metadata(StrEnum):
    """The map of an object's metadata that is changed."""

    LABELS = "labels"
    ANNOTATIONS = "annotations"


class Arguments(StrEnum):
    """The list of a container that is changed."""

    COMMAND = "command"
    ARGS = "args"


class Document(StrEnum):
    """How the text of a field is read."""

    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class ImageOverride:
    """Changes images: of all containers, or the one at `path` alone."""

    component: Component
    operator: Operator
    value: str = ""
    #: JSON pointer; empty: every container's.
    path: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentsOverride:
    """Adds to a container's command or arguments, or removes from them."""

    which: Arguments
    container: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvOverride:
    """Sets or removes environment variables of one container, or of all."""

    operator: Operator
    values: Mapping[str, str] = field(default_factory=dict)
    #: Empty: of every container.
    container: str = ""


@dataclass(frozen=True, slots=True)
class MetadataOverride:
    """Changes labels or annotations; remove and replace pass over missing keys."""

    which: Metadata
    operator: Operator
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PatchOverride:
    """One operation of a JSON patch (RFC 6902): add, remove or replace at a pointer."""

    path: str
    operator: Operator
    value: object = None


@dataclass(frozen=True, slots=True)
class FieldOverride:
    """Patches a document that is the text of a field, such as an entry of a ConfigMap."""

    path: str
    document: Document
    patches: tuple[PatchOverride, ...] = ()


Override = (
    ImageOverride
    | ArgumentsOverride
    | EnvOverride
    | MetadataOverride
    | FieldOverride
    | PatchOverride
)


@dataclass(frozen=True, slots=True)
class ObjectSelector:
    """Which manifests: all that is given has to hold."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    match_labels: Mapping[str, str] = field(default_factory=dict)
    #: Conditions on labels.
    expressions: tuple[rollouts.Requirement, ...] = ()
    #: As the manifest has it once the input's namespace is in it.
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is changed in which manifests on which clusters."""

    overrides: tuple[Override, ...]
    #: Nothing given: every cluster.
    targets: rollouts.ClusterSelector = field(default_factory=rollouts.ClusterSelector)
    #: Any of them; none given: every manifest.
    resources: tuple[ObjectSelector, ...] = ()


@dataclass(frozen=True, slots=True)
class Weight:
    """The share of clusters in what is divided."""

    targets: rollouts.ClusterSelector
    weight: int


class Division(StrEnum):
    """Whether clusters run all replicas each, or share them."""

    DUPLICATED = "Duplicated"
    DIVIDED = "Divided"


class Preference(StrEnum):
    """By what replicas are divided (Karmada: ReplicaDivisionPreference and dynamicWeight)."""

    #: Static weights; they alone decide, whatever runs where.
    WEIGHTED = "Weighted"
    #: So many as fit into the free capacity; what runs stays.
    AVAILABLE = "AvailableReplicas"
    #: As few clusters as hold all of them; what runs stays.
    AGGREGATED = "Aggregated"


class Autoscaled(StrEnum):
    """What becomes of a divided workload that an autoscaler of the application scales."""

    #: Its replicas and the autoscaler stay as Git says, the same on every cluster.
    LEAVE = "leave"
    #: The autoscaler's least and most replicas are divided instead.
    DIVIDE_BOUNDS = "divideBounds"


@dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """How the replicas of workloads are spread over the clusters."""

    division: Division = Division.DUPLICATED
    #: Static weights; none given: all clusters weigh the same.
    weights: tuple[Weight, ...] = ()
    preference: Preference = Preference.WEIGHTED
    autoscaled: Autoscaled = Autoscaled.LEAVE

    @property
    def needs_capacity(self) -> bool:
        """Whether the clusters' free capacity has a say."""
        divided = self.division is Division.DIVIDED
        return divided and self.preference is not Preference.WEIGHTED


@dataclass(frozen=True, slots=True)
class Differences:
    """What an application has different on its clusters."""

    rules: tuple[Rule, ...] = ()
    replicas: ReplicaDivision = field(default_factory=ReplicaDivision)
