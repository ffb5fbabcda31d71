"""Words of routing: what a route sends where, and a change with its log lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division


@dataclass(frozen=True, slots=True)
class RouteWeights:
    """What one route of an object sends to the variants, in percent."""

    #: Empty where routes have no names.
    name: str
    #: Whether Volary may change it (PipeCD: ``editableRoutes``).
    is_editable: bool
    #: Variants that get nothing are left out.
    shares: Mapping[variant.Variant, int]
    #: Percent of its requests that canary gets a copy of.
    copies: int = 0
    #: Volary put it there, for the requests of an A/B test or of users with a cookie.
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """An object with other routes, and what is said about each of them."""

    item: manifest.Manifest
    lines: tuple[str, ...]


def title(shares: Mapping[variant.Variant, int]) -> str:
    """Return ``primary 80 %, canary 10 %``; ``no variant`` when there is nothing."""
    parts = [
        f"{variant_role.value} {shares[variant_role]} %"
        for variant_role in variant.Variant
        if shares.get(variant_role)
    ]
    return ", ".join(parts) or "no variant"


def summary(
    shares: Mapping[variant.Variant, int],
    *,
    is_matched: bool,
    mirror: int,
    has_affinity: bool = False,
) -> str:
    """Return in words how traffic is divided, and what happens besides."""
    parts = [title(shares)]
    if is_matched:
        parts.append("requests that match to canary")
    if mirror:
        parts.append(f"copies of {mirror} % to canary")
    if has_affinity:
        parts.append("users stay by cookie")
    return ", ".join(parts)


def receiving(routes: Sequence[RouteWeights]) -> set[variant.Variant]:
    """Return the variants that get any requests by `routes`, copies of requests too."""
    receivers = {
        variant_role for route in routes for variant_role, share in route.shares.items() if share
    }
    return receivers | (
        {variant.Variant.CANARY} if any(route.copies for route in routes) else set()
    )


def is_diverted(routes: Sequence[RouteWeights]) -> bool:
    """Say whether another variant than primary gets requests, or some are routed by request."""
    away = receiving(routes) - {variant.Variant.PRIMARY}
    return bool(away) or any(route.is_made for route in routes)


def rising(
    before: Sequence[RouteWeights], after: Sequence[RouteWeights]
) -> tuple[variant.Variant, ...]:
    """Return the variants that get more traffic than before on some route, in order."""
    old = {(route.name, position): route for position, route in enumerate(before)}
    risen: set[variant.Variant] = set()
    for position, route in enumerate(after):
        known = old.get((route.name, position))
        shares = known.shares if known else {}
        risen |= {
            variant_role
            for variant_role, share in route.shares.items()
            if share > shares.get(variant_role, 0)
        }
        if route.copies > (known.copies if known else 0):
            risen.add(variant.Variant.CANARY)
    return tuple(variant_role for variant_role in variant.Variant if variant_role in risen)


def observed(routes: Sequence[RouteWeights]) -> division.Observed:
    """Return what the routes do together: the first that may be changed speaks for all."""
    own = next((route for route in routes if route.is_editable and not route.is_made), None)
    shares = own.shares if own else {}
    return division.Observed(
        shares.get(variant.Variant.PRIMARY, 0),
        shares.get(variant.Variant.CANARY, 0),
        shares.get(variant.Variant.BASELINE, 0),
        is_matched=any(
            route.is_made and variant.Variant.CANARY in route.shares for route in routes
        ),
        mirror=own.copies if own else 0,
    )
