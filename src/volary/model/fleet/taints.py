"""Taints of clusters, and the tolerations of applications.

Source of the rules: Kubernetes, taints and tolerations; Karmada uses them for clusters.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from volary.model import options

#: Keys of the taints that Volary adds itself.
NOT_READY = "volary.dev/not-ready"
UNREACHABLE = "volary.dev/unreachable"
CORDONED = "volary.dev/cordoned"
DRAINED = "volary.dev/drained"


_KEY = "Such as `example.com/gpu`."


class Effect(StrEnum):
    """What a taint keeps away."""

    #: Nothing new begins there; what runs goes on.
    NO_SCHEDULE = "NoSchedule"
    #: Besides, what runs there is to be moved elsewhere.
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint: it keeps applications away from a cluster."""

    key: Annotated[options.LabelKey, options.Form.NOT_EMPTY, options.Option(_KEY)]
    value: options.LabelValue = options.option("What tolerations may ask for.", "")
    effect: Effect = options.option(
        "`NoSchedule`: nothing new begins there; `NoExecute`: besides, what runs there is to be "
        "moved, for applications with `placement.failover`.",
        Effect.NO_SCHEDULE,
        required=True,
    )
    #: When it was made; None: it is written in the fleet file.
    since: datetime | None = None
    #: Who made it; ``volary``: a rule about the cluster's health; empty: the fleet file.
    by: str = ""
    #: Why, in a clause.
    reason: str = ""

    @property
    def identity(self) -> tuple[str, Effect]:
        """What there is one of on a cluster (Kubernetes: key and effect)."""
        return self.key, self.effect

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect.value}"


#: Who added a taint that a rule added.
BY_RULE = "volary"


class TolerationOperator(StrEnum):
    """How a taint's value is compared."""

    EXISTS = "Exists"
    EQUAL = "Equal"


@dataclass(frozen=True, slots=True)
class Toleration:
    """Taints that the application tolerates."""

    key: options.LabelKey = options.option(f"{_KEY} Empty, with `operator: Exists`: every key.", "")
    operator: TolerationOperator = options.option("`Equal` or `Exists`.", TolerationOperator.EQUAL)
    value: options.LabelValue = options.option("The value, with `Equal`.", "")
    effect: Effect | None = options.option("`NoSchedule` or `NoExecute`; not given: both.", None)
    toleration_seconds: int | None = options.option(
        "How long a `NoExecute` taint is tolerated before the application is moved; not given: "
        "for ever.",
        None,
        least=0,
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether a toleration matches a taint (Kubernetes: ToleratesTaint)."""
    if toleration.effect is not None and toleration.effect is not taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator is TolerationOperator.EXISTS:
        return True
    return bool(toleration.key) and toleration.value == taint.value


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """Return the taints that no toleration matches, in order: they keep new work away.

    A toleration that is limited in time lets work come like any other (Kubernetes: a pod
    that tolerates `NoExecute` for some seconds may be scheduled).
    """
    known = tuple(tolerations)
    return tuple(taint for taint in taints if not any(tolerates(one, taint) for one in known))


def title(taint: Taint) -> str:
    """Return a taint with who added it and why: ``volary.dev/cordoned:NoSchedule (ana: 1.36)``."""
    said = ": ".join(part for part in (taint.by, taint.reason) if part)
    return f"{taint} ({said})" if said else str(taint)


_ACTIONS = {
    NOT_READY: "not ready",
    UNREACHABLE: "unreachable",
    CORDONED: "cordoned",
    DRAINED: "drained",
}


def explain(marks: Iterable[Taint]) -> str:
    """Return in a clause why a cluster takes nothing new: ``cordoned by ana: 1.36``.

    A drain is a cordon too; the cordon is not told besides.
    """
    taints = tuple(marks)
    drained = any(taint.key == DRAINED for taint in taints)
    told = (taint for taint in taints if not (drained and taint.key == CORDONED))
    return "; ".join(dict.fromkeys(_clause(taint) for taint in told))


def _clause(taint: Taint) -> str:
    deed = _ACTIONS.get(taint.key, f"tainted {taint}")
    by = f" by {taint.by}" if taint.by and taint.by != BY_RULE else ""
    return f"{deed}{by}: {taint.reason}" if taint.reason else f"{deed}{by}"


def merge(*groups: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return all taints, of each key and effect the first."""
    taints_by_identity: dict[tuple[str, Effect], Taint] = {}
    for group in groups:
        for taint in group:
            taints_by_identity.setdefault(taint.identity, taint)
    return tuple(taints_by_identity.values())
