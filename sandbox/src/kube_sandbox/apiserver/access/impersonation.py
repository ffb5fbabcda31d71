"""Acting as somebody else: ``kubectl --as``, for those who may."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import authorization, request_info, users
from kube_sandbox.apiserver.storage import cluster_state, verbs

#: Headers that begin with it say as whom to act.
PREFIX = "impersonate-"
_USER = "impersonate-user"
_GROUP = "impersonate-group"
_UID = "impersonate-uid"
_EXTRA = "impersonate-extra-"
_GROUP_NAME = "authentication.k8s.io"


def read(headers: Mapping[str, list[str]]) -> verbs.User | None:
    """Return whom a request wants to act as; None: nobody else.

    Args:
        headers: All values by the headers' names in lower case.

    Raises:
        api_errors.StatusError: 400, groups or the like without a user.
    """
    name = next(iter(headers.get(_USER, ())), "")
    groups = tuple(headers.get(_GROUP, ()))
    uid = next(iter(headers.get(_UID, ())), "")
    extra = {
        unquote(header.removeprefix(_EXTRA)): tuple(values)
        for header, values in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        if not (groups or uid or extra):
            return None
        raise api_errors.bad_request(
            f"requested {_shown(uid, groups, extra)} without impersonating a user name"
        )
    return verbs.User(name, _completed(name, groups), uid, extra)


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Add the groups one is in by being somebody."""
    account = users.service_account_of(name)
    if account is not None and not groups:
        return users.service_account_groups(account[0])
    if name == users.ANONYMOUS.name:
        return groups or users.ANONYMOUS.groups
    implied = (users.AUTHENTICATED, users.UNAUTHENTICATED)
    return groups if any(group in implied for group in groups) else (*groups, users.AUTHENTICATED)


def _shown(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    """Show a user as Go prints the server's struct."""

    def texts(values: tuple[str, ...]) -> str:
        listed = ", ".join(f'"{value}"' for value in values)
        return f"[]string{{{listed}}}" if values else "[]string(nil)"

    pairs = ", ".join(f'"{key}":{texts(values)}' for key, values in sorted(extra.items()))
    more = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:"{uid}", Groups:{texts(groups)}, Extra:{more}}}'


def require(
    state: cluster_state.ClusterState,
    user: verbs.User,
    wanted: verbs.User,
    headers: Mapping[str, list[str]],
) -> None:
    """Refuse to act as somebody whom the user may not impersonate, in any respect.

    Raises:
        api_errors.StatusError: 403.
    """
    for request in _questions(wanted, headers):
        authorization.require(state, user, request)


def _questions(
    wanted: verbs.User, headers: Mapping[str, list[str]]
) -> Iterator[request_info.RequestInfo]:
    account = users.service_account_of(wanted.name)
    if account is not None:
        namespace, name = account
        yield request_info.RequestInfo(
            "impersonate", resource="serviceaccounts", namespace=namespace, name=name
        )
    else:
        yield request_info.RequestInfo("impersonate", resource="users", name=wanted.name)
    for group in headers.get(_GROUP, ()):
        yield request_info.RequestInfo("impersonate", resource="groups", name=group)
    if wanted.uid:
        yield request_info.RequestInfo("impersonate", _GROUP_NAME, "uids", name=wanted.uid)
    for key, values in wanted.extra.items():
        for value in values:
            yield request_info.RequestInfo(
                "impersonate", _GROUP_NAME, f"userextras/{key}", name=value
            )
