"""A role is given to whom the settings name, for the applications they name, and to nobody else."""

import pytest

from volary.model import server_settings
from volary.server import permissions

ADMIN, VIEWER = server_settings.Role.ADMIN, server_settings.Role.VIEWER
SHOP = server_settings.Subjects({"team": "shop"})


@pytest.mark.parametrize(
    ("binding", "who", "groups", "is_given"),
    [
        ({"subject": "ana"}, "ana", (), True),
        ({"subject": "ana"}, "bob", (), False),
        ({"subject": "ana"}, "bob", ("ana",), False),
        ({"subject": "ana"}, "", (), False),
        ({"group": "ops"}, "ana", ("ops", "shop"), True),
        ({"group": "ops"}, "ana", ("shop",), False),
        ({"group": "ops"}, "ops", (), False),
        # A binding that names nobody, and somebody who has no name.
        ({}, "", ("",), False),
        ({}, "ana", ("ops",), False),
    ],
)
def test_a_role_is_given_to_whom_its_binding_names(
    binding: dict[str, str], who: str, groups: tuple[str, ...], is_given: bool
) -> None:
    made = server_settings.RoleBinding(ADMIN, **binding)

    given = permissions.grants_of([made], who, groups)

    assert given == ((permissions.Grant(ADMIN),) if is_given else ())


def test_a_grant_holds_for_applications_that_carry_all_of_its_labels() -> None:
    grant = permissions.Grant(ADMIN, (("team", "shop"), ("tier", "web")))

    assert grant.covers({"team": "shop", "tier": "web", "more": "yes"})
    assert not grant.covers({"team": "shop"})
    assert not grant.covers({"team": "shop", "tier": "db"})
    assert permissions.Grant(ADMIN).covers({})


def test_what_one_grant_allows_another_ones_labels_do_not_widen() -> None:
    """Admin of the shop and viewer of everything is no admin of everything."""
    bindings = [
        server_settings.RoleBinding(ADMIN, subject="ana", applications=SHOP),
        server_settings.RoleBinding(VIEWER, subject="ana"),
    ]
    ana = permissions.Person("ana", permissions.grants_of(bindings, "ana"))
    view, approve = permissions.Permission.VIEW, permissions.Permission.APPROVE

    assert ana.may(approve, {"team": "shop"})
    assert not ana.may(approve, {"team": "pay"})
    assert ana.may(view, {"team": "pay"})
    assert ana.may_everywhere(view)
    assert not ana.may_everywhere(approve)
    assert ana.may_somewhere(approve)
    assert not ana.may_somewhere(permissions.Permission.PUBLIC)
    assert not permissions.Person("eve").may_somewhere(view)
