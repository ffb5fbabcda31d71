"""Rules of every router are read alike."""

from typing import Any

import pytest

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.dataplane.routes import lookup, matching, route_rules

Shares = dict[str, float]


class Held:
    """A view of a few objects of any group."""

    def __init__(self, *held: json.JsonObject) -> None:
        self._held = (service("shop"), *held)

    def get(self, kind: str, namespace: str, name: str) -> json.JsonObject | None:
        found = [
            each
            for each in self.list(kind, namespace)
            if (objects.namespace(each), objects.name(each)) == (namespace, name)
        ]
        return found[0] if found else None

    def list(self, kind: str, namespace: str = "") -> list[json.JsonObject]:
        plain = kind.partition(".")[0]
        return [
            each
            for each in self._held
            if each["kind"] == plain and namespace in ("", objects.namespace(each))
        ]

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"routes do not ask for {name}")


def service(name: str) -> json.JsonObject:
    return made("Service", name, {"ports": [{"port": 80}]})


def made(kind: str, name: str, spec: object, **annotations: str) -> json.JsonObject:
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"kind": kind, "metadata": metadata, "spec": spec}


def shares(view: Held, host: str, target: str = "/", **headers: str) -> Shares:
    """Where a request goes, by Service and subset."""
    routes = lookup.find(view, host, "default")
    if routes is None:
        return {}
    given = [(name.replace("_", "-"), value) for name, value in headers.items()]
    rule = matching.choose(routes, "GET", target, given)
    if rule is None:
        return {"nothing": 1.0}
    total = sum(each.weight for each in rule.backends)
    return {
        ".".join(filter(None, (each.service, each.subset_name))): each.weight / total
        for each in rule.backends
        if each.weight
    }


def test_a_service_answers_for_its_names_and_nothing_else() -> None:
    for host in ("shop", "shop.default", "shop.default.svc", "shop.default.svc.cluster.local"):
        assert shares(Held(), host) == {"shop": 1.0}
    for host in ("shop.other", "shop.example.com", "moon", ""):
        assert shares(Held(), host) == {}


def virtual_service(*http: json.JsonObject, hosts: tuple[str, ...] = ("shop",)) -> json.JsonObject:
    return made("VirtualService", "shop", {"hosts": list(hosts), "http": list(http)})


def to(subset: str, weight: int | None = None, **more: object) -> json.JsonObject:
    return {"destination": {"host": "shop", "subset": subset}, "weight": weight, **more}


def test_istio_divides_by_weight_and_by_match() -> None:
    rule = made(
        "DestinationRule",
        "shop",
        {"host": "shop", "subsets": [{"name": "canary", "labels": {"v": "c"}}]},
    )
    view = Held(
        rule,
        virtual_service(
            {"match": [{"headers": {"x-beta": {"exact": "yes"}}}], "route": [to("canary")]},
            {"match": [{"uri": {"prefix": "/old"}}], "route": [to("primary", 100)]},
            {"route": [to("primary", 80), to("canary", 20)]},
        ),
    )

    assert shares(view, "shop", x_beta="yes") == {"shop.canary": 1.0}
    assert shares(view, "shop", "/older") == {"shop.primary": 1.0}
    assert shares(view, "shop.default.svc") == {"shop.primary": 0.8, "shop.canary": 0.2}
    routes = lookup.find(view, "shop", "default")
    assert routes is not None
    assert [each.subset for each in routes.rules[2].backends] == [None, {"v": "c"}]


def test_istio_may_name_other_hosts_mirror_and_set_cookies() -> None:
    headers = {"response": {"add": {"Set-Cookie": "v=canary"}}}
    view = Held(
        virtual_service(
            {
                "route": [to("primary", headers=headers)],
                "mirror": {"host": "shop", "subset": "canary"},
                "mirrorPercentage": {"value": 25},
            },
            hosts=("shop.example.com", "*.test"),
        )
    )

    assert shares(view, "a.test") == shares(view, "shop.example.com") == {"shop.primary": 1.0}
    assert shares(view, "shop") == {"shop": 1.0}
    routes = lookup.find(view, "shop.example.com", "default")
    assert routes is not None
    (rule,) = routes.rules
    assert rule.mirror is not None
    assert (rule.mirror.subset_name, rule.mirror_share) == ("canary", 0.25)
    assert rule.backends[0].response_headers == (("Set-Cookie", "v=canary"),)


def http_route(*rules: json.JsonObject, **spec: object) -> json.JsonObject:
    return made("HTTPRoute", "shop", {"parentRefs": [{"name": "web"}], **spec, "rules": rules})


def backend(name: str, weight: int | None = None, **more: object) -> json.JsonObject:
    return {"name": name, "port": 80, "weight": weight, **more}


def test_the_most_specific_rule_of_http_routes_holds() -> None:
    everything = {"path": {"type": "PathPrefix", "value": "/"}}
    header = {**everything, "headers": [{"name": "X-Beta", "value": "yes"}]}
    cookie = {"headers": [{"name": "cookie", "type": "RegularExpression", "value": ".*beta=1.*"}]}
    view = Held(
        http_route(
            {"backendRefs": [backend("shop-primary", 90), backend("shop-canary", 10)]},
            {"matches": [header, cookie], "backendRefs": [backend("shop-canary")]},
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/a"}}],
                "backendRefs": [backend("a")],
            },
            {
                "matches": [{"path": {"type": "Exact", "value": "/a/b"}}],
                "backendRefs": [backend("b")],
            },
            hostnames=["shop.example"],
        )
    )

    host = "shop.example"
    assert shares(view, host) == pytest.approx({"shop-primary": 0.9, "shop-canary": 0.1})
    assert shares(view, host, x_beta="yes") == {"shop-canary": 1.0}
    assert shares(view, host, cookie="x=y; beta=1") == {"shop-canary": 1.0}
    assert shares(view, host, "/a/c") == {"a": 1.0}
    assert shares(view, host, "/a/b") == {"b": 1.0}
    assert shares(view, host, "/ab") == pytest.approx({"shop-primary": 0.9, "shop-canary": 0.1})
    assert shares(view, "shop") == {"shop": 1.0}


def test_http_routes_attach_to_services_as_meshes_have_it() -> None:
    route = http_route(
        {"backendRefs": [backend("shop-canary"), backend("shop", 0)]},
        parentRefs=[{"group": "", "kind": "Service", "name": "shop"}],
    )

    assert shares(Held(route), "shop") == {"shop-canary": 1.0}
    assert shares(Held(route), "other.example") == {}


@pytest.mark.parametrize(("first", "second"), [("900m", "100m"), (90, 10), ("90", "10")])
def test_traffic_splits_of_every_version(first: object, second: object) -> None:
    split = made(
        "TrafficSplit",
        "shop",
        {
            "service": "shop",
            "backends": [
                {"service": "shop-primary", "weight": first},
                {"service": "shop-canary", "weight": second},
            ],
        },
    )

    assert shares(Held(split), "shop") == pytest.approx({"shop-primary": 0.9, "shop-canary": 0.1})


def ingress(name: str, service: str, **annotations: str) -> json.JsonObject:
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": service, "port": {"number": 80}}},
    }
    named = {f"nginx.ingress.kubernetes.io/{key}": each for key, each in annotations.items()}
    spec = {"rules": [{"host": "shop.example", "http": {"paths": [path]}}]}
    return made("Ingress", name, spec, **named)


def test_an_ingress_and_its_canary() -> None:
    canary = {
        "canary": "true",
        "canary-weight": "20",
        "canary-by-header": "X-Beta",
        "canary-by-cookie": "beta",
    }
    view = Held(ingress("shop", "shop-primary"), ingress("shop-c", "shop-canary", **canary))

    host = "shop.example"
    assert shares(view, host) == pytest.approx({"shop-primary": 0.8, "shop-canary": 0.2})
    assert shares(view, host, x_beta="always") == {"shop-canary": 1.0}
    assert shares(view, host, x_beta="never", cookie="beta=always") == {"shop-primary": 1.0}
    assert shares(view, host, cookie="a=b; beta=always") == {"shop-canary": 1.0}
    assert shares(view, "other.example") == {}


def test_a_weighted_traefik_service() -> None:
    weighted = {
        "services": [
            {"name": "shop-primary", "port": 80, "weight": 3},
            {"name": "shop-canary", "port": 80, "weight": 1},
        ]
    }
    split = made("TraefikService", "split", {"weighted": weighted})
    route = made(
        "IngressRoute",
        "shop",
        {
            "routes": [
                {
                    "match": "Host(`shop.example`) && PathPrefix(`/`)",
                    "services": [{"kind": "TraefikService", "name": "split"}],
                }
            ]
        },
    )

    expected = pytest.approx({"shop-primary": 0.75, "shop-canary": 0.25})
    assert shares(Held(split, route), "shop.example") == expected
    assert shares(Held(split), "split") == expected


def test_a_draw_meets_each_share_and_no_weight_none() -> None:
    rule = route_rules.Rule((route_rules.Backend("a", "x", 1), route_rules.Backend("b", "x", 3)))

    drawn = [matching.draw(rule, each / 100) for each in range(100)]

    assert [each.service for each in drawn if each].count("a") == 25
    assert matching.draw(route_rules.Rule((route_rules.Backend("a", "x", 0),)), 0.5) is None
