"""One object, stage or cluster, and what its project says."""

import string
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as some

from volary.model import projects
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import catalog
from volary.model.placement import rollouts
from volary.tenancy import restrictions

EU = fleets.Cluster("eu", labels={"env": "prod"})
DEV = fleets.Cluster("dev", labels={"env": "dev"})
DEPLOYMENT = restrictions.ObjectKind("apps", "Deployment", is_namespaced=True)
SECRET = restrictions.ObjectKind("", "Secret", is_namespaced=True)
BINDING = restrictions.ObjectKind(
    "rbac.authorization.k8s.io", "ClusterRoleBinding", is_namespaced=False
)
NAMESPACE = restrictions.ObjectKind("", "Namespace", is_namespaced=False)
NAMES = some.text(string.ascii_lowercase + string.digits + "-./!*[]\\", max_size=12)


def project(
    *namespaces: str,
    labels: Mapping[str, str] | None = None,
    kinds: projects.Kinds | None = None,
    **more: object,
) -> projects.Project:
    selector = rollouts.ClusterSelector(match_labels=labels or {})
    return projects.Project(
        "team-b",
        destinations=(projects.Destination(selector, namespaces),),
        kinds=kinds or projects.Kinds(),
        **more,  # type: ignore[arg-type]
    )


def refusal(
    team: projects.Project,
    kind: restrictions.ObjectKind = DEPLOYMENT,
    *,
    namespace: str = "shop",
    name: str = "web",
    cluster: fleets.Cluster = EU,
) -> str:
    return restrictions.refusal_of_object(team, cluster, kind, namespace=namespace, name=name)


def test_a_project_has_its_namespaces_on_its_clusters_and_no_others() -> None:
    team = project("shop", "shop-*", labels={"env": "prod"})

    assert refusal(team) == refusal(team, namespace="shop-eu") == ""
    assert refusal(team, namespace="shops") == (
        "project team-b may not deploy to namespace shops of eu"
    )
    assert refusal(team, cluster=DEV) == "project team-b may not deploy to cluster dev"


def test_each_destination_has_namespaces_of_its_own() -> None:
    prod = rollouts.ClusterSelector(match_labels={"env": "prod"})
    team = projects.Project(
        "team-b",
        destinations=(
            projects.Destination(prod, ("shop",)),
            projects.Destination(namespaces=("try-*",)),
        ),
    )

    assert refusal(team, cluster=EU) == refusal(team, namespace="try-1", cluster=DEV) == ""
    assert refusal(team, cluster=DEV) == "project team-b may not deploy to namespace shop of dev"


def test_cluster_scoped_kinds_are_listed_and_denied_ones_win() -> None:
    every = projects.KindPattern("*", "*")
    team = project("shop")
    wide = project("shop", kinds=projects.Kinds(cluster_scoped=(every,)))
    narrow = project(
        "shop", kinds=projects.Kinds((every,), (every,), (projects.KindPattern(kind="Secret"),))
    )

    assert refusal(team, BINDING, namespace="", name="bind") == (
        "project team-b may not deploy ClusterRoleBinding (rbac.authorization.k8s.io)"
    )
    assert refusal(wide, BINDING, namespace="", name="bind") == ""
    assert refusal(narrow, SECRET) == "project team-b may not deploy Secret"
    assert refusal(narrow) == ""


def test_an_empty_group_is_the_core_one_alone() -> None:
    team = project("shop", kinds=projects.Kinds((projects.KindPattern(kind="*"),)))

    assert refusal(team, SECRET) == ""
    assert refusal(team) == "project team-b may not deploy Deployment (apps)"


def test_a_namespace_is_permitted_as_a_kind_and_by_its_own_name() -> None:
    team = project("shop-*", kinds=projects.Kinds(cluster_scoped=(projects.KindPattern(),)))

    assert refusal(team, NAMESPACE, namespace="", name="shop-1") == ""
    assert refusal(team, NAMESPACE, namespace="", name="kube-system") == (
        "project team-b may not deploy to namespace kube-system of eu"
    )
    # Whatever its manifest says beside.
    assert refusal(team, NAMESPACE, namespace="shop-1", name="kube-system") != ""


def test_a_namespaced_object_without_a_namespace_is_refused() -> None:
    assert refusal(project("*"), namespace="") != ""


def test_a_name_has_nothing_below_it() -> None:
    """A glob for paths would take what is below a directory."""
    assert refusal(project("shop"), namespace="shop/../kube-system") != ""


@given(namespace=NAMES, allowed=some.lists(NAMES.filter(bool), max_size=3))
def test_only_what_a_pattern_has_is_permitted(namespace: str, allowed: list[str]) -> None:
    """Whatever is written for it: without wildcards only the name itself."""
    plain = [name for name in allowed if not set(name) & set("*[]\\!./")]

    if refusal(project(*plain), namespace=namespace) == "":
        assert namespace in plain


@given(namespaces=some.lists(some.sampled_from(["a", "b", "a-*", "*"]), max_size=3))
def test_more_destinations_never_refuse_more(namespaces: list[str]) -> None:
    for namespace in ("a", "b", "a-1", "c"):
        narrow = refusal(project(*namespaces), namespace=namespace)
        wide = refusal(project(*namespaces, "c"), namespace=namespace)

        assert not wide or narrow


@given(
    kind=some.sampled_from([DEPLOYMENT, SECRET, BINDING, NAMESPACE]),
    denied=some.sampled_from([("*", "*"), ("", "*"), ("apps", "Deployment"), ("*", "C*")]),
)
def test_what_is_denied_is_refused_whatever_is_allowed(
    kind: restrictions.ObjectKind, denied: tuple[str, str]
) -> None:
    every = (projects.KindPattern("*", "*"),)
    free = project("*", kinds=projects.Kinds(every, every))
    team = project("*", kinds=projects.Kinds(every, every, (projects.KindPattern(*denied),)))
    group, name = denied
    is_denied = group in ("*", kind.group) and name in ("*", kind.kind, f"{kind.kind[0]}*")

    assert refusal(free, kind) == ""
    assert bool(refusal(team, kind)) is is_denied


@pytest.mark.parametrize("written", ["K8S_CANARY_ROLLOUT", "K8S_MULTI_CANARY_ROLLOUT"])
def test_a_stage_is_permitted_by_either_of_its_names(written: str) -> None:
    team = project("shop", stages=(written,))

    assert restrictions.refusal_of_stage(team, catalog.of("K8S_CANARY_ROLLOUT")) == ""
    assert restrictions.refusal_of_stage(team, catalog.of("K8S_PRIMARY_ROLLOUT")) == (
        "project team-b may not have the stage K8S_PRIMARY_ROLLOUT"
    )


def test_what_volary_adds_by_itself_needs_no_permission() -> None:
    assert (
        restrictions.refusal_of_stage(project("shop", stages=()), catalog.of("K8S_ROLLBACK")) == ""
    )


def test_scripts_have_a_rule_of_their_own() -> None:
    script = catalog.of("SCRIPT_RUN")
    listed = project("shop", stages=("SCRIPT_RUN",))
    allowed = project("shop", scripts=projects.ScriptRule.ALLOW)

    assert restrictions.refusal_of_stage(listed, script) == (
        "project team-b may not run scripts (SCRIPT_RUN)"
    )
    assert restrictions.refusal_of_stage(allowed, script) == ""
