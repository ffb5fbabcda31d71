"""Who may do what: bearer tokens and simple permissions, so that 401 and 403 can happen."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import request_info

_ALL = frozenset(("*",))
#: Paths that need no name at all.
PUBLIC = ("/version", "/healthz", "/livez", "/readyz")


@dataclass(frozen=True, slots=True)
class Permission:
    """What is allowed; ``*`` stands for everything."""

    verbs: frozenset[str] = _ALL
    #: Plural names, with ``/status`` and the like for subresources.
    resources: frozenset[str] = _ALL
    groups: frozenset[str] = _ALL
    namespaces: frozenset[str] = _ALL

    def covers(self, line: request_info.RequestInfo) -> bool:
        """Tell whether the request is allowed by this permission."""
        asked = (
            (line.verb, self.verbs),
            (line.resource, self.resources),
            (line.group, self.groups),
            (line.namespace, self.namespaces),
        )
        return all("*" in allowed or value in allowed for value, allowed in asked)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a token."""

    name: str
    token: str
    groups: tuple[str, ...] = ("system:authenticated",)
    permissions: tuple[Permission, ...] = ()

    @property
    def administrator(self) -> bool:
        """Everything is allowed."""
        return "system:masters" in self.groups

    def may(self, line: request_info.RequestInfo) -> bool:
        """Tell whether the user may make a request for a resource."""
        return self.administrator or any(each.covers(line) for each in self.permissions)


ANONYMOUS = User("system:anonymous", "", groups=("system:unauthenticated",))


def administrator(token: str) -> User:
    """Return the user a cluster's own kubeconfig names."""
    return User("kubernetes-admin", token, groups=("system:masters", "system:authenticated"))


def identify(known: Sequence[User], header: str) -> User:
    """Return who sends an Authorization header.

    Raises:
        api_errors.StatusError: 401, a token nobody has.
    """
    if not header:
        return ANONYMOUS
    scheme, _, token = header.partition(" ")
    if scheme.lower() == "bearer":
        for each in known:
            if hmac.compare_digest(each.token.encode(), token.strip().encode()):
                return each
    raise api_errors.StatusError(401, "Unauthorized")


def authorize(user: User, line: request_info.RequestInfo, path: str) -> None:
    """Let a request pass or refuse it.

    Raises:
        api_errors.StatusError: 403.
    """
    if line.resource:
        if user.may(line):
            return
        plural = line.resource.partition("/")[0]
        why = f'User "{user.name}" cannot {action(line)}'
        raise api_errors.forbidden(line.group, plural, line.name, why)
    known = user is not ANONYMOUS
    if known or path.startswith(PUBLIC):
        return
    raise api_errors.forbidden("", "", "", f'User "{user.name}" cannot {line.verb} path "{path}"')


def action(line: request_info.RequestInfo) -> str:
    """Describe a request as refusals do: ``list resource "pods" in API group "" in …``."""
    where = f'in the namespace "{line.namespace}"' if line.namespace else "at the cluster scope"
    return f'{line.verb} resource "{line.resource}" in API group "{line.group}" {where}'
