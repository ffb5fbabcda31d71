"""All kinds of stages by their names: whatever the neighbours of this module define."""

from collections.abc import Mapping
from typing import Any

from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import (
    added_stages,
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)

#: In the order in which the reference lists their stages.
_MODULES = (rollout_stages, traffic_stages, external_stages, waiting_stages, added_stages)


_ROLLOUTS: Mapping[variant.Variant, stage_kind.StageKind[Any]] = {
    variant.Variant.PRIMARY: rollout_stages.PRIMARY_ROLLOUT,
    variant.Variant.CANARY: rollout_stages.CANARY_ROLLOUT,
    variant.Variant.BASELINE: rollout_stages.BASELINE_ROLLOUT,
}
KINDS: Mapping[str, stage_kind.StageKind[Any]] = {
    kind.name: kind
    for module in _MODULES
    for kind in vars(module).values()
    if isinstance(kind, stage_kind.StageKind)
}


def of(name: str) -> stage_kind.StageKind[Any]:
    """Return the kind of a name.

    Raises:
        LookupError: There is none.
    """
    return KINDS[name]


def listed() -> tuple[stage_kind.StageKind[Any], ...]:
    """Return the kinds that users write in pipelines, in the order of the reference."""
    return tuple(kind for kind in KINDS.values() if kind.is_listed)


def rollout_of(which: variant.Variant) -> stage_kind.StageKind[Any]:
    """Return the stage of a pipeline that rolls a variant out."""
    return _ROLLOUTS[which]


def clean_of(which: variant.Variant) -> stage_kind.StageKind[Any]:
    """Return the stage of a pipeline that removes a variant, which is not primary."""
    return next(kind for kind in listed() if kind.removes is which)
