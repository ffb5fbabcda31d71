"""The descriptor of a kind of stage, and what the options of all kinds have in common."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Self, TypeVar

from volary.model.pipeline import variant, webhook

_KUBERNETES = "K8S_"
#: What PipeCD's multi-cluster plugin writes instead.
_MULTI = "K8S_MULTI_"


class Scope(StrEnum):
    """Whether a stage is carried out by each cluster for itself."""

    CLUSTER = "cluster"
    #: All clusters that carry the stage out at the same time do it in step, or once.
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class StageOptions:
    """Options of a stage: the class of each kind's is made from this one."""

    def on(self, target: str) -> Self:
        """Return the options for one cluster: what is shared by the fleet differs there."""
        del target
        return self

    @property
    def all_webhooks(self) -> tuple[webhook.Webhook, ...]:
        """The webhooks that the stage calls by their types; what it waits for is not one."""
        return ()

    @property
    def undone_by_script(self) -> bool:
        """Whether a rollback runs a script of the stage's, once the cluster is back."""
        return False


@dataclass(frozen=True, slots=True)
class NoOptions(StageOptions):
    """For stages that have none."""


Options = TypeVar("Options", bound=StageOptions)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageKind(Generic[Options]):
    """What is known of a kind of stage; there is one object for each kind."""

    #: As users write it, and as it is stored.
    name: str
    #: The file of `volary.stages.kinds` that carries it out; imported once a run has such a stage.
    runner: str
    options: type[Options]
    #: What it does, for stages without a description of their own.
    description: str
    #: What the reference says of it.
    reference: str = ""
    #: Users may limit it to clusters (PipeCD: ``multiTargets``).
    has_targets: bool = True
    #: Users list it in a pipeline; else Volary adds it where it is needed.
    is_listed: bool = True
    #: The variant whose objects it applies; None: of none.
    applies: variant.Variant | None = None
    #: The variant whose objects it removes; None: of none.
    removes: variant.Variant | None = None
    #: After it, users have the new version.
    promotes: bool = False
    #: It divides traffic between variants.
    routes_traffic: bool = False
    #: Something may be different on a cluster after it, so windows hold it up.
    changes_cluster: bool = True
    #: It is carried out by a program that is not ours: Volary itself writes to no cluster then.
    is_program: bool = False
    #: It begins once people have agreed.
    waits_for_people: bool = False
    #: It is a question to somebody, who did not agree when the time was over.
    asks_for_agreement: bool = False
    #: It only measures or waits, so people may leave it out while it is under way.
    is_skippable: bool = False
    #: A wave goes on only once its clusters have passed it.
    proves_wave: bool = False
    #: Its tasks on several clusters speak with each other while they are carried out.
    meets: bool = False
    #: What to do instead of an analysis in its background; empty: it may have one.
    instead_of_analysis: str = ""

    @property
    def forms(self) -> tuple[str, ...]:
        """The names it may be written with."""
        if not self.name.startswith(_KUBERNETES):
            return (self.name,)
        return (self.name, _MULTI + self.name.removeprefix(_KUBERNETES))

    @property
    def title(self) -> str:
        """Its name in words: ``canary rollout``."""
        return title(self.name)

    @property
    def touches_primary(self) -> bool:
        """Whether what serves users is another version, or elsewhere, after it."""
        return self.promotes or variant.Variant.PRIMARY in (self.applies, self.removes)

    @property
    def writes_to_cluster(self) -> bool:
        """Whether Volary itself writes to the cluster then."""
        return self.changes_cluster and not self.is_program

    @property
    def may_start_version(self) -> bool:
        """Whether a version may run or get requests after it that did not before."""
        return self.applies is not None or self.removes is not None or self.routes_traffic


def canonical(name: str) -> str:
    """Return our word for the name of a stage: ``K8S_MULTI_X`` is ``K8S_X``."""
    return _KUBERNETES + name.removeprefix(_MULTI) if name.startswith(_MULTI) else name


def title(name: str) -> str:
    """Return the name of a stage in words, also of one that only a newer version knows."""
    return name.removeprefix(_KUBERNETES).replace("_", " ").lower()
