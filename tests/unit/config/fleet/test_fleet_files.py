import pytest

from volary.config.crosscheck import fleet_checks
from volary.config.fleet import fleet_files
from volary.model import applications, errors
from volary.model.fleet import fleets

FLEET = """
apiVersion: volary.dev/v1
kind: Fleet
clusters:
  - name: us
    labels: {env: prod}
    kubeconfig: us.kubeconfig
    context: admin
  - {name: eu, kubeconfig: [../eu.kubeconfig, ~/.kube/config, /etc/kube], suspended: true}
  - {name: here, inCluster: true, namespaces: [shop]}
"""
PIPED = """
apiVersion: pipecd.dev/v1beta1
kind: Piped
spec:
  projectID: shop
  plugins:
    - name: wait
    - name: kubernetes
      deployTargets:
        - {name: dev, config: {kubeconfigpath: dev.kubeconfig}}
        - {name: eu}
    - name: kubernetes_multicluster
      deployTargets:
        - name: us
          labels: {env: prod}
          config: {masterURL: x, kubeConfigPath: us.kubeconfig, kubectlVersion: 1.30.0}
        - {name: eu}
"""


def test_kubeconfigs_are_relative_to_the_fleet_file() -> None:
    found = fleet_files.parse(FLEET, file="fleet.yaml", directory="conf/fleet").require()

    us, eu, here = found.clusters
    assert us == fleets.Cluster(
        "us", {"env": "prod"}, ("conf/fleet/us.kubeconfig",), context="admin"
    )
    assert eu.kubeconfig == ("conf/eu.kubeconfig", "~/.kube/config", "/etc/kube")
    assert eu.suspended
    assert here == fleets.Cluster("here", in_cluster=True, namespaces=("shop",))


def test_deploy_targets_of_a_piped_file_are_a_fleet() -> None:
    found = fleet_files.parse(PIPED, file="piped.yaml", directory="conf").require()

    assert found.clusters == (
        fleets.Cluster(
            "us",
            {"env": "prod"},
            ("conf/us.kubeconfig",),
            plugins=("kubernetes_multicluster",),
        ),
        fleets.Cluster("eu", plugins=("kubernetes_multicluster", "kubernetes")),
        fleets.Cluster("dev", {}, ("conf/dev.kubeconfig",), plugins=("kubernetes",)),
    )


def test_contexts_are_a_fleet() -> None:
    found = fleet_files.from_contexts(["us", " arn:aws:eks:eu:1:cluster/eu"])

    assert [(each.name, each.context) for each in found.clusters] == [
        ("us", "us"),
        ("arn:aws:eks:eu:1:cluster/eu", "arn:aws:eks:eu:1:cluster/eu"),
    ]


@pytest.mark.parametrize("names", [[], [""], ["us", ""], ["us", "us"]])
def test_contexts_must_have_different_names(names: list[str]) -> None:
    with pytest.raises(errors.UserError):
        fleet_files.from_contexts(names)


def test_targets_are_chosen_in_the_order_of_the_fleet() -> None:
    clusters = fleets.Fleet(
        (fleets.Cluster("a", {"x": "1"}), fleets.Cluster("b"), fleets.Cluster("c", {"x": "1"}))
    )

    def names(selector: applications.TargetSelector) -> tuple[str, ...]:
        app = applications.Application("shop", targets=selector)
        return tuple(each.name for each in fleet_checks.selected_clusters(app, clusters))

    assert names(applications.TargetSelector()) == ("a", "b", "c")
    assert names(applications.TargetSelector(names=("c", "a"))) == ("a", "c")
    assert names(applications.TargetSelector(match_labels={"x": "1"})) == ("a", "c")


@pytest.mark.parametrize("beside", ["kubeconfig: us.yaml", "context: us", "inCluster: true"])
def test_a_cluster_with_an_agent_has_no_other_way_to_it(beside: str) -> None:
    head = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters:\n"
    text = f"{head}- name: us\n  agent: true\n  {beside}\n"

    loaded = fleet_files.parse(text, file="fleet.yaml")

    assert [str(problem) for problem in loaded.problems] == [
        "fleet.yaml:5: clusters[0].agent: agent takes no kubeconfig, context or inCluster: it has"
        " the credentials\nhint: keep one way to reach the cluster"
    ]


def test_a_cluster_may_be_reached_through_its_agent() -> None:
    text = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters:\n- {name: us, agent: true}\n"

    assert fleet_files.parse(text, file="fleet.yaml").require().clusters == (
        fleets.Cluster("us", agent=True),
    )
