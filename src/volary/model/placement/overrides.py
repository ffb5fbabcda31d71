"""What differs between clusters: changes to manifests, and shares of the replicas."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from volary.model import options
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


_OPERATOR = "`add`, `remove` or `replace`."


@dataclass(frozen=True, slots=True)
class ImageOverride:
    """A change of images."""

    component: Annotated[Component, options.Option("`Registry`, `Repository` or `Tag`.")]
    operator: Annotated[Operator, options.Option(_OPERATOR)]
    value: str = options.option("What is added or set; a tag or a digest.", "")
    path: str = options.option(
        "JSON pointer to the image; empty: of all containers of Pods, ReplicaSets, Deployments, "
        "DaemonSets, StatefulSets and Jobs (not of init containers).",
        "",
    )


@dataclass(frozen=True, slots=True)
class ArgumentsOverride:
    """A change of a container's command or arguments."""

    container_name: Annotated[options.Text, options.Option("The container.")]
    operator: Annotated[Operator, options.Option("`add` or `remove`.")]
    value: Annotated[tuple[str, ...], options.Option("What is added or removed.", least=1)]
    which: Arguments = Arguments.ARGS


@dataclass(frozen=True, slots=True)
class EnvOverride:
    """A change of environment variables."""

    value: Annotated[Mapping[str, str], options.Option("Variables by name.")]
    operator: Operator = options.option(_OPERATOR, Operator.ADD)
    container_name: str = options.option("The container; empty: every one.", "")


@dataclass(frozen=True, slots=True)
class MetadataOverride:
    """A change of labels or annotations; remove and replace pass over missing keys."""

    operator: Annotated[Operator, options.Option(_OPERATOR)]
    value: Annotated[Mapping[str, str], options.Option("Values by key.")]
    which: Metadata = Metadata.LABELS


@dataclass(frozen=True, slots=True)
class PatchOverride:
    """One operation on the manifest (RFC 6902)."""

    path: Annotated[options.Text, options.Option("JSON pointer, such as `/spec/replicas`.")]
    operator: Annotated[Operator, options.Option(_OPERATOR)]
    value: object = options.option("What is added or set.", None)


@dataclass(frozen=True, slots=True)
class FieldPatch:
    """One operation on the document inside a field."""

    sub_path: Annotated[options.Text, options.Option("JSON pointer inside the document.")]
    operator: Annotated[Operator, options.Option(_OPERATOR)]
    value: object = options.option("What is added or set.", None)


@dataclass(frozen=True, slots=True)
class FieldOverride:
    """A change of a document that is the text of a field."""

    field_path: Annotated[
        options.Text, options.Option("JSON pointer to the text, such as `/data/app.yaml`.")
    ]
    json_: tuple[FieldPatch, ...] = options.option(
        "Changes of a text that is JSON.", (), key="json"
    )
    yaml: tuple[FieldPatch, ...] = options.option(
        "Changes of a text that is YAML; its comments are lost.", ()
    )

    @property
    def patches(self) -> tuple[PatchOverride, ...]:
        """The operations, as those on a manifest."""
        given = self.yaml or self.json_
        return tuple(PatchOverride(patch.sub_path, patch.operator, patch.value) for patch in given)


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
    """Which manifests; all that is given has to hold."""

    api_version: str = options.option("Such as `apps/v1`.", "")
    kind: str = options.option("Such as `Deployment`.", "")
    name: str = options.option("Name of the object.", "")
    #: As the manifest has it once the input's namespace is in it.
    namespace: str = options.option("Namespace of the object.", "")
    match_labels: Mapping[str, str] = options.option("Labels it carries.", {})
    match_expressions: tuple[rollouts.Requirement, ...] = options.option(
        "Conditions on its labels.", ()
    )


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
    """The share of some clusters."""

    targets: Annotated[rollouts.ClusterSelector, options.Option("Which clusters.")]
    weight: Annotated[
        int,
        options.Option("Their share; of several that fit, the heaviest counts.", least=1),
    ]


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
    """How replicas are spread over the clusters."""

    division: Division = options.option(
        "`Duplicated`: every cluster runs all of them; `Divided`: they share them.",
        Division.DUPLICATED,
    )
    weights: tuple[Weight, ...] = options.option(
        "Shares, with `preference: Weighted`; none given: all clusters weigh the same.", ()
    )
    preference: Preference = options.option(
        "By what they are divided. `Weighted`: `weights`; `AvailableReplicas`: so many as fit "
        "into what is free; `Aggregated`: on as few clusters as hold them. With the latter two, "
        "what runs stays where it is: only the difference is placed.",
        Preference.WEIGHTED,
    )
    autoscaled: Autoscaled = options.option(
        "Workloads with a HorizontalPodAutoscaler or KEDA's ScaledObject. `leave`: both stay as "
        "they are, the same on every cluster; `divideBounds`: the autoscaler's least and most "
        "replicas are divided, at least one of each for every cluster.",
        Autoscaled.LEAVE,
    )

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
