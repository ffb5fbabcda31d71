"""The inventory survives being written and read, and never claims too much."""

from volary.clusters.inventory import inventory
from volary.model.objects import manifest

WEB = inventory.Reference(manifest.ResourceKey("apps", "Deployment", "web", "shop"), "v1")
ROLE = inventory.Reference(
    manifest.ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:reader"), "v1"
)


def test_what_was_written_is_read_back() -> None:
    """Names of roles may contain colons."""
    before = inventory.Inventory("shop", "web", frozenset({WEB, ROLE}))

    assert inventory.from_object(inventory.to_object(before), "shop") == before


def test_lines_of_a_later_version_are_skipped() -> None:
    body = inventory.to_object(inventory.Inventory("shop", "web", frozenset({WEB})))
    body["data"]["objects"] += "\nsomething else\n:::\n"

    assert inventory.from_object(body, "shop").references == {WEB}


def test_another_applications_inventory_is_left_alone() -> None:
    """Label values are cut, so two applications may share one."""
    other = inventory.to_object(inventory.Inventory("other", "web", frozenset({WEB})))

    found = inventory.merge([other], "shop", home="default")

    assert found == inventory.Inventory("shop", "default")


def test_it_is_not_marked_as_part_of_the_application() -> None:
    body = inventory.to_object(inventory.Inventory("shop", "web"))

    assert "volary.dev/application" not in body["metadata"]["labels"]


def test_names_of_any_application_are_valid() -> None:
    assert inventory.name("Shop / EU").startswith("volary-inventory-")
    assert inventory.name("a") != inventory.name("b")


def test_added_and_removed() -> None:
    empty = inventory.Inventory("shop", "web")

    assert empty.with_references([WEB, ROLE]).without([WEB.key]).references == {ROLE}
