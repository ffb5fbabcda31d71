"""What carries out a kind of stage, and what can be known before it does."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from volary.model import applications
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind
from volary.stages.runtime import execution


@dataclass(frozen=True, slots=True)
class Sources:
    """What a stage on one cluster is planned from."""

    application: applications.Application
    #: Of the target source.
    manifests: Sequence[manifest.Manifest]
    commit: str = ""
    #: The cluster; empty: as for one that nothing is said of.
    target: str = ""
    #: Of what runs on the cluster; empty: nothing does.
    running: Sequence[manifest.Manifest] = ()
    running_commit: str = ""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a stage applies, and whether it removes what is no longer there."""

    manifests: Sequence[manifest.Manifest] = ()
    prune: bool = False
    #: Whose objects a prune looks at; empty: of all variants.
    variants: tuple[variant.Variant, ...] = ()
    #: Its Services are changed when pods are ready for them.
    follows_pods: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRunner(Generic[stage_kind.Options]):
    """How a kind of stage is carried out.

    Both `check` and `plan` are pure, and raise `UserError` for what cannot be done.
    """

    kind: stage_kind.StageKind[stage_kind.Options]
    #: Carries it out on one cluster, with the options for that cluster, and returns what was
    #: observed; safe to run again.
    run: Callable[[execution.Work, stage_kind.Options], Awaitable[str]]
    #: Refuses a division of traffic that the router cannot do with these manifests.
    check: Callable[[Sources, stage_kind.Options], None] | None = None
    #: Returns what it is going to apply; None: no manifests.
    plan: Callable[[Sources, stage_kind.Options], Rollout] | None = None
