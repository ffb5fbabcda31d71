"""Each manifest gets the resource that serves it and its namespace, or a problem says why not."""

from typing import Any

import pytest

from memory_client import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, MemoryCluster, kind
from volary.clusters.client import resource_mapping
from volary.model import errors
from volary.model.objects import manifest

WIDGETS = kind("example.com", "Widget", "widgets", version="v2")


def made(
    api: str, what: str, name: str = "a", namespace: str = "", **more: Any
) -> manifest.Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return manifest.Manifest({"apiVersion": api, "kind": what, "metadata": metadata, **more})


DEFINITION = made(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    spec={"group": "example.com", "names": {"kind": "Widget"}},
)


async def mapping(
    cluster: MemoryCluster, *manifests: manifest.Manifest, **more: Any
) -> resource_mapping.ResourceMapping:
    return await resource_mapping.map_manifests(cluster.client, manifests, **more)


async def test_namespaces_are_filled_in_where_there_are_any() -> None:
    result = await mapping(
        MemoryCluster(namespace="shop"),
        made("v1", "ConfigMap"),
        made("v1", "ConfigMap", namespace="other"),
        made("v1", "Namespace", "web"),
    )

    assert [(one.item.namespace, one.resource) for one in result.mapped] == [
        ("shop", CONFIG_MAPS),
        ("other", CONFIG_MAPS),
        ("", NAMESPACES),
    ]
    assert [one.is_namespace for one in result.mapped] == [False, False, True]
    assert result.mapped[1].key == result.mapped[1].item.key
    assert (result.later, result.problems) == ((), ())


async def test_a_version_that_is_not_served_names_the_one_that_is() -> None:
    result = await mapping(
        MemoryCluster(resources=[WIDGETS, DEPLOYMENTS]),
        made("example.com/v1", "Widget"),
        made("apps/v1beta1", "Deployment"),
    )

    assert [(problem.message, problem.hint) for problem in result.problems] == [
        ("cluster us does not serve Widget (example.com/v1)", "it serves example.com/v2"),
        ("cluster us does not serve Deployment (apps/v1beta1)", "it serves apps/v1"),
    ]
    core = await mapping(MemoryCluster(), made("v2", "ConfigMap"))
    assert core.problems[0].hint == "it serves v1"


async def test_an_unknown_kind_is_asked_for_once_more() -> None:
    cluster = MemoryCluster()

    def install(asked: str) -> None:
        if asked == "refresh kinds":
            cluster.resources.append(WIDGETS)

    cluster.before = install

    assert len((await mapping(cluster, made("example.com/v2", "Widget"))).mapped) == 1
    assert cluster.asked == ["refresh kinds"]


async def test_without_a_refresh_it_is_a_problem_at_once() -> None:
    cluster = MemoryCluster()
    result = await mapping(cluster, made("example.com/v2", "Widget"), refresh=False)

    assert cluster.asked == []
    assert result.problems[0].message == (
        "cluster us does not know the kind Widget (example.com/v2) of a"
    )
    assert result.problems[0].hint == (
        "install the CustomResourceDefinition that defines it, or add it to the manifests"
    )


async def test_known_kinds_cost_no_refresh() -> None:
    cluster = MemoryCluster()
    await mapping(cluster, made("v1", "ConfigMap"))

    assert cluster.asked == []


async def test_a_kind_of_the_set_itself_comes_later() -> None:
    cluster = MemoryCluster()
    widget = made("example.com/v2", "Widget")
    result = await mapping(cluster, widget, DEFINITION, defining=[widget, DEFINITION])

    assert result.later == (widget,)
    assert [one.item.kind for one in result.mapped] == ["CustomResourceDefinition"]
    assert result.problems == ()
    assert cluster.asked == []


@pytest.mark.parametrize(
    ("item", "where"),
    [
        (made("v1", "ConfigMap", namespace="other"), "ConfigMap a is in namespace other"),
        (made("v1", "Namespace", "other"), "Namespace other is in namespace other"),
        (DEFINITION, "CustomResourceDefinition a belongs to the whole cluster"),
    ],
)
async def test_namespaces_that_may_not_be_used(item: manifest.Manifest, where: str) -> None:
    result = await mapping(MemoryCluster(), item, namespaces=("default", "web"))

    (problem,) = result.problems
    assert problem.message == f"{where}, but on cluster us only default, web may be used"
    assert problem.hint == (
        "change the manifest's namespace, or `namespaces` of the cluster in the fleet"
    )
    assert len(result.mapped) == 1


async def test_namespaces_that_may_be_used() -> None:
    items = (made("v1", "ConfigMap"), made("v1", "Namespace", "web"))

    assert (await mapping(MemoryCluster(), *items, namespaces=("default", "web"))).problems == ()
    assert (await mapping(MemoryCluster(), *items)).problems == ()


async def test_a_kind_that_is_served_is_mapped_also_where_its_definition_is_in_the_set() -> None:
    cluster = MemoryCluster()
    cluster.resources.append(WIDGETS)
    widget = made("example.com/v2", "Widget")

    result = await mapping(cluster, DEFINITION, widget, defining=[DEFINITION, widget])

    assert [placed.item.kind for placed in result.mapped] == ["CustomResourceDefinition", "Widget"]
    assert result.later == ()


async def test_a_kind_of_kubernetes_itself_that_is_not_served() -> None:
    with pytest.raises(errors.PermanentError, match="cluster us does not serve Pods"):
        await resource_mapping.require(MemoryCluster(resources=[WIDGETS]).client, "", "Pod")


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ({"stringData": {"a": "x"}}, {"data": {"a": "eA=="}}),
        (
            {"data": {"a": "eQ==", "b": "eg=="}, "stringData": {"a": "x"}},
            {"data": {"a": "eA==", "b": "eg=="}},
        ),
        ({"stringData": None}, {}),
        ({"stringData": {"a": True}}, {"stringData": {"a": True}}),
    ],
)
async def test_secrets_are_sent_as_they_are_stored(
    written: dict[str, Any], sent: dict[str, Any]
) -> None:
    """Keys applied as ``stringData`` would stay in ``data`` when Git drops them."""
    cluster = MemoryCluster(resources=[kind("", "Secret", "secrets")])

    result = await mapping(cluster, made("v1", "Secret", namespace="shop", **written))

    assert result.mapped[0].item == made("v1", "Secret", namespace="shop", **sent)
