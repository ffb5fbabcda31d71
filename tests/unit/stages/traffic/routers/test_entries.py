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


def entry(name: str, weight: int = 1, **more: object) -> json.JsonObject:
    return {"name": name, "weight": weight, **more}


def of(*items: json.JsonObject, kind: entries.Kind = KIND) -> entries.Entries:
    return entries.Entries(items, KNOWN, kind)


@pytest.mark.parametrize(
    ("items", "shares"),
    [
        ([], {}),
        ([entry("other", 5)], {}),
        ([entry("shop", 0)], {}),
        ([entry("shop", 1), entry("other", 9)], {V.PRIMARY: 100}),
        ([entry("shop", 3), entry("shop-canary", 1)], {V.PRIMARY: 75, V.CANARY: 25}),
        ([entry("shop", 2), entry("shop-canary", 1)], {V.PRIMARY: 67, V.CANARY: 33}),
        # Twice the same variant, under both of its names.
        (
            [entry("shop"), entry("shop-primary"), entry("shop-canary", 2)],
            {V.PRIMARY: 50, V.CANARY: 50},
        ),
        ([entry("shop", 1), entry("shop-canary", 0)], {V.PRIMARY: 100}),
    ],
)
def test_percent_of_what_the_application_gets(
    items: list[json.JsonObject], shares: dict[V, int]
) -> None:
    assert of(*items).shares == shares


def test_whose_entries_they_are() -> None:
    assert of(entry("other"), entry("shop")).is_ours
    assert not of(entry("other")).is_ours
    assert not of().is_ours
    listed_services = of(entry("shop-primary"), entry("shop"), entry("shop-canary"), entry("other"))
    assert listed_services.services == {V.PRIMARY: "shop-primary", V.CANARY: "shop-canary"}


def test_a_new_entry_is_like_its_own_before_else_like_primarys_else_like_the_first() -> None:
    own = of(entry("shop", port=1), entry("shop-canary", port=2))
    primarys = of(entry("shop-baseline", port=3), entry("shop", port=1))
    first = of(entry("shop-baseline", port=3), entry("other", port=4))

    assert own.single(V.CANARY) == entry("shop-canary", 100, port=2)
    assert primarys.single(V.CANARY) == entry("shop-canary", 100, port=1)
    assert first.single(V.CANARY) == entry("shop-canary", 100, port=3)
    # Of two of one variant the first is the model.
    two = of(entry("shop", port=1), entry("shop-primary", port=2))
    assert two.single(V.PRIMARY) == entry("shop", 100, port=1)


def test_ours_stand_where_our_first_was() -> None:
    before = of(entry("a", 1), entry("shop", 1), entry("b", 1), entry("shop-canary", 1))

    after = before.divided({V.PRIMARY: 50, V.CANARY: 30, V.BASELINE: 20})

    assert [(each["name"], each["weight"]) for each in after] == [
        ("a", 50),
        ("shop", 50),
        ("shop-canary", 30),
        ("shop-baseline", 20),
        ("b", 50),
    ]


def test_others_stay_the_same_objects_where_nothing_has_to_be_multiplied() -> None:
    other = entry("other", 100, note="theirs")
    assert of(entry("shop", 100), other).divided({V.PRIMARY: 100})[1] is other


def test_a_kind_may_count_in_smaller_units() -> None:
    thousandths = entries.Kind(KIND.name, KIND.weight, KIND.made, 1000)
    made = of(entry("shop", 1000), kind=thousandths)

    assert made.single(V.CANARY)["weight"] == 100_000
    assert [each["weight"] for each in made.divided({V.PRIMARY: 90, V.CANARY: 10})] == [
        90_000,
        10_000,
    ]


@pytest.mark.parametrize(
    ("own", "other", "refused"),
    [
        (1_000_000, 0, False),
        (99_999, 10_001, True),
        (100, 1_000_000, False),
        (100, 1_000_001, True),
    ],
)
def test_the_limit_of_a_weight(own: int, other: int, refused: bool) -> None:
    made = of(entry("shop", own), entry("other", other))
    if not refused:
        made.divided({V.PRIMARY: 50, V.CANARY: 50})
        return
    with pytest.raises(errors.UserError) as failed:
        made.divided({V.PRIMARY: 50, V.CANARY: 50})
    assert str(own) in str(failed.value)
    assert f" of {own + other} exactly" in str(failed.value)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ({"name": "shop"}, "shop"),
        ({"name": "shop", "kind": "Service"}, "shop"),
        ({"name": "shop", "kind": "Service", "group": ""}, "shop"),
        ({"name": "shop", "kind": "TraefikService"}, ""),
        ({"name": "shop", "kind": "Service", "group": "example.com"}, ""),
        ({"name": "shop", "group": "example.com"}, ""),
    ],
)
def test_references_that_lead_to_a_service(reference: json.JsonObject, name: str) -> None:
    assert entries.service_name(reference) == name


def test_references_have_a_weight_of_one_by_themselves() -> None:
    kind = entries.REFERENCES
    assert (kind.weight({}), kind.weight({"weight": 0}), kind.unit) == (1, 0, 1)
    assert kind.made({"name": "a", "port": 1}, "b", 2) == {"name": "b", "port": 1, "weight": 2}
    assert kind.made({"name": "a"}, "", 2) == {"name": "a", "weight": 2}


def test_who_leaves_nothing_leaves_all_to_primary() -> None:
    assert entries.moved({V.CANARY: 100}, V.CANARY) == {V.PRIMARY: 100}
    assert entries.moved({V.PRIMARY: 90, V.CANARY: 10}, V.BASELINE) == {V.PRIMARY: 90, V.CANARY: 10}
