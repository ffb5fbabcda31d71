"""Weights among the backends of one route, where each backend is a Service: arithmetic.

Gateway API, SMI and Traefik have such lists; they differ in how an entry is written.
Weights are relative there. Entries that lead elsewhere keep their proportion to ours.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import errors, json
from volary.model.pipeline import variant

_ALL = 100
#: The Gateway API's limit of a weight.
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """How entries of one kind of list are read and written."""

    #: Name of the entry's Service; empty for anything else.
    name: Callable[[json.JsonObject], str]
    weight: Callable[[json.JsonObject], int]
    #: The entry with another name and weight.
    made: Callable[[json.JsonObject, str, int], json.JsonObject]
    #: What counts as 1 when nobody else's weights are beside ours.
    unit: int = 1


def service_name(reference: json.JsonObject) -> str:
    """Return the name of the Service that a reference leads to; empty for anything else."""
    is_service = not reference.get("group") and objects.text(reference, "kind") in ("", "Service")
    return objects.text(reference, "name") if is_service else ""


def _made(reference: json.JsonObject, name: str, weight: int) -> json.JsonObject:
    return {**reference, **({"name": name} if name else {}), "weight": weight}


#: References to objects with a weight each: Gateway API, Traefik.
REFERENCES = Kind(service_name, lambda entry: objects.number(entry, "weight", default=1), _made)


@dataclass(frozen=True, slots=True)
class Entries:
    """The backends of one route."""

    items: Sequence[json.JsonObject]
    known: backends.Backends
    kind: Kind

    @property
    def shares(self) -> dict[variant.Variant, int]:
        """Percent of what the application gets, by variant; empty when it gets nothing."""
        weights_by_variant: dict[variant.Variant, int] = {}
        for item in self.items:
            which = self._variant(item)
            if which is not None and self.kind.weight(item) > 0:
                weights_by_variant[which] = weights_by_variant.get(which, 0) + self.kind.weight(
                    item
                )
        total = sum(weights_by_variant.values())
        return {which: round(weight * _ALL / total) for which, weight in weights_by_variant.items()}

    @property
    def is_ours(self) -> bool:
        """An entry leads to the application."""
        return any(self._variant(item) is not None for item in self.items)

    @property
    def services(self) -> dict[variant.Variant, str]:
        """The Service by which each variant is reached."""
        names_by_variant: dict[variant.Variant, str] = {}
        for item in self.items:
            which = self._variant(item)
            if which is not None:
                names_by_variant.setdefault(which, self.kind.name(item))
        return names_by_variant

    def single(self, which: variant.Variant) -> json.JsonObject:
        """Return an entry that sends everything to one variant."""
        ours = [item for item in self.items if self._variant(item) is not None]
        return self._entry(ours, which, _ALL * self.kind.unit)

    def divided(self, shares: Mapping[variant.Variant, int]) -> list[json.JsonObject]:
        """Return the entries with the application's part divided by percentages.

        Primary is always listed, first among ours. Alone, our weights are the percentages.
        With others beside us all weights are multiplied where that is needed to divide ours
        exactly, so that the others keep their proportion.

        Raises:
            UserError: when the weights would grow beyond what routers accept.
        """
        ours = [item for item in self.items if self._variant(item) is not None]
        others = sum(self.kind.weight(item) for item in self.items) - self._total(ours)
        whole, factor = (_ALL * self.kind.unit, 1) if others <= 0 else self._scaled(ours)
        if max(others * factor, whole) > _MOST * self.kind.unit:
            raise errors.user_error(
                f"weights above {_MOST} would be needed to divide {self._total(ours)} of"
                f" {self._total(ours) + others} exactly",
                hint="give the route smaller weights, such as 1 and 1",
            )
        block = [
            self._entry(ours, which, whole * shares.get(which, 0) // _ALL)
            for which in variant.Variant
            if shares.get(which) or which is variant.Variant.PRIMARY
        ]
        return self._placed(block, factor)

    def _scaled(self, ours: Sequence[json.JsonObject]) -> tuple[int, int]:
        total = self._total(ours)
        factor = _ALL // math.gcd(total, _ALL) if total else 1
        return total * factor, factor

    def _total(self, items: Sequence[json.JsonObject]) -> int:
        return sum(self.kind.weight(item) for item in items)

    def _placed(self, block: Sequence[json.JsonObject], factor: int) -> list[json.JsonObject]:
        """Return our block where our first entry was, and the others around it."""
        result: list[json.JsonObject] = []
        waiting = list(block)
        for item in self.items:
            if self._variant(item) is None:
                result.append(item if factor == 1 else self._times(item, factor))
                continue
            result += waiting
            waiting = []
        return result

    def _times(self, entry: json.JsonObject, factor: int) -> json.JsonObject:
        return self.kind.made(entry, self.kind.name(entry), self.kind.weight(entry) * factor)

    def _entry(
        self, ours: Sequence[json.JsonObject], which: variant.Variant, weight: int
    ) -> json.JsonObject:
        """Return an entry like the variant's own before, else like primary's, else the first."""
        by_variant = {self._variant(our): our for our in reversed(ours)}
        own = by_variant.get(which)
        if own is not None:
            return self.kind.made(own, self.kind.name(own), weight)
        model = by_variant.get(variant.Variant.PRIMARY, ours[0])
        return self.kind.made(model, self.known.name(which), weight)

    def _variant(self, entry: json.JsonObject) -> variant.Variant | None:
        return self.known.variant(self.kind.name(entry))


def moved(
    shares: Mapping[variant.Variant, int], leaving: variant.Variant
) -> dict[variant.Variant, int]:
    """Return the percentages with those of `leaving` given to primary."""
    kept = {which: share for which, share in shares.items() if which is not leaving}
    primary = variant.Variant.PRIMARY
    kept[primary] = _ALL - sum(share for which, share in kept.items() if which is not primary)
    return kept
