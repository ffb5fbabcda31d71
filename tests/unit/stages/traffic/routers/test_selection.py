"""Choosing the object that carries the routes, and what every router has alike."""

import pytest

from memory_cluster import KEY, service, split
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic
from volary.stages.traffic import division
from volary.stages.traffic.routers import listed, nginx, registry, selection

Method = routing_options.RoutingMethod


def app(method: Method = Method.SMI) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method),
    )


def made(kind: str, name: str) -> manifest.Manifest:
    return manifest.Manifest(
        {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}},
        errors.Location(f"{name}.yaml"),
    )


A, B, OTHER = made("Route", "a"), made("Route", "b"), made("Other", "a")


def test_a_kind_is_of_its_group() -> None:
    assert selection.of_kind([A, OTHER, B], "example.com", ("Route",)) == [A, B]
    assert selection.of_kind([A, OTHER], "example.com", ("Route", "Other")) == [A, OTHER]
    assert selection.of_kind([A], "", ("Route",)) == []


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [("", "b", B), ("Other", "", OTHER), ("Route", "a", A), ("Other", "a", OTHER)],
)
def test_one_is_named(kind: str, name: str, expected: manifest.Manifest) -> None:
    reference = routing_options.ObjectReference(kind, name)
    assert selection.only([A, B, OTHER], reference, "Route") is expected


def test_without_one_or_with_several_it_is_said_which() -> None:
    everything = routing_options.ObjectReference()
    assert selection.only([A], everything, "Route") is A
    sentence = "2 objects could carry the routes: Route a, Route b"
    with pytest.raises(errors.UserError, match=sentence) as several:
        selection.only([A, B], everything, "Route")
    assert several.value.problems[0].where == B.origin
    with pytest.raises(errors.UserError, match=r"there is no Route among the manifests\n"):
        selection.only([], everything, "Route")
    with pytest.raises(errors.UserError, match="no Route among the manifests named c"):
        selection.only([A], routing_options.ObjectReference(name="c"), "Route")


def test_primarys_service_leads_to_primary_alone() -> None:
    selector = manifest.Manifest(service())
    all_variants = manifest.Manifest(
        {**service(), "spec": {"selector": {"app": "shop"}}}, errors.Location("x")
    )

    selection.check_primary([selector], app(), "shop")
    selection.check_primary([all_variants], app(), "other")
    with pytest.raises(errors.UserError, match="Service shop leads to the pods of every variant"):
        selection.check_primary([all_variants], app(), "shop")
    with pytest.raises(errors.UserError) as failed:
        registry.find([all_variants, manifest.Manifest(split())], app())
    assert f"write `{KEY}: primary`" in failed.value.problems[0].hint
    found = registry.find([selector, manifest.Manifest(split())], app())
    assert found.kind == "TrafficSplit"


@pytest.mark.parametrize("parts", [(90, 0, 0), (110, 0, 0), (110, -10, 0), (100, 10, -10)])
def test_percentages_make_a_hundred(parts: tuple[int, int, int]) -> None:
    router = listed.Smi(app())
    with pytest.raises(errors.UserError, match=f"the weights add up to {sum(parts)}, not 100"):
        router.check(division.Division(*parts))


def test_what_a_router_can_do_is_not_refused() -> None:
    listed.Smi(app()).check(division.Division(80, 15, 5))
    listed.Smi(app()).check(division.Division(0, 100))


@pytest.mark.parametrize(
    "wanted",
    [
        division.Division(mirror=5),
        division.Division(affinity=traffic.SessionAffinity("cookie")),
        division.Division(match=(traffic.RequestMatch(headers={"x": traffic.TextMatch("1")}),)),
    ],
)
def test_every_wish_that_a_router_has_not_is_refused(wanted: division.Division) -> None:
    with pytest.raises(errors.UserError):
        listed.Smi(app()).check(wanted)


def test_objects_without_a_status_are_not_waited_for() -> None:
    assert listed.Smi(app()).waiting({}) == ""


def test_the_canary_ingress_is_applied_as_it_is_in_git() -> None:
    item = made("Ingress", "shop")
    annotations = {"nginx.ingress.kubernetes.io/canary-weight": "30"}
    live = {"metadata": {"annotations": annotations}}
    assert nginx.Nginx(app(Method.NGINX)).held(item, live) is item
