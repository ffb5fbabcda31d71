"""The inventory survives being written and read, and never claims too much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.clusters.inventory import inventory
from volary.model.objects import manifest, ownership

SHOP = ownership.Owner("shop", "0123456789abcdef")
WEB = inventory.Reference(manifest.ResourceKey("apps", "Deployment", "web", "shop"), "v1")
ROLE = inventory.Reference(
    manifest.ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:reader"), "v1"
)

TEXTS = st.text(max_size=20)


@given(
    name=TEXTS,
    identifier=st.text("0123456789abcdef", min_size=1, max_size=16),
    origin=st.builds(ownership.Origin, TEXTS, TEXTS),
    references=st.frozensets(st.sampled_from([WEB, ROLE])),
    begun=TEXTS,
    commit=TEXTS,
)
def test_what_was_written_is_read_back(
    name: str,
    identifier: str,
    origin: ownership.Origin,
    references: frozenset[inventory.Reference],
    begun: str,
    commit: str,
) -> None:
    """Names of roles may contain colons."""
    owner = ownership.Owner(name, identifier)
    before = inventory.Inventory(owner, "web", references, origin, begun, commit)

    assert inventory.from_object(inventory.to_object(before)) == before


def test_lines_of_a_later_version_are_skipped() -> None:
    body = inventory.to_object(inventory.Inventory(SHOP, "web", frozenset({WEB})))
    body["data"]["objects"] += "\nsomething else\n:::\n"

    stored = inventory.from_object(body)

    assert stored is not None
    assert stored.references == {WEB}


@pytest.mark.parametrize("annotations", [{}, {"volary.dev/application": "shop"}])
def test_what_does_not_say_whose_it_is_is_nobodys(annotations: dict[str, str]) -> None:
    body = inventory.to_object(inventory.Inventory(SHOP, "web", frozenset({WEB})))
    body["metadata"]["annotations"] = annotations

    assert inventory.from_object(body) is None
    assert inventory.read_all([body], "shop") == []


def test_inventories_of_other_names_are_left_out() -> None:
    """Label values are cut, so applications of two names may share one."""
    other = ownership.Owner("other", SHOP.id)
    body = inventory.to_object(inventory.Inventory(other, "web", frozenset({WEB})))

    assert inventory.read_all([body], "shop") == []


def test_applications_of_one_name_have_an_inventory_each() -> None:
    mine = inventory.Inventory(SHOP, "web", frozenset({WEB}), commit="1")
    theirs = inventory.Inventory(ownership.Owner("shop", "fed"), "web", frozenset({ROLE}))

    bodies = [inventory.to_object(one) for one in (theirs, mine)]

    assert {one.owner.id: one for one in inventory.read_all(bodies, "shop")} == {
        SHOP.id: mine,
        "fed": theirs,
    }


def test_an_inventory_whose_namespace_has_moved_is_one() -> None:
    moved = [
        inventory.Inventory(SHOP, "web", frozenset({ROLE}), begun="1"),
        inventory.Inventory(SHOP, "before", frozenset({WEB}), begun="1"),
    ]

    assert inventory.read_all(map(inventory.to_object, moved), "shop") == [
        inventory.Inventory(SHOP, "before", frozenset({WEB, ROLE}), begun="1")
    ]


def test_it_is_not_marked_as_part_of_the_application() -> None:
    body = inventory.to_object(inventory.Inventory(SHOP, "web"))

    assert set(body["metadata"]["labels"]) == {"volary.dev/inventory"}


def test_names_of_any_application_are_valid() -> None:
    assert inventory.name(ownership.Owner("Shop / EU", "0ab1")) == "volary-inventory-0ab1"


def test_added_and_removed() -> None:
    empty = inventory.Inventory(SHOP, "web", begun="1", commit="2")

    left = empty.with_references([WEB, ROLE]).without([WEB.key])

    assert left == inventory.Inventory(SHOP, "web", frozenset({ROLE}), begun="1", commit="2")
