"""A project in clusters: as it is now, whatever it was when a client was opened."""

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, SECRETS
from volary.clusters.client import actors, write_rules
from volary.clusters.kubeconfig import connections
from volary.controller import project_actors
from volary.model import errors, projects
from volary.model.fleet import fleets
from volary.tenancy import membership

US = fleets.Cluster("us")
BOOKKEEPING = write_rules.Purpose.BOOKKEEPING


def team(*namespaces: str, **more: object) -> projects.Project:
    return projects.Project(
        "team-a", destinations=(projects.Destination(namespaces=namespaces),), **more
    )


class Known:
    """Which projects there are, changed by a test."""

    def __init__(self, *several: projects.Project) -> None:
        self.change(*several)

    def change(self, *several: projects.Project, unknown: str = "") -> None:
        self.now = membership.Projects({one.name: one for one in several}, unknown)

    def actor(self, name: str = "team-a") -> project_actors.ProjectActor:
        return project_actors.ProjectActor(name, self.__call__)

    def __call__(self) -> membership.Projects:
        return self.now


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (write_rules.Write(DEPLOYMENTS, "shop", "web"), ""),
        (write_rules.Write(DEPLOYMENTS, "other", "web"), "may not deploy to namespace other of us"),
        (write_rules.Write(DEPLOYMENTS, "", "web"), "may not deploy to namespace"),
        (write_rules.Write(CONFIG_MAPS, "shop", "volary-inventory-1"), "may not deploy ConfigMap"),
        (write_rules.Write(CONFIG_MAPS, "shop", "volary-inventory-1", BOOKKEEPING), ""),
        (write_rules.Write(SECRETS, "shop", "volary-snapshot-1", BOOKKEEPING), ""),
        (write_rules.Write(SECRETS, "other", "volary-snapshot-1", BOOKKEEPING), "namespace other"),
        (write_rules.Write(NAMESPACES, "", "shop"), "may not deploy Namespace"),
    ],
)
def test_what_may_be_written(write: write_rules.Write, said: str) -> None:
    """Records of Volary's own are permitted as such only, whatever a manifest is called."""
    kinds = projects.Kinds(denied=(projects.KindPattern("", "*"),))
    refusal = Known(team("shop", kinds=kinds)).actor().refusal(US, write)

    assert said in refusal
    assert bool(said) is bool(refusal)


def test_a_namespace_is_made_where_the_project_may_be_and_may_have_one() -> None:
    kinds = projects.Kinds(cluster_scoped=(projects.KindPattern("", "Namespace"),))
    actor = Known(team("shop-*", kinds=kinds)).actor()

    assert actor.refusal(US, write_rules.Write(NAMESPACES, "", "shop-eu")) == ""
    assert "namespace kube-system" in actor.refusal(
        US, write_rules.Write(NAMESPACES, "", "kube-system")
    )


def test_it_is_asked_as_it_is_now() -> None:
    known, write = Known(team("shop")), write_rules.Write(DEPLOYMENTS, "shop", "web")
    actor = known.actor()
    assert actor.refusal(US, write) == ""

    known.change(team("other"))
    assert "may not deploy to namespace shop" in actor.refusal(US, write)
    known.change()
    assert "there is no project team-a any more" in actor.refusal(US, write)
    known.change(team("shop"), unknown="no answer")
    assert "not known which projects there are: no answer" in actor.refusal(US, write)


def test_the_first_project_ends_what_those_of_none_may_do() -> None:
    known, write = Known(), write_rules.Write(DEPLOYMENTS, "shop", "web")
    nobody = known.actor("default")
    assert nobody.refusal(US, write) == ""
    assert nobody.identity() == actors.Identity()

    known.change(team("shop"))
    assert "belongs to no project" in nobody.refusal(US, write)
    with pytest.raises(errors.UserError, match="belongs to no project"):
        nobody.identity()


def test_whom_clusters_see() -> None:
    who = projects.Impersonation("ana", ("sre",))
    known = Known(team("shop", impersonate=who))
    assert known.actor().identity() == actors.Identity(
        connections.Impersonation("ana", groups=("sre",))
    )
    assert known.actor() == known.actor(), "so that it gets the same clients"

    known.change(team("shop", credentials=projects.ProjectCredentials(("/keys",))))
    assert known.actor().identity() == actors.Identity(kubeconfig=("/keys",))


def test_a_server_writes_nothing_on_its_own_behalf() -> None:
    assert write_rules.refuse_own_writes(write_rules.Write(DEPLOYMENTS, "shop", "web"))
