"""A guard answers by the project as it is when it is asked."""

from volary.model import projects
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import catalog
from volary.tenancy import guards, membership, restrictions

EU = fleets.Cluster("eu")
SYNC = catalog.of("K8S_SYNC")
SECRET = restrictions.ObjectKind("", "Secret", is_namespaced=True)
TEAM = projects.Project("team-a", destinations=(projects.Destination(namespaces=("shop",)),))


def test_without_projects_nothing_is_refused() -> None:
    guard = guards.PERMITS_EVERYTHING

    assert guard.permits_everything
    assert guard.refusal_of_cluster() == guard.refusal_of_stage(SYNC) == ""
    assert guard.refusal_of_object(SECRET, namespace="kube-system", name="x") == ""


def test_a_project_that_changes_counts_at_once() -> None:
    now = [membership.Standing(TEAM)]
    guard = guards.Guard(lambda: now[0], EU)

    assert not guard.permits_everything
    assert guard.refusal_of_stage(SYNC) == ""
    assert guard.refusal_of_object(SECRET, namespace="shop", name="x") == ""
    now[0] = membership.Standing(projects.Project("team-a"))
    assert guard.refusal_of_stage(SYNC) == "project team-a may not deploy to cluster eu"
    assert guard.refusal_of_object(SECRET, namespace="shop", name="x") != ""
    now[0] = membership.Standing(reason="there is no project team-a any more")
    assert not guard.permits_everything
    assert guard.refusal_of_cluster() == guard.refusal_of_stage(SYNC) == now[0].reason
    assert guard.refusal_of_object(SECRET, namespace="shop", name="x") == now[0].reason


def test_a_stage_is_asked_for_once_the_cluster_is_permitted() -> None:
    narrow = projects.Project("team-a", destinations=TEAM.destinations, stages=())
    guard = guards.Guard(lambda: membership.Standing(narrow), EU)

    assert guard.refusal_of_stage(SYNC) == "project team-a may not have the stage K8S_SYNC"
