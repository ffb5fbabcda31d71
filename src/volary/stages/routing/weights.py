"""Words of routing: what a route sends where, and a change with its log lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.model import manifest, stage, variant


@dataclass(frozen=True, slots=True)
class RouteWeights:
    """What one route of an object sends to the variants, in percent."""

    #: Empty where routes have no names.
    name: str
    #: Whether Volary may change it (PipeCD: ``editableRoutes``).
    is_editable: bool
    #: Variants that get nothing are left out.
    shares: Mapping[variant.Variant, int]


@dataclass(frozen=True, slots=True)
class Change:
    """An object with other routes, and what is said about each of them."""

    item: manifest.Manifest
    lines: tuple[str, ...]


def wanted(options: stage.TrafficOptions) -> dict[variant.Variant, int]:
    """Return the percentages by variant, without those that get nothing."""
    every = {
        variant.Variant.PRIMARY: options.primary,
        variant.Variant.CANARY: options.canary,
        variant.Variant.BASELINE: options.baseline,
    }
    return {each: share for each, share in every.items() if share}


def title(shares: Mapping[variant.Variant, int]) -> str:
    """Return ``primary 80 %, canary 10 %``; ``no variant`` when there is nothing."""
    parts = [f"{each.value} {shares[each]} %" for each in variant.Variant if shares.get(each)]
    return ", ".join(parts) or "no variant"


def receiving(routes: Sequence[RouteWeights]) -> set[variant.Variant]:
    """Return the variants that get any traffic by `routes`."""
    return {each for route in routes for each, share in route.shares.items() if share}


def rising(
    before: Sequence[RouteWeights], after: Sequence[RouteWeights]
) -> tuple[variant.Variant, ...]:
    """Return the variants that get more traffic than before on some route, in order."""
    old = {(route.name, position): route.shares for position, route in enumerate(before)}
    found = {
        each
        for position, route in enumerate(after)
        for each, share in route.shares.items()
        if share > old.get((route.name, position), {}).get(each, 0)
    }
    return tuple(each for each in variant.Variant if each in found)
