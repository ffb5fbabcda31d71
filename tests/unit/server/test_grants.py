"""A role is given to whom the settings name, for the applications they name, and to nobody else."""

from collections.abc import Mapping

import pytest

from volary.model import projects, server_settings
from volary.server import permissions

ADMIN, VIEWER = server_settings.Role.ADMIN, server_settings.Role.VIEWER
SHOP = server_settings.Subjects({"team": "shop"})


def of(labels: Mapping[str, str] | None = None, project: str = "") -> permissions.Subject:
    return permissions.Subject(labels or {}, project)


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

    assert grant.covers(of({"team": "shop", "tier": "web", "more": "yes"}))
    assert not grant.covers(of({"team": "shop"}))
    assert not grant.covers(of({"team": "shop", "tier": "db"}))
    assert permissions.Grant(ADMIN).covers(of())


def test_a_grant_holds_for_applications_of_its_projects() -> None:
    grant = permissions.Grant(ADMIN, (("team", "shop"),), ("shop", "tills"))

    assert grant.covers(of({"team": "shop"}, "tills"))
    assert not grant.covers(of({"team": "shop"}, "pay"))
    assert not grant.covers(of({"team": "shop"}))
    assert not grant.covers(of({}, "shop"))
    assert not grant.is_for_everything
    assert not permissions.Grant(ADMIN, projects=("shop",)).is_for_everything


def test_projects_give_roles_to_their_groups_and_subjects_in_themselves_only() -> None:
    shop = projects.Project(
        "shop",
        roles=(
            projects.ProjectRole(VIEWER, groups=("tills",)),
            projects.ProjectRole(ADMIN, groups=("leads",), subjects=("oidc:ana",)),
        ),
    )
    pay = projects.Project("pay", roles=(projects.ProjectRole(ADMIN, subjects=("oidc:bob",)),))
    nameless = projects.Project(roles=(projects.ProjectRole(ADMIN, subjects=("oidc:ana",)),))

    def given(subject: str, *groups: str) -> tuple[permissions.Grant, ...]:
        return permissions.grants_by_projects((shop, pay, nameless), subject, groups)

    assert given("oidc:ana") == (permissions.Grant(ADMIN, projects=("shop",)),)
    assert given("oidc:eve", "tills", "others") == (permissions.Grant(VIEWER, projects=("shop",)),)
    assert given("oidc:bob", "leads") == (
        permissions.Grant(ADMIN, projects=("shop",)),
        permissions.Grant(ADMIN, projects=("pay",)),
    )
    assert given("leads") == given("") == ()


def test_who_administers_a_project_administers_nothing_else() -> None:
    administer = permissions.Permission.ADMINISTER
    lead = permissions.Person("lead", (permissions.Grant(ADMIN, projects=("shop",)),))
    part = permissions.Person("part", (permissions.Grant(ADMIN, (("tier", "web"),), ("shop",)),))
    platform = permissions.Person("platform", (permissions.Grant(ADMIN),))

    assert not lead.may_everywhere(administer)
    assert lead.projects(administer) == {"shop"}
    assert part.projects(administer) == frozenset(), "only for some of its applications"
    asked = [
        [who.may_in_all_of(administer, name) for name in ("shop", "pay", "")]
        for who in (lead, part, platform)
    ]
    assert asked == [[True, False, False], [False, False, False], [True, True, True]]


def test_what_one_grant_allows_another_ones_labels_do_not_widen() -> None:
    """Admin of the shop and viewer of everything is no admin of everything."""
    bindings = [
        server_settings.RoleBinding(ADMIN, subject="ana", applications=SHOP),
        server_settings.RoleBinding(VIEWER, subject="ana"),
    ]
    ana = permissions.Person("ana", permissions.grants_of(bindings, "ana"))
    view, approve = permissions.Permission.VIEW, permissions.Permission.APPROVE

    assert ana.may(approve, of({"team": "shop"}))
    assert not ana.may(approve, of({"team": "pay"}))
    assert ana.may(view, of({"team": "pay"}))
    assert ana.may_everywhere(view)
    assert not ana.may_everywhere(approve)
    assert ana.may_somewhere(approve)
    assert not ana.may_somewhere(permissions.Permission.PUBLIC)
    assert not permissions.Person("eve").may_somewhere(view)
