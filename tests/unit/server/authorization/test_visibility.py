"""What somebody may see, and what a route has to declare."""

from pathlib import Path

import pytest

import server_world
from volary.model import server_settings
from volary.server import permissions
from volary.server.authorization import access, visibility
from volary.store import records

VIEW, DEPLOY = permissions.Permission.VIEW, permissions.Permission.DEPLOY
Role = server_settings.Role


def person(role: server_settings.Role, **labels: str) -> permissions.Person:
    return permissions.Person("ana", (permissions.Grant(role, tuple(labels.items())),))


async def test_applications_are_seen_by_their_labels(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.keep_application("blue", colour="blue")
        await world.keep_application("red", colour="red")
        gone = records.ApplicationRecord(
            "gone", "shop", "gone.yaml", labels={"colour": "blue"}, removed=world.clock.now()
        )
        await world.service.store.applications.keep(gone, fence=None)
        of_blue = visibility.Visibility(person(Role.VIEWER, colour="blue"), world.service)
        of_all = visibility.Visibility(person(Role.VIEWER), world.service)
        of_none = visibility.Visibility(permissions.Person("eve"), world.service)

        seen = [await of_blue.can_see(name) for name in ("blue", "red", "none", "blue", "none")]
        everything = [await of_all.can_see(name) for name in ("blue", "red", "none")]
        nothing = [await of_none.can_see(name) for name in ("blue", "red", "none")]
        names = [await of.names() for of in (of_blue, of_all, of_none)]

    assert seen == [True, False, False, True, False]
    assert everything == [True, True, True]
    assert nothing == [False, False, False]
    assert names == [frozenset({"blue", "gone"}), None, frozenset()]
    assert (of_blue.is_unrestricted, of_all.is_unrestricted) == (False, True)


async def test_another_permission_than_viewing_may_be_asked_for(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.keep_application("blue", colour="blue")
        ana = person(Role.VIEWER, colour="blue")

        deploys = visibility.Visibility(ana, world.service, DEPLOY)

        assert not await deploys.can_see("blue")
        assert await deploys.names() == frozenset()


@pytest.mark.parametrize(
    ("role", "permitted"),
    [
        (Role.VIEWER, {"view"}),
        (Role.DEPLOYER, {"view", "deploy"}),
        (Role.APPROVER, {"view", "approve"}),
        (Role.RESPONDER, {"view", "deploy", "unfreeze"}),
        (Role.ADMIN, {"view", "deploy", "approve", "unfreeze", "administer"}),
    ],
)
def test_what_a_role_permits(role: server_settings.Role, permitted: set[str]) -> None:
    ana, anything = person(role), permissions.Subject()

    assert {one.value for one in permissions.Permission if ana.may(one, anything)} == permitted


def test_a_route_declares_what_it_needs() -> None:
    def endpoint() -> None: ...

    with pytest.raises(access.UndeclaredError, match="endpoint declares no permission"):
        access.of(endpoint)
    declared = access.needs(VIEW)(endpoint)

    assert declared is endpoint
    assert access.of(endpoint) == access.Access(VIEW, access.Scope.EVERYTHING, "")
    access.needs(DEPLOY, access.Scope.RUN, action="run.retry")(endpoint)
    assert access.of(endpoint) == access.Access(DEPLOY, access.Scope.RUN, "run.retry")
