"""How the traffic of an application on one cluster should be divided, and how it is.

What stages pass to `traffic.routes`. Percentages are of the requests that the
application gets; what a route sends to others is theirs and stays.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from volary.model.pipeline import traffic, variant
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.planner import traffic_steps

ALL = 100


@dataclass(frozen=True, slots=True)
class Division:
    """Percentages that add up to 100, and what happens besides them."""

    primary: int = ALL
    canary: int = 0
    baseline: int = 0
    #: Requests that go to canary whatever the percentages say (an A/B test).
    match: tuple[traffic.RequestMatch, ...] = ()
    #: Percent of the requests that canary gets a copy of; its answers are thrown away.
    mirror: int = 0
    #: Users stay with the variant of their first answer, by cookie. Without canary's share
    #: users who have its cookie go to primary, and the cookie is removed.
    affinity: traffic.SessionAffinity | None = None
    #: How long primary's cookie lives (Flagger: the interval of the analysis).
    interval: timedelta = timedelta(seconds=60)
    #: Value of the cookies, one per release; see `token`.
    token: str = ""

    @property
    def shares(self) -> dict[variant.Variant, int]:
        """Percentages by variant, without those that get nothing."""
        every = {
            variant.Variant.PRIMARY: self.primary,
            variant.Variant.CANARY: self.canary,
            variant.Variant.BASELINE: self.baseline,
        }
        return {variant_role: share for variant_role, share in every.items() if share}

    @property
    def needed(self) -> tuple[variant.Variant, ...]:
        """Variants that get requests in any way, so that they need ready pods."""
        needed_variants = set(self.shares)
        if self.match or self.mirror:
            needed_variants.add(variant.Variant.CANARY)
        return tuple(
            variant_role for variant_role in variant.Variant if variant_role in needed_variants
        )


#: Everything to primary and nothing besides.
PRIMARY = Division()


def at(
    options: traffic_stages.ProgressiveTrafficOptions,
    position: traffic_steps.Position,
    baseline: int = 0,
) -> Division:
    """Return what canary gets step by step at a position; `baseline` is what that one gets now."""
    affinity, interval = options.session_affinity, options.interval
    if traffic_steps.strategy(options) is traffic_steps.Strategy.AB_TEST:
        match = options.match if position.weight else ()
        return Division(match=match, affinity=affinity, interval=interval)
    return Division(
        *traffic_steps.shares(position, baseline),
        mirror=options.mirror_weight if position.mirrored else 0,
        affinity=affinity,
        interval=interval,
    )


@dataclass(frozen=True, slots=True)
class Observed:
    """What the live routes do, read back from the cluster."""

    primary: int = 0
    canary: int = 0
    baseline: int = 0
    #: Some requests go to canary by their headers, cookies or query.
    is_matched: bool = False
    #: Percent of the requests that canary gets a copy of.
    mirror: int = 0

    @property
    def shares(self) -> dict[variant.Variant, int]:
        """Percentages by variant, without those that get nothing."""
        return Division(self.primary, self.canary, self.baseline).shares


def of(options: traffic_stages.TrafficOptions) -> Division:
    """Return the division that ``K8S_TRAFFIC_ROUTING`` asks for."""
    return Division(
        options.primary,
        options.canary,
        options.baseline,
        match=options.match,
        mirror=options.mirror,
        affinity=options.session_affinity,
    )


def token(application: str, commit: str) -> str:
    """Return ten letters for the cookies of one release, the same on every cluster and try.

    Cookies of an earlier release have other letters, so they mean nothing (Flagger: random).
    """
    digest = hashlib.sha256(f"{application}\0{commit}".encode()).digest()
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:10])
