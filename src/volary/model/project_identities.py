"""Whom a project may name for API servers to take it for: the one rule, wherever it is asked.

Kubernetes keeps names that begin with `system:` for its own parts and gives them rights by that,
`system:masters` all of them. So nobody writes such a name into a project, except a ServiceAccount
by its namespace and name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from volary.model import projects

_OF_KUBERNETES = "system:"
#: Everybody whom an API server knows is in it; it gives nothing to anybody.
_EVERYBODY = "system:authenticated"
#: Characters of a name; headers are bounded.
_LONGEST = 512
#: Characters of the name of an object of Kubernetes.
_LONGEST_OBJECT_NAME = 253
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Fault:
    """What of a project's identity cannot be."""

    #: Where, below `spec` of the project.
    path: tuple[str | int, ...]
    message: str
    hint: str = ""


def is_of_kubernetes(name: str) -> bool:
    """Say whether a user or a group is one that Kubernetes keeps for its own parts."""
    return name.startswith(_OF_KUBERNETES)


def user_of(account: projects.ServiceAccount) -> str:
    """Return the name that API servers know a ServiceAccount by."""
    return f"{_OF_KUBERNETES}serviceaccount:{account.namespace}:{account.name}"


def faults(project: projects.Project) -> Iterator[Fault]:
    """Yield what of a project's identity cannot be; nothing: API servers can be asked so."""
    who, own = project.impersonate, project.credentials
    if who is not None and own is not None:
        message = "impersonate and credentials are both given"
        yield Fault(("impersonate",), message, "keep one of them")
    if own is not None and not own.kubeconfig:
        yield Fault(("credentials", "kubeconfig"), "no file is named")
    if who is None:
        return
    if bool(who.user) == (who.service_account is not None):
        hint = "a user may have groups, a ServiceAccount has those that every one has"
        yield Fault(("impersonate",), "needs a user or a serviceAccount, one of them", hint)
    if who.service_account is not None:
        yield from _account_faults(who.service_account, who.groups)
    yield from _name_faults(("impersonate", "user"), who.user)
    for i, group in enumerate(who.groups):
        at = ("impersonate", "groups", i)
        if not group:
            yield Fault(at, "a group has a name")
        elif group != _EVERYBODY:
            yield from _name_faults(at, group)


def _account_faults(account: projects.ServiceAccount, groups: tuple[str, ...]) -> Iterator[Fault]:
    if groups:
        message = "a ServiceAccount has the groups that every one has, and no others"
        yield Fault(("impersonate", "groups"), message, "remove them")
    for key, name in (("namespace", account.namespace), ("name", account.name)):
        if len(name) > _LONGEST_OBJECT_NAME or not _SUBDOMAIN.fullmatch(name):
            message = "is not a name of an object: lower case letters, digits, dashes and dots"
            yield Fault(("impersonate", "serviceAccount", key), message)


def _name_faults(at: tuple[str | int, ...], name: str) -> Iterator[Fault]:
    """Yield why a user or a group cannot be asked for; nobody is empty, which is no fault here."""
    if is_of_kubernetes(name):
        message = f"{name[:80]} is kept for the cluster's own parts"
        yield Fault(at, message, "name people or groups of your own, or a serviceAccount")
    if len(name) > _LONGEST or not name.isprintable() or name != name.strip():
        message = f"must be printable, at most {_LONGEST} characters, without a blank at either end"
        yield Fault(at, message)
