"""What roles and bindings allow, and as whom one may act."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import authorization, impersonation, request_info
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

ANN = verbs.User("ann", ("staff", "system:authenticated"))
GROUP = "rbac.authorization.k8s.io"


@pytest.fixture
def cluster() -> registry.Registry:
    made = registry.Registry(FixedClock())
    for name in ("a", "b"):
        made.create(kinds.NAMESPACE, "", {"metadata": {"name": name}})
    return made


def _grant(
    cluster: registry.Registry,
    rules: list[dict[str, Any]],
    subject: dict[str, str],
    *,
    namespace: str = "",
    role: str = "ClusterRole",
) -> None:
    kind = kinds.ROLE if role == "Role" else kinds.CLUSTER_ROLE
    place = namespace if role == "Role" else ""
    cluster.create(kind, place, {"metadata": {"name": "r"}, "rules": rules})
    binding = kinds.ROLE_BINDING if namespace else kinds.CLUSTER_ROLE_BINDING
    reference = {"apiGroup": GROUP, "kind": role, "name": "r"}
    body = {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": reference}
    cluster.create(binding, namespace, body)


def _may(cluster: registry.Registry, user: verbs.User, verb: str, **asked: str) -> bool:
    request = request_info.RequestInfo(verb, **asked)
    return authorization.decide(cluster.cluster, user, request).allowed


PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


def test_a_cluster_wide_binding_holds_everywhere(cluster: registry.Registry) -> None:
    _grant(cluster, [PODS], {"kind": "Group", "name": "staff"})

    assert _may(cluster, ANN, "get", resource="pods", namespace="a")
    assert _may(cluster, ANN, "list", resource="pods")
    assert not _may(cluster, ANN, "delete", resource="pods", namespace="a")
    assert not _may(cluster, ANN, "get", resource="pods/log", namespace="a")
    assert not _may(cluster, ANN, "get", group="apps", resource="pods", namespace="a")
    assert not _may(cluster, verbs.User("bob"), "get", resource="pods", namespace="a")


@pytest.mark.parametrize("role", ["Role", "ClusterRole"])
def test_a_binding_in_a_namespace_holds_there_only(cluster: registry.Registry, role: str) -> None:
    _grant(cluster, [PODS], {"kind": "User", "name": "ann"}, namespace="a", role=role)

    assert _may(cluster, ANN, "get", resource="pods", namespace="a")
    assert not _may(cluster, ANN, "get", resource="pods", namespace="b")
    assert not _may(cluster, ANN, "list", resource="pods")


def test_names_narrow_a_rule(cluster: registry.Registry) -> None:
    rule = {**PODS, "resourceNames": ["web"]}
    _grant(cluster, [rule], {"kind": "User", "name": "ann"}, namespace="a")

    assert _may(cluster, ANN, "get", resource="pods", namespace="a", name="web")
    assert not _may(cluster, ANN, "get", resource="pods", namespace="a", name="db")
    assert not _may(cluster, ANN, "list", resource="pods", namespace="a")


def test_wildcards(cluster: registry.Registry) -> None:
    rules = [
        {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["*"]},
        {"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"]},
    ]
    _grant(cluster, rules, {"kind": "User", "name": "ann"})

    assert _may(cluster, ANN, "patch", group="apps", resource="deployments/scale", namespace="a")
    assert not _may(cluster, ANN, "patch", group="apps", resource="deployments", namespace="a")
    assert _may(cluster, ANN, "get", path="/metrics")
    assert _may(cluster, ANN, "get", path="/logs/kubelet")
    assert not _may(cluster, ANN, "get", path="/metrics/cadvisor")
    assert not _may(cluster, ANN, "post", path="/metrics")


def test_service_accounts_are_subjects_in_their_namespace(cluster: registry.Registry) -> None:
    _grant(cluster, [PODS], {"kind": "ServiceAccount", "name": "robot", "namespace": "b"})
    robot = verbs.User("system:serviceaccount:b:robot")

    assert _may(cluster, robot, "get", resource="pods", namespace="a")
    assert not _may(
        cluster, verbs.User("system:serviceaccount:a:robot"), "get", resource="pods", namespace="a"
    )


def test_a_role_that_is_gone_grants_nothing(cluster: registry.Registry) -> None:
    _grant(cluster, [PODS], {"kind": "User", "name": "ann"})
    cluster.delete(kinds.CLUSTER_ROLE, "", "r")

    assert not _may(cluster, ANN, "get", resource="pods", namespace="a")


def test_whom_one_acts_as() -> None:
    wanted = impersonation.read(
        {
            "impersonate-user": ["bob"],
            "impersonate-group": ["ops"],
            "impersonate-extra-scopes": ["x", "y"],
        }
    )

    assert wanted == verbs.User(
        "bob", ("ops", "system:authenticated"), extra={"scopes": ("x", "y")}
    )
    assert impersonation.read({}) is None
    anonymous = impersonation.read({"impersonate-user": ["system:anonymous"]})
    assert anonymous is not None
    assert anonymous.groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"impersonate-user": ["bob"]}, ""),
        ({"impersonate-user": ["eve"]}, 'users "eve" is forbidden'),
        (
            {"impersonate-user": ["bob"], "impersonate-group": ["system:masters"]},
            'groups "system:masters" is forbidden',
        ),
        (
            {"impersonate-user": ["system:serviceaccount:a:robot"]},
            'serviceaccounts "robot" is forbidden',
        ),
        (
            {"impersonate-user": ["bob"], "impersonate-extra-scopes": ["x"]},
            'userextras.authentication.k8s.io "x" is forbidden',
        ),
    ],
)
def test_one_needs_leave_for_every_part(
    cluster: registry.Registry, headers: dict[str, list[str]], refused: str
) -> None:
    rule = {
        "apiGroups": [""],
        "resources": ["users"],
        "resourceNames": ["bob"],
        "verbs": ["impersonate"],
    }
    _grant(cluster, [rule], {"kind": "User", "name": "ann"})
    wanted = impersonation.read(headers)
    assert wanted is not None

    if not refused:
        impersonation.require(cluster.cluster, ANN, wanted, headers)
        return
    with pytest.raises(api_errors.StatusError) as problem:
        impersonation.require(cluster.cluster, ANN, wanted, headers)
    assert refused in problem.value.message


def _binding(cluster: registry.Registry, user: verbs.User, role: str) -> None:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    subjects = [{"kind": "User", "name": "ann"}]
    body = {"metadata": {"name": "mine"}, "subjects": subjects, "roleRef": reference}
    cluster.create(kinds.ROLE_BINDING, "a", body, verbs.Options(user=user))


def test_nobody_binds_more_than_they_hold(cluster: registry.Registry) -> None:
    _grant(cluster, [PODS], {"kind": "User", "name": "ann"}, namespace="a")
    wide = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    cluster.create(kinds.CLUSTER_ROLE, "", {"metadata": {"name": "all"}, "rules": wide})

    with pytest.raises(api_errors.StatusError, match="not currently held"):
        _binding(cluster, ANN, "all")
    _binding(cluster, ANN, "r")

    assert cluster.find(kinds.ROLE_BINDING, "a", "mine") is not None


@pytest.mark.parametrize(("verb", "plural"), [("escalate", "roles"), ("bind", "clusterroles")])
def test_verbs_that_allow_to_grant_more(cluster: registry.Registry, verb: str, plural: str) -> None:
    rule = {"apiGroups": [GROUP], "resources": [plural], "verbs": [verb]}
    _grant(cluster, [rule], {"kind": "User", "name": "ann"}, namespace="a")
    secrets = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    role = {"metadata": {"name": "s"}, "rules": secrets}
    cluster.create(kinds.CLUSTER_ROLE, "", role)

    if verb == "escalate":
        cluster.create(kinds.ROLE, "a", role, verbs.Options(user=ANN))
        with pytest.raises(api_errors.StatusError, match="not currently held"):
            _binding(cluster, ANN, "s")
    else:
        _binding(cluster, ANN, "s")
        # Bound now, she holds what the role grants and may pass it on.
        cluster.create(kinds.ROLE, "a", role, verbs.Options(user=ANN))


def test_a_role_may_not_grow_beyond_its_author(cluster: registry.Registry) -> None:
    _grant(cluster, [PODS], {"kind": "User", "name": "ann"}, namespace="a")
    options = verbs.Options(user=ANN)
    cluster.create(kinds.ROLE, "a", {"metadata": {"name": "s"}, "rules": [PODS]}, options)
    more = {"rules": [{**PODS, "verbs": ["get", "delete"]}]}

    with pytest.raises(api_errors.StatusError, match=r'Verbs:\["delete"\]'):
        cluster.patch(kinds.ROLE, "a", "s", more, verbs.PatchType.MERGE, options)
    labelled = {"metadata": {"labels": {"x": "y"}}}
    changed = cluster.patch(kinds.ROLE, "a", "s", labelled, verbs.PatchType.MERGE, options)

    assert changed.body["metadata"]["labels"] == {"x": "y"}
