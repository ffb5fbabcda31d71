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
