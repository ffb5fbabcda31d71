"""Label selectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schema_samples as samples
from kube_sandbox.apimachinery.meta import selectors

_LABELS = {"app": "web", "tier": "front", "n": "5"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("gone!=x", True),
        ("app", True),
        ("!app", False),
        ("!gone", True),
        ("app in (db, web)", True),
        ("app notin (db,web)", False),
        ("gone notin (x)", True),
        ("app=web,tier=back", False),
        ("app in (web),tier=front,!gone", True),
        ("n>4", True),
        ("n<5", False),
        ("app>1", False),
        ("volary.dev/app=", False),
    ],
)
def test_queries(text: str, matches: bool) -> None:
    assert selectors.parse(text).matches(_LABELS) is matches


@pytest.mark.parametrize("text", ["=x", "a b", "a,", "a in", "n>x", ",", "a=b=c"])
def test_malformed_queries(text: str) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.parse(text)


def test_selector_objects() -> None:
    found = selectors.from_object(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "gone", "operator": "DoesNotExist"},
            ],
        }
    )

    assert found.matches(_LABELS)
    assert not found.matches({"app": "web"})
    assert str(found) == "app=web,!gone,tier in (back,front)"
    assert selectors.from_object({}).matches({})
    assert selectors.from_labels({"b": "2", "a": "1"}).matches({"a": "1", "b": "2", "c": "3"})


@samples.BOUNDED
@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")))
def test_the_text_of_a_selector_means_the_same(labels: dict[str, str]) -> None:
    found = selectors.from_labels(labels)

    assert selectors.parse(str(found)) == found
