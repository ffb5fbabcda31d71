"""Routers whose objects are lists of Services (SMI, Traefik), and the canary Ingress of NGINX."""

from typing import Any

import pytest

from volary.manifests.routes import ingresses
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import listed, nginx, router

V = variant.Variant
Method = routing_options.RoutingMethod
PREFIX = "nginx.ingress.kubernetes.io"


def app(method: Method, **routing: Any) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method, **routing),
    )


def split(*backends: json.JsonObject, version: str = "v1alpha2") -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": f"split.smi-spec.io/{version}",
            "kind": "TrafficSplit",
            "metadata": {"name": "shop"},
            "spec": {"service": "shop", "matches": [{"name": "m"}], "backends": list(backends)},
        }
    )


def traefik_service(*services: json.JsonObject, group: str = "traefik.io") -> manifest.Manifest:
    weighted = {"services": list(services), "sticky": {"cookie": {"name": "s"}}}
    return manifest.Manifest(
        {
            "apiVersion": f"{group}/v1alpha1",
            "kind": "TraefikService",
            "metadata": {"name": "shop"},
            "spec": {"weighted": weighted},
        }
    )


def test_a_split_keeps_what_else_it_says() -> None:
    body = split({"service": "shop", "weight": 100})

    change = listed.Smi(app(Method.SMI)).routed(body, division.Division(90, 10))

    assert change.item.body["spec"] == {
        "service": "shop",
        "matches": [{"name": "m"}],
        "backends": [{"service": "shop", "weight": 90}, {"service": "shop-canary", "weight": 10}],
    }
    assert change.lines == ("TrafficSplit shop: primary 90 %, canary 10 %",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["1"], ["90", "10"]),
        (["500m", "500m"], ["450m", "50m", "500m"]),
        ([1, "1"], ["900m", "100m", "1"]),
    ],
)
def test_the_oldest_version_has_quantities(before: list[Any], after: list[str]) -> None:
    names = ["shop", "other"]
    entries = [
        {"service": name, "weight": weight} for name, weight in zip(names, before, strict=False)
    ]
    body = split(*entries, version="v1alpha1")
    described = app(Method.SMI)

    change = listed.Smi(described).routed(body, division.Division(90, 10))

    found = change.item.body["spec"]["backends"]
    shares = listed.Smi(described).read(change.item.body)[0].shares
    assert shares == {V.PRIMARY: 90, V.CANARY: 10}
    assert all(isinstance(each["weight"], str) for each in found if each["service"] != "other")
    assert [each["weight"] for each in found] == after


def test_traefiks_entries_are_like_primarys_and_stickiness_stays() -> None:
    body = traefik_service(
        {"name": "shop", "port": 80, "scheme": "h2c"},
        {"name": "api@internal", "kind": "TraefikService"},
    )

    change = listed.Traefik(app(Method.TRAEFIK)).routed(body, division.Division(80, 10, 10))

    weighted = change.item.body["spec"]["weighted"]
    assert weighted["sticky"] == {"cookie": {"name": "s"}}
    assert weighted["services"] == [
        {"name": "shop", "port": 80, "scheme": "h2c", "weight": 80},
        {"name": "shop-canary", "port": 80, "scheme": "h2c", "weight": 10},
        {"name": "shop-baseline", "port": 80, "scheme": "h2c", "weight": 10},
        {"name": "api@internal", "kind": "TraefikService", "weight": 100},
    ]


def test_the_group_of_older_versions_is_read() -> None:
    body = traefik_service({"name": "shop", "port": 80}, group="traefik.containo.us")

    assert listed.Traefik(app(Method.TRAEFIK)).find([body]) is body


@pytest.mark.parametrize(
    ("kind", "body", "method"),
    [
        (
            listed.Smi,
            split({"service": "shop", "weight": 70}, {"service": "shop-canary", "weight": 30}),
            Method.SMI,
        ),
        (
            listed.Traefik,
            traefik_service({"name": "shop", "weight": 70}, {"name": "shop-canary", "weight": 30}),
            Method.TRAEFIK,
        ),
    ],
    ids=["smi", "traefik"],
)
def test_a_variant_leaves_to_primary(
    kind: type[router.Router], body: manifest.Manifest, method: Method
) -> None:
    chosen = kind(app(method))

    change = chosen.drained(body, V.CANARY)

    assert weights.observed(chosen.read(change.item.body)).shares == {V.PRIMARY: 100}
    assert chosen.drained(change.item, V.CANARY).lines == ()
    held = chosen.held(change.item, body.body)
    assert chosen.fields(held.body) == chosen.fields(body.body)


def ingress(*paths: tuple[str, str], **annotations: str) -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "shop", "annotations": {"a": "b", **annotations}},
            "spec": {
                "ingressClassName": "nginx",
                "tls": [{"hosts": ["shop.example"]}],
                "rules": [
                    {
                        "host": "shop.example",
                        "http": {
                            "paths": [
                                {
                                    "path": path,
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": name, "port": {"number": 80}}},
                                }
                                for path, name in paths
                            ]
                        },
                    }
                ],
            },
        }
    )


def test_the_canary_ingress_has_our_paths_only_and_no_weight() -> None:
    described = app(Method.NGINX)

    found = ingresses.canary(ingress(("/", "shop"), ("/r", "reports")), described)

    assert found.name == "shop-canary"
    assert found.annotations == {f"{PREFIX}/canary": "true"}
    assert "tls" not in found.body["spec"]
    (path,) = list(ingresses.paths(found.body))
    assert (path["path"], path["backend"]["service"]["name"]) == ("/", "shop-canary")
    assert nginx.Nginx(described).read(found.body)[0].shares == {V.PRIMARY: 100}


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (
            traffic.RequestMatch(headers={"x": traffic.TextMatch("1")}),
            {"canary-by-header": "x", "canary-by-header-value": "1"},
        ),
        (
            traffic.RequestMatch(headers={"x": traffic.TextMatch("a.", traffic.MatchKind.PREFIX)}),
            {"canary-by-header": "x", "canary-by-header-pattern": r"^a\."},
        ),
        (
            traffic.RequestMatch(headers={"x": traffic.TextMatch("z", traffic.MatchKind.SUFFIX)}),
            {"canary-by-header": "x", "canary-by-header-pattern": "z$"},
        ),
        (
            traffic.RequestMatch(headers={"x": traffic.TextMatch("^b+", traffic.MatchKind.REGEX)}),
            {"canary-by-header": "x", "canary-by-header-pattern": "^b+"},
        ),
        (
            traffic.RequestMatch(cookies={"c": traffic.TextMatch("always")}),
            {"canary-by-cookie": "c"},
        ),
    ],
)
def test_annotations_for_some_requests_come_and_go(
    match: traffic.RequestMatch, said: dict[str, str]
) -> None:
    described = app(Method.NGINX)
    plain = nginx.Nginx(described).find([ingress(("/", "shop"))])

    added = nginx.Nginx(described).routed(plain, division.Division(match=(match,))).item

    expected = {"canary-weight": "0", **said}
    assert nginx.Nginx(described).fields(added.body) == {
        "metadata": {"annotations": {f"{PREFIX}/{key}": value for key, value in expected.items()}}
    }
    assert weights.observed(nginx.Nginx(described).read(added.body)).is_matched
    drained = nginx.Nginx(described).drained(added, V.CANARY).item
    assert nginx.Nginx(described).fields(drained.body) == {
        "metadata": {"annotations": {f"{PREFIX}/canary-weight": "0"}}
    }


@pytest.mark.parametrize(
    ("weight", "total", "share"), [("10", "", 10), ("1", "4", 25), ("x", "", 0), ("200", "", 100)]
)
def test_weights_as_people_write_them(weight: str, total: str, share: int) -> None:
    described = app(Method.NGINX)
    body = ingress(
        ("/", "shop-canary"),
        **{f"{PREFIX}/canary": "true", f"{PREFIX}/canary-weight": weight},
        **({f"{PREFIX}/canary-weight-total": total} if total else {}),
    ).body

    assert nginx.Nginx(described).read(body)[0].shares.get(V.CANARY, 0) == share


def test_several_ingresses_need_a_name() -> None:
    one, other = ingress(("/", "shop")), ingress(("/b", "shop"))
    renamed = other.with_body({**other.body, "metadata": {"name": "b"}})

    with pytest.raises(errors.UserError, match="2 Ingresses lead to the application"):
        nginx.Nginx(app(Method.NGINX)).find([one, renamed])
    named = routing_options.NginxRouting(ingress=routing_options.Ingress(name="b"))
    found = nginx.Nginx(app(Method.NGINX, nginx=named)).find([one, renamed])
    assert found.name == "b-canary"


def test_what_routers_cannot_do_is_refused_where_they_are_asked() -> None:
    with pytest.raises(errors.UserError) as raised:
        nginx.Nginx(app(Method.NGINX)).check(division.Division(80, 10, 10, mirror=5))
    assert len(raised.value.problems) == 2
    match = traffic.RequestMatch(headers={"a": traffic.TextMatch("b")})
    with pytest.raises(errors.UserError, match="smi cannot choose requests by headers"):
        listed.Smi(app(Method.SMI)).check(division.Division(match=(match,)))
    with pytest.raises(errors.UserError, match="add up to 90"):
        listed.Traefik(app(Method.TRAEFIK)).check(division.Division(90))


def test_another_prefix_of_annotations_is_the_only_one_that_is_written() -> None:
    own = routing_options.NginxRouting(annotation_prefix="nginx.corp.example")
    described = app(Method.NGINX, nginx=own)
    plain = nginx.Nginx(described).find([ingress(("/", "shop"))])

    found = nginx.Nginx(described).routed(plain, division.Division(75, 25)).item

    written = [each for each in found.annotations if "/canary" in each]
    assert sorted(written) == ["nginx.corp.example/canary", "nginx.corp.example/canary-weight"]
    assert nginx.Nginx(described).read(found.body)[0].shares == {V.PRIMARY: 75, V.CANARY: 25}
    assert nginx.Nginx(app(Method.NGINX)).read(found.body)[0].shares == {V.PRIMARY: 100}


def test_who_else_leaves_takes_nothing_from_canary() -> None:
    described = app(Method.NGINX)
    plain = nginx.Nginx(described).find([ingress(("/", "shop"))])
    divided = nginx.Nginx(described).routed(plain, division.Division(80, 20)).item

    change = nginx.Nginx(described).drained(divided, V.BASELINE)

    assert change == weights.Change(divided, ())
    drained = nginx.Nginx(described).drained(divided, V.CANARY).item
    assert nginx.Nginx(described).read(drained.body)[0].shares == {V.PRIMARY: 100}
