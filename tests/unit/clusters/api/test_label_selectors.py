"""Selectors are as narrow as possible and never too narrow."""

from volary.clusters.api import label_selectors


def test_common_keys_with_all_their_values() -> None:
    sets = [{"app": "a", "variant": "canary", "x": "1"}, {"app": "b", "variant": "canary"}]

    assert label_selectors.covering(sets) == "app in (a,b),variant=canary"


def test_nothing_in_common_selects_everything() -> None:
    assert label_selectors.covering([{"a": "1"}, {"b": "1"}]) == ""
    assert label_selectors.covering([]) == ""


def test_too_many_values_are_left_out() -> None:
    sets = [{"app": str(number), "tier": "web"} for number in range(100)]

    assert label_selectors.covering(sets) == "tier=web"


def test_an_empty_selector_matches_no_pod() -> None:
    assert not label_selectors.matches({}, {"app": "a"})
    assert label_selectors.matches({"app": "a"}, {"app": "a", "b": "c"})


def test_a_selector_for_exactly_these_labels_is_sorted() -> None:
    assert label_selectors.exact({"b": "2", "a": "1"}) == "a=1,b=2"
    assert label_selectors.exact({}) == ""


def test_as_many_values_as_fit_are_named() -> None:
    sets = [{"app": f"{number:02}"} for number in range(41)]

    assert label_selectors.covering(sets[:40]).startswith("app in (00,01,")
    assert label_selectors.covering(sets) == ""
    assert label_selectors.covering([*sets[:40], sets[0]]).count(",") == 39


def test_every_label_of_a_selector_has_to_fit() -> None:
    selector = {"app": "a", "tier": "web"}

    assert label_selectors.matches(selector, {"app": "a", "tier": "web"})
    assert not label_selectors.matches(selector, {"app": "a"})
    assert not label_selectors.matches(selector, {"app": "a", "tier": "db"})
