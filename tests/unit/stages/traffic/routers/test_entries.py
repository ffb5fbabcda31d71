"""Weights among backends: ours are divided, those of others keep their proportion."""

from fractions import Fraction

import hypothesis
import pytest
from hypothesis import strategies

from volary.manifests.services import backends
from volary.model import errors, json
from volary.model.pipeline import variant
from volary.stages.traffic.routers import entries

V = variant.Variant
KNOWN = backends.Backends("shop", "shop-canary", "shop-baseline", frozenset({"shop-primary"}))
KIND = entries.Kind(
    lambda each: each["name"],
    lambda each: each.get("weight", 1),
    lambda each, name, weight: {**each, "name": name or each["name"], "weight": weight},
)


def listed(**weights: int) -> entries.Entries:
    items: list[json.JsonObject] = [
        {"name": name.replace("_", "-"), "weight": weight} for name, weight in weights.items()
    ]
    return entries.Entries(items, KNOWN, KIND)


def divided(found: entries.Entries, **shares: int) -> dict[str, int]:
    wanted = {V(name): share for name, share in shares.items()}
    return {each["name"]: each["weight"] for each in found.divided(wanted)}


@pytest.mark.parametrize(
    ("before", "shares", "after"),
    [
        (
            {"shop": 1},
            {"primary": 80, "canary": 10, "baseline": 10},
            {"shop": 80, "shop-canary": 10, "shop-baseline": 10},
        ),
        ({"shop": 50, "shop_canary": 50}, {"primary": 100}, {"shop": 100}),
        ({"shop": 1}, {"canary": 100}, {"shop": 0, "shop-canary": 100}),
        (
            {"other": 1, "shop": 1},
            {"primary": 90, "canary": 10},
            {"other": 100, "shop": 90, "shop-canary": 10},
        ),
        (
            {"shop": 90, "shop_canary": 10, "other": 100},
            {"primary": 100},
            {"shop": 100, "other": 100},
        ),
        (
            {"shop_primary": 1},
            {"primary": 60, "canary": 40},
            {"shop-primary": 60, "shop-canary": 40},
        ),
        ({"shop": 0, "other": 5}, {"canary": 100}, {"shop": 0, "shop-canary": 0, "other": 5}),
    ],
)
def test_ours_are_divided_and_others_keep_their_part(
    before: dict[str, int], shares: dict[str, int], after: dict[str, int]
) -> None:
    assert divided(listed(**before), **shares) == after


@hypothesis.given(
    own=strategies.integers(1, 1000),
    other=strategies.integers(0, 1000),
    canary=strategies.integers(0, 100),
    baseline=strategies.integers(0, 100),
)
def test_the_arithmetic_is_exact_and_does_not_grow(
    own: int, other: int, canary: int, baseline: int
) -> None:
    baseline = min(baseline, 100 - canary)
    wanted = {V.PRIMARY: 100 - canary - baseline, V.CANARY: canary, V.BASELINE: baseline}

    once = entries.Entries(listed(shop=own, other=other).divided(wanted), KNOWN, KIND)
    twice = entries.Entries(once.divided(wanted), KNOWN, KIND)

    total = sum(each["weight"] for each in once.items)
    by_name = {each["name"]: Fraction(each["weight"], total) for each in once.items}
    assert by_name["other"] == Fraction(other, own + other)
    assert by_name.get("shop-canary", 0) == Fraction(own, own + other) * Fraction(canary, 100)
    assert once.shares == {which: share for which, share in wanted.items() if share}
    assert twice.items == once.items


def test_weights_beyond_what_routers_take_are_refused() -> None:
    with pytest.raises(errors.UserError, match="above 1000000"):
        listed(shop=99_991, other=99_989).divided({V.PRIMARY: 90, V.CANARY: 10})


def test_canary_leaves_to_primary() -> None:
    assert entries.moved({V.PRIMARY: 70, V.CANARY: 20, V.BASELINE: 10}, V.CANARY) == {
        V.PRIMARY: 90,
        V.BASELINE: 10,
    }
