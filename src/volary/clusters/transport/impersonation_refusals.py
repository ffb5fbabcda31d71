"""What it means that the API server does not let us act as somebody: pure."""

import re

from volary.clusters.api import api_errors
from volary.clusters.kubeconfig import connections
from volary.model import errors

#: As `kube-apiserver` words it: `users "ann" is forbidden: User "volary" cannot impersonate
#: resource "users" in API group "" at the cluster scope`.
_REFUSED = re.compile(
    r'(?P<kind>[a-z]+)(?:\.[\w.]+)? "(?P<name>[^"]*)" is forbidden:'
    r' User "(?P<user>[^"]*)" cannot impersonate resource "'
)


def explain(
    error: api_errors.Forbidden, connection: connections.Connection
) -> api_errors.Forbidden | api_errors.MayNotImpersonate:
    """Return what a 403 to a request on behalf of somebody says, who may be who is not let.

    One that is about the request itself stays as it is.
    """
    said = _REFUSED.search(str(error))
    if said is None:
        return error
    kind, name, user = said["kind"], said["name"], said["user"]
    if kind == "serviceaccounts":
        namespace = connection.impersonation.user.split(":")[2]
        where, what = f"a Role in namespace {namespace} of the cluster", "a RoleBinding"
    else:
        where, what = "a ClusterRole", "a ClusterRoleBinding"
    whom = connection.impersonation.user if kind != "groups" else f"group {name}"
    return api_errors.MayNotImpersonate(
        errors.Problem(
            f"cluster {connection.name}: volary's user {user} may not impersonate {whom}",
            hint=f'write {where} with the rule {{apiGroups: [""], resources: [{kind}],'
            f" resourceNames: [{name}], verbs: [impersonate]}}, and {what} to {user}",
        )
    )
