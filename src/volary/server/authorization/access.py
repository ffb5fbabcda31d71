"""What a route needs: declared on its function, without which there is no route."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from volary.server import permissions

EndpointT = TypeVar("EndpointT", bound=Callable[..., object])
_MARK = "__volary_access__"


class Scope(StrEnum):
    """Which applications a permission has to hold for."""

    #: All of them.
    EVERYTHING = "everything"
    #: Some; the endpoint shows only those by itself.
    OWN = "own"
    #: All of some project; the endpoint narrows itself to such projects.
    PROJECT = "project"
    #: The one in the path.
    APPLICATION = "application"
    #: The one of the run in the path.
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Access:
    """What a route needs."""

    permission: permissions.Permission
    scope: Scope
    #: Name in the audit, such as ``run.approve``; empty: not worth an entry.
    action: str = ""


class UndeclaredError(Exception):
    """A route says nothing about who may use it; the server does not start."""


def needs(
    permission: permissions.Permission, scope: Scope = Scope.EVERYTHING, *, action: str = ""
) -> Callable[[EndpointT], EndpointT]:
    """Declare what a route needs; goes below the route's own decorator."""

    def mark(endpoint: EndpointT) -> EndpointT:
        setattr(endpoint, _MARK, Access(permission, scope, action))
        return endpoint

    return mark


def of(endpoint: Callable[..., object]) -> Access:
    """Return what was declared.

    Raises:
        UndeclaredError: Nothing was.
    """
    declared = getattr(endpoint, _MARK, None)
    if not isinstance(declared, Access):
        name = getattr(endpoint, "__qualname__", repr(endpoint))
        raise UndeclaredError(f"{name} declares no permission")
    return declared
