"""Lists: pages of one moment, and resource versions."""

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

CONFIG_MAP = kinds.built_in("", "v1", "ConfigMap")


@pytest.fixture
def cluster() -> registry.Registry:
    found = registry.Registry(FixedClock(), registry.Settings(history=8))
    found.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    for number in range(5):
        found.create(CONFIG_MAP, "a", {"metadata": {"name": f"c{number}"}})
    return found


def _names(page: verbs.Listing) -> list[str]:
    return [each.key[1] for each in page.items]


def test_pages_add_up_to_the_list_of_the_first_moment(cluster: registry.Registry) -> None:
    first = cluster.list(CONFIG_MAP, "a", verbs.Query(limit=2))
    cluster.delete(CONFIG_MAP, "a", "c3")
    cluster.create(CONFIG_MAP, "a", {"metadata": {"name": "c9"}})

    token = first.continue_token
    second = cluster.list(CONFIG_MAP, "a", verbs.Query(limit=2, continue_token=token))
    token = second.continue_token
    third = cluster.list(CONFIG_MAP, "a", verbs.Query(limit=2, continue_token=token))

    assert [_names(each) for each in (first, second, third)] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert {each.revision for each in (first, second, third)} == {first.revision}
    assert (first.remaining, second.remaining, third.remaining) == (3, 1, None)
    assert third.continue_token == ""


def test_a_token_that_is_too_old_is_gone(cluster: registry.Registry) -> None:
    token = cluster.list(CONFIG_MAP, "a", verbs.Query(limit=2)).continue_token
    for number in range(20):
        data = {"data": {"k": str(number)}}
        cluster.patch(CONFIG_MAP, "a", "c0", data, verbs.PatchType.MERGE)

    with pytest.raises(api_errors.StatusError, match="too old to display") as caught:
        cluster.list(CONFIG_MAP, "a", verbs.Query(limit=2, continue_token=token))
    assert caught.value.code == 410


def test_an_exact_version_shows_that_moment(cluster: registry.Registry) -> None:
    version = str(cluster.storage.revision)
    cluster.delete(CONFIG_MAP, "a", "c0")

    exact = cluster.list(CONFIG_MAP, "a", verbs.Query(resource_version=version, match="Exact"))
    newer = cluster.list(
        CONFIG_MAP, "a", verbs.Query(resource_version=version, match="NotOlderThan")
    )

    assert _names(exact)[0] == "c0"
    assert str(exact.revision) == version
    assert _names(newer)[0] == "c1"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (verbs.Query(resource_version="999999"), 504),
        (verbs.Query(resource_version="x"), 400),
        (verbs.Query(match="Exact"), 422),
        (verbs.Query(match="Exact", resource_version="0"), 422),
        (verbs.Query(match="Sometimes", resource_version="1"), 422),
        (verbs.Query(continue_token="garbage"), 400),
        (verbs.Query(continue_token="e30", resource_version="5"), 400),
    ],
)
def test_queries_that_make_no_sense(
    cluster: registry.Registry, query: verbs.Query, code: int
) -> None:
    with pytest.raises(api_errors.StatusError) as caught:
        cluster.list(CONFIG_MAP, "a", query)

    assert caught.value.code == code
