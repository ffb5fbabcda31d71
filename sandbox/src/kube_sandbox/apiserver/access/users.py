"""The accounts a server knows by their tokens, and who one is without any."""

from dataclasses import dataclass

from kube_sandbox.apiserver.storage import verbs

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = verbs.User("system:anonymous", groups=(UNAUTHENTICATED,))

_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody with a token; what they may do stand in roles and bindings."""

    token: str
    user: verbs.User


def administrator(token: str) -> Account:
    """Return the account a cluster's own kubeconfig names, which may do everything."""
    return Account(token, verbs.User("kubernetes-admin", ("system:masters", AUTHENTICATED)))


def service_account(namespace: str, name: str, *, uid: str = "") -> verbs.User:
    """Return a ServiceAccount as a user."""
    return verbs.User(
        f"{_SERVICE_ACCOUNT}{namespace}:{name}", service_account_groups(namespace), uid
    )


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups all ServiceAccounts of a namespace are in."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)


def service_account_of(name: str) -> tuple[str, str] | None:
    """Return namespace and name of the ServiceAccount a user name stands for, if it does."""
    if not name.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, colon, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, account) if colon and namespace and account else None
