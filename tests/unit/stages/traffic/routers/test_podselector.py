"""A selector sends everything to one variant; each thing that can be wrong has its error."""

import pytest

from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import podselector

KEY = "pipecd.dev/variant"
APP = applications.Application(name="shop")


def service(selector: dict[str, str] | None, name: str = "shop") -> manifest.Manifest:
    spec: dict[str, object] = {"ports": [{"port": 80}]}
    if selector is not None:
        spec["selector"] = selector
    return manifest.Manifest(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    )


PRIMARY = service({"app": "shop", KEY: "primary"})


@pytest.mark.parametrize(
    ("manifests", "message"),
    [
        ([], "there is no Service"),
        ([PRIMARY, service({KEY: "primary"}, "other")], "2 objects could carry the routes"),
        ([service(None)], "has no selector"),
        ([service({"app": "shop"})], f"lacks {KEY}"),
        ([service({KEY: "canary"})], f"says {KEY}: canary instead of primary"),
    ],
)
def test_each_way_of_not_finding_the_service(
    manifests: list[manifest.Manifest], message: str
) -> None:
    with pytest.raises(errors.UserError, match=message) as caught:
        podselector.PodSelector(APP).find(manifests)

    assert caught.value.problems[0].hint


def test_the_named_service_is_taken_among_several() -> None:
    app = applications.Application(name="x", service=routing_options.ObjectReference(name="shop"))

    assert podselector.PodSelector(app).find([service({}, "other"), PRIMARY]) == PRIMARY


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (division.Division(80, canary=10, baseline=10), "cannot send traffic to baseline"),
        (division.Division(80, canary=20), "all traffic to either primary or canary"),
        (division.Division(100, canary=100), "all traffic to either primary or canary"),
        (division.Division(0), "all traffic to either primary or canary"),
    ],
)
def test_divisions_that_a_selector_cannot_make(options: division.Division, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        podselector.PodSelector(APP).check(options)


def test_the_selector_is_moved_and_read_back() -> None:
    change = podselector.PodSelector(APP).routed(PRIMARY, division.Division(0, canary=100))
    (route,) = podselector.PodSelector(APP).read(change.item.body)

    assert change.item.body["spec"]["selector"] == {"app": "shop", KEY: "canary"}
    assert route.shares == {variant.Variant.CANARY: 100}
    assert PRIMARY.body["spec"]["selector"][KEY] == "primary"


def test_draining_gives_everything_back_to_primary() -> None:
    live = service({"app": "shop", KEY: "canary"})

    change = podselector.PodSelector(APP).drained(live, variant.Variant.CANARY)

    assert change.item.body["spec"]["selector"][KEY] == "primary"
    assert change.lines
    assert podselector.PodSelector(APP).drained(PRIMARY, variant.Variant.CANARY).lines == ()


def test_the_live_variant_is_held_and_the_rest_comes_from_git() -> None:
    git = service({"app": "renamed", KEY: "primary"})
    live = service({"app": "shop", KEY: "canary"})

    held = podselector.PodSelector(APP).held(git, live.body)

    assert held.body["spec"]["selector"] == {"app": "renamed", KEY: "canary"}
