"""What is read from sources, and what is said when none of them knows."""

from dataclasses import dataclass

import pytest

from volary.controller.api import representations


@dataclass(frozen=True)
class _Stored:
    name: str
    path: str


def test_the_first_source_that_has_a_field_says_it() -> None:
    class Place(representations.Representation, frozen=True):
        name: str
        path: str
        branch: str

    sources = (_Stored("shop", "apps/shop"), _Stored("other", "elsewhere"))

    place = representations.build(Place, *sources, branch="main")

    assert place == Place("shop", "apps/shop", "main")
    with pytest.raises(AttributeError, match=r"Place\.branch"):
        representations.build(Place, *sources)
