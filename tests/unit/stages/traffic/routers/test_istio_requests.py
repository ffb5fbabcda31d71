"""Routes of a VirtualService for some requests, mirrors and cookies: added, and taken out."""

from typing import Any

import pytest

from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import istio

V = variant.Variant
APP = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(method=routing_options.RoutingMethod.ISTIO),
)
MATCHES = (
    traffic.RequestMatch(
        headers={"X-Group": traffic.TextMatch("a", traffic.MatchKind.SUFFIX)},
        query_parameters={"beta": traffic.TextMatch("1")},
    ),
    traffic.RequestMatch(cookies={"team": traffic.TextMatch("w.b")}),
)
STAY = traffic.SessionAffinity("shop", primary_cookie_name="shop-primary")
EVERYTHING = division.Division(
    70, 20, 10, match=MATCHES, mirror=25, affinity=STAY, token="abcdefghij"
)


def to(subset: str, weight: int = 0, host: str = "shop", **more: Any) -> json.JsonObject:
    return {"destination": {"host": host, "subset": subset}, "weight": weight, **more}


def service(*routes: json.JsonObject) -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "VirtualService",
            "metadata": {"name": "shop", "namespace": "web"},
            "spec": {"hosts": ["shop"], "http": list(routes)},
        }
    )


def routes(item: manifest.Manifest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = item.body["spec"]["http"]
    return found


REDIRECT = {"name": "old", "redirect": {"uri": "/new"}}
MAIN = {"name": "main", "route": [to("primary", 100)], "retries": {"attempts": 2}}
BUSY = {
    "match": [{"uri": {"prefix": "/a"}, "headers": {"x-old": {"exact": "1"}}}],
    "route": [
        to("primary", 60, headers={"response": {"add": {"via": "mesh"}}}),
        to("v1", 40, host="reports"),
    ],
}


def test_routes_for_some_requests_stand_before_the_one_they_narrow() -> None:
    change = istio.Istio(APP).routed(service(REDIRECT, MAIN), EVERYTHING)

    found = routes(change.item)
    assert [each.get("name") for each in found] == [
        "old",
        "volary-match-1-main",
        "volary-match-2-main",
        "volary-canary-cookie-main",
        "volary-primary-cookie-main",
        "main",
    ]
    assert found[1]["match"] == [
        {"headers": {"x-group": {"regex": ".*a"}}, "queryParams": {"beta": {"exact": "1"}}}
    ]
    assert found[2]["match"] == [{"headers": {"cookie": {"regex": r"^(.*;\s*)?team=w\.b(;.*)?$"}}}]
    assert found[1]["route"] == [to("canary", 100)]
    assert found[1]["retries"] == MAIN["retries"]
    assert found[5]["mirror"] == {"host": "shop", "subset": "canary"}
    assert found[5]["mirrorPercentage"] == {"value": 25}
    cookies = {
        entry["destination"]["subset"]: entry["headers"]["response"]["add"]["Set-Cookie"]
        for entry in found[5]["route"]
        if "headers" in entry
    }
    assert {name: cookie.partition(";")[0] for name, cookie in cookies.items()} == {
        "canary": "shop=volary-abcdefghij",
        "primary": "shop-primary=volary-abcdefghij",
    }, "who is answered by weight stays where that was"


def test_a_match_of_the_user_still_has_to_fit() -> None:
    change = istio.Istio(APP).routed(service(BUSY), division.Division(match=MATCHES))

    assert routes(change.item)[0]["match"] == [
        {
            "uri": {"prefix": "/a"},
            "headers": {"x-old": {"exact": "1"}, "x-group": {"regex": ".*a"}},
            "queryParams": {"beta": {"exact": "1"}},
        }
    ]


@pytest.mark.parametrize("route", [MAIN, BUSY])
def test_what_was_added_goes_without_a_trace(route: json.JsonObject) -> None:
    before = service(REDIRECT, route)
    added = istio.Istio(APP).routed(before, EVERYTHING).item
    plain = istio.Istio(APP).routed(before, division.PRIMARY).item

    assert istio.Istio(APP).routed(added, division.PRIMARY).item.body == plain.body
    assert istio.Istio(APP).routed(added, EVERYTHING).item.body == added.body
    drained = (
        istio.Istio(APP).drained(istio.Istio(APP).drained(added, V.CANARY).item, V.BASELINE).item
    )
    assert drained.body == plain.body


def test_what_is_read_back() -> None:
    added = istio.Istio(APP).routed(service(REDIRECT, MAIN), EVERYTHING).item

    found = istio.Istio(APP).read(added.body)

    assert [each.is_made for each in found] == [True, True, True, True, False]
    assert found[-1].copies == 25
    assert dict(found[-1].shares) == {V.PRIMARY: 70, V.CANARY: 20, V.BASELINE: 10}


def test_users_are_led_back_when_canary_gets_nothing() -> None:
    back = division.Division(affinity=STAY, token="abcdefghij")

    (cookie, main) = routes(istio.Istio(APP).routed(service(MAIN), back).item)

    assert cookie["match"][0]["headers"]["cookie"]["regex"].endswith(
        "shop=volary-abcdefghij(;.*)?$"
    )
    (entry,) = cookie["route"]
    assert entry["destination"]["subset"] == "primary"
    assert entry["headers"]["response"]["add"]["Set-Cookie"] == (
        "shop=volary-abcdefghij; Max-Age=-1; Path=/"
    )
    assert main == routes(istio.Istio(APP).routed(service(MAIN), division.PRIMARY).item)[0]


def test_a_mirror_of_the_user_is_not_overwritten() -> None:
    mirrored = {**MAIN, "mirror": {"host": "audit"}}

    with pytest.raises(errors.UserError, match="has a mirror of its own"):
        istio.Istio(APP).routed(service(mirrored), division.Division(mirror=100))
    plain = istio.Istio(APP).routed(service(mirrored), division.Division(50, 50)).item
    assert routes(plain)[0]["mirror"] == {"host": "audit"}


@pytest.mark.parametrize(
    ("host", "found"), [("shop", "shop"), ("shop.web.svc.cluster.local", "shop"), ("shop.x", "")]
)
def test_the_service_of_the_host_is_looked_at_where_it_is_here(host: str, found: str) -> None:
    routing = routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.ISTIO, istio=routing_options.IstioRouting(host=host)
    )
    described = applications.Application(name="shop", traffic_routing=routing)

    names = istio.Istio(described).services(service(MAIN).body)

    assert names.get(V.CANARY, "") == found
