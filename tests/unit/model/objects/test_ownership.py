"""What tells applications of one name apart."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import applications
from volary.model.objects import ownership

SHOP = applications.Application(
    "shop",
    origin=ownership.Origin("git.example.com/team/shop", "deploy"),
    input=applications.Input(namespace="web"),
)
TEXTS = st.text(max_size=20)
ORIGINS = st.builds(ownership.Origin, TEXTS, TEXTS)


@given(name=TEXTS, origin=ORIGINS, namespace=TEXTS, others=st.integers(0, 5))
def test_an_id_is_a_label_value_that_nobody_there_has(
    name: str, origin: ownership.Origin, namespace: str, others: int
) -> None:
    taken: set[str] = set()
    for _ in range(others):
        taken.add(ownership.make_id(name, origin, namespace, taken))

    made = ownership.make_id(name, origin, namespace, taken)

    assert made not in taken
    assert len(taken) == others
    assert len(made) == 16
    assert set(made) <= set("0123456789abcdef")


def test_everybody_makes_the_same_id() -> None:
    """It is in clusters: who changes how it is made makes every application a stranger."""
    made = ownership.make_id("shop", SHOP.origin, "web")

    assert made == ownership.make_id("shop", SHOP.origin, "web", {"another"}) == SHOP.owner.id
    assert made == "c33b94d018c717e9"


@pytest.mark.parametrize(
    "other",
    [
        replace(SHOP, name="cart"),
        replace(SHOP, origin=replace(SHOP.origin, repository="git.example.com/other/shop")),
        replace(SHOP, origin=replace(SHOP.origin, directory="")),
        replace(SHOP, origin=replace(SHOP.origin, repository="", checkout="0123456789ab")),
        replace(SHOP, input=applications.Input(namespace="stage")),
        # What is read must not depend on where one part ends.
        replace(SHOP, name="", origin=replace(SHOP.origin, repository="shopgit.example.com")),
    ],
)
def test_another_name_place_or_namespace_is_another_application(
    other: applications.Application,
) -> None:
    assert other.owner.id != SHOP.owner.id


def test_objects_carry_the_name_of_the_file_and_what_a_cluster_knows() -> None:
    registered = replace(SHOP, name="shop-of-the-team", declared="shop")
    known = replace(SHOP, known_owner=ownership.Owner("shop", "0123456789abcdef"))

    assert registered.declared_name == SHOP.declared_name == "shop"
    assert registered.owner == SHOP.owner
    assert known.owner.id == "0123456789abcdef"


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (
            ownership.Origin("git.example.com/team/shop", "deploy"),
            "git.example.com/team/shop:deploy",
        ),
        (ownership.Origin("git.example.com/team/shop"), "git.example.com/team/shop"),
        (ownership.Origin(directory="deploy"), "deploy"),
        (ownership.Origin(), "a plain directory"),
    ],
)
def test_people_are_told_where_it_is_described(origin: ownership.Origin, said: str) -> None:
    assert str(origin) == said
    assert str(ownership.Owner("shop", "0123")) == "shop (0123)"
