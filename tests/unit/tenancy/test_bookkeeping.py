"""Volary's own records of a project's application: anywhere that it may have objects."""

import pytest

from volary.model import projects
from volary.model.fleet import fleets
from volary.tenancy import restrictions

US = fleets.Cluster("us")
#: It may have Deployments, and neither ConfigMaps nor Secrets.
TEAM = projects.Project(
    "team-a",
    destinations=(projects.Destination(namespaces=("a-*", "shop")),),
    kinds=projects.Kinds(namespaced=(projects.KindPattern("apps", "Deployment"),)),
)


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "said"),
    [
        ("ConfigMap", "a-1", "volary-inventory-shop-1", ""),
        ("Secret", "shop", "volary-snapshot-shop-1-2", ""),
        ("Secret", "b", "volary-snapshot-shop-1", "may not deploy to namespace b of us"),
        ("ConfigMap", "a-1", "settings", "no record of Volary"),
        ("Secret", "a-1", "volary-inventory-shop-1", "no record of Volary"),
        ("Deployment", "a-1", "volary-inventory-shop-1", "no record of Volary"),
    ],
)
def test_records(kind: str, namespace: str, name: str, said: str) -> None:
    refusal = restrictions.refusal_of_bookkeeping(TEAM, US, kind, namespace=namespace, name=name)

    assert said in refusal
    assert bool(said) is bool(refusal)


def test_a_namespace_without_a_name_is_not_permitted() -> None:
    """Nobody knows what it would be called."""
    namespace = restrictions.ObjectKind("", "Namespace", is_namespaced=False)
    everything = projects.Kinds(cluster_scoped=(projects.KindPattern("*", "*"),))
    team = projects.Project("t", destinations=TEAM.destinations, kinds=everything)

    assert restrictions.refusal_of_object(team, US, namespace, name="a-1") == ""
    assert "may not" in restrictions.refusal_of_object(team, US, namespace)


def test_named_namespaces_are_those_without_patterns() -> None:
    assert restrictions.named_namespaces(TEAM) == ("shop",)
