"""Rules of an HTTPRoute: divided, narrowed for some requests, and as they were in the end."""

from typing import Any

import pytest

from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import gateway_api, gateway_rules

V = variant.Variant
BETA = traffic.RequestMatch(headers={"X-Group": traffic.TextMatch("beta")})
STAY = traffic.SessionAffinity("shop", primary_cookie_name="shop-primary")


def app(*editable: str, **routing: Any) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(
            method=routing_options.RoutingMethod.GATEWAY_API,
            gateway_api=routing_options.GatewayRouting(editable_routes=editable),
            **routing,
        ),
    )


def to(name: str = "shop", **more: Any) -> json.JsonObject:
    return {"name": name, "port": 80, **more}


def route(*rules: json.JsonObject, kind: str = "HTTPRoute") -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "shop", "annotations": {"owner": "web"}},
            "spec": {"parentRefs": [{"name": "web"}], "rules": list(rules)},
        }
    )


def rules(item: manifest.Manifest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = item.body["spec"]["rules"]
    return found


MAIN = {"name": "main", "backendRefs": [to()], "timeouts": {"request": "5s"}}
THEIRS = {"matches": [{"path": {"value": "/x"}}], "backendRefs": [to("reports")]}


def test_weights_are_written_and_the_rest_stays() -> None:
    change = gateway_api.GatewayApi(app()).routed(route(THEIRS, MAIN), division.Division(80, 15, 5))

    theirs, main = rules(change.item)
    assert theirs == THEIRS
    assert main["timeouts"] == MAIN["timeouts"]
    assert main["backendRefs"] == [
        to(weight=80),
        to("shop-canary", weight=15),
        to("shop-baseline", weight=5),
    ]
    assert change.lines == ('HTTPRoute shop, rule "main": primary 80 %, canary 15 %, baseline 5 %',)
    assert gateway_api.GatewayApi(app()).fields(change.item.body) == {
        "spec": {"rules": rules(change.item)}
    }


def test_filters_of_a_backend_are_canarys_too() -> None:
    filters = [{"type": "URLRewrite", "urlRewrite": {"hostname": "shop"}}]

    change = gateway_api.GatewayApi(app()).routed(
        route({"backendRefs": [to(filters=filters)]}), division.Division(50, 50)
    )

    (rule,) = rules(change.item)
    assert [each["filters"] for each in rule["backendRefs"]] == [filters, filters]


@pytest.mark.parametrize(
    ("editable", "changed"), [((), [0, 1]), (("main",), [1]), (("#1",), [0]), (("#2",), [1])]
)
def test_rules_that_may_be_changed(editable: tuple[str, ...], changed: list[int]) -> None:
    first = {"backendRefs": [to()]}

    change = gateway_api.GatewayApi(app(*editable)).routed(
        route(first, MAIN), division.Division(50, 50)
    )

    found = rules(change.item)
    assert [i for i in (0, 1) if len(found[i]["backendRefs"]) == 2] == changed


def test_rules_that_were_added_are_ours_beside_those_that_may_be_changed() -> None:
    router = gateway_api.GatewayApi(app("main"))
    change = router.routed(route({"backendRefs": [to()]}, MAIN), EVERYTHING)

    read = router.read(change.item.body)

    assert [rule.is_made for rule in read] == [False, True, True, True, False]
    assert [rule.is_editable for rule in read] == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (traffic.MatchKind.EXACT, ("Exact", "a.b")),
        (traffic.MatchKind.PREFIX, ("RegularExpression", r"^a\.b.*$")),
        (traffic.MatchKind.SUFFIX, ("RegularExpression", r"^.*a\.b$")),
        (traffic.MatchKind.REGEX, ("RegularExpression", "a.b")),
    ],
)
def test_each_kind_of_match(kind: traffic.MatchKind, expected: tuple[str, str]) -> None:
    match = traffic.RequestMatch(headers={"x": traffic.TextMatch("a.b", kind)})

    change = gateway_api.GatewayApi(app()).routed(route(MAIN), division.Division(match=(match,)))

    (header,) = rules(change.item)[0]["matches"][0]["headers"]
    assert (header["type"], header["value"]) == expected


def test_a_name_that_no_rule_has_is_an_error() -> None:
    with pytest.raises(errors.UserError, match="editableRoutes names other, which HTTPRoute shop"):
        gateway_api.GatewayApi(app("other")).routed(route(MAIN), division.Division(50, 50))


EVERYTHING = division.Division(70, 30, match=(BETA,), mirror=20, affinity=STAY, token="abcdefghij")
FURTHER = [
    {**MAIN, "backendRefs": [to(weight=3), to("reports", weight=2)]},
    {
        "matches": [{"path": {"value": "/a"}}, {"method": "GET"}],
        "filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": to("audit")}}],
        "backendRefs": [
            to(
                weight=1,
                filters=[
                    {
                        "type": "ResponseHeaderModifier",
                        "responseHeaderModifier": {"set": [{"name": "a", "value": "b"}]},
                    }
                ],
            )
        ],
    },
]


@pytest.mark.parametrize("rule", [MAIN, *FURTHER])
def test_what_was_added_goes_without_a_trace(rule: json.JsonObject) -> None:
    before = route(THEIRS, rule)
    added = gateway_api.GatewayApi(app()).routed(before, EVERYTHING).item
    assert len(rules(added)) == 5
    plain = gateway_api.GatewayApi(app()).routed(before, division.PRIMARY).item

    assert gateway_api.GatewayApi(app()).routed(added, division.PRIMARY).item.body == plain.body
    assert gateway_api.GatewayApi(app()).drained(added, V.CANARY).item.body == plain.body
    assert gateway_api.GatewayApi(app()).routed(added, EVERYTHING).item.body == added.body


def test_added_rules_are_known_however_the_server_completes_them() -> None:
    added = gateway_api.GatewayApi(app()).routed(route(MAIN), EVERYTHING).item
    completed = [
        {
            **rule,
            "matches": [
                {
                    **match,
                    "path": {"type": "PathPrefix", "value": "/"},
                    "headers": [{"type": "Exact", **each} for each in match.get("headers", [])],
                }
                for match in rule.get("matches", [{}])
            ],
        }
        for rule in rules(added)
    ]
    body = {**added.body, "spec": {**added.body["spec"], "rules": completed}}

    assert [each.is_made for each in gateway_api.GatewayApi(app()).read(body)] == [
        True,
        True,
        True,
        False,
    ]


def test_what_is_read_back() -> None:
    added = gateway_api.GatewayApi(app()).routed(route(THEIRS, MAIN), EVERYTHING).item

    found = gateway_api.GatewayApi(app()).read(added.body)

    assert [dict(each.shares) for each in found] == [
        {},
        {V.CANARY: 100},
        {V.CANARY: 100},
        {V.PRIMARY: 100},
        {V.PRIMARY: 70, V.CANARY: 30},
    ]
    assert [each.is_editable for each in found] == [False, True, True, True, True]
    assert found[-1].copies == 20


def test_a_rule_that_may_not_be_changed_keeps_its_canary_from_going() -> None:
    body = route({"name": "fixed", "backendRefs": [to("shop-canary")]}, MAIN)

    with pytest.raises(errors.UserError, match='"fixed" still sends traffic to canary'):
        gateway_api.GatewayApi(app("main")).drained(body, V.CANARY)


def test_users_rules_for_canary_become_primarys() -> None:
    preview = {"name": "preview", "backendRefs": [to("shop-canary")]}

    change = gateway_api.GatewayApi(app()).drained(route(preview, MAIN), V.CANARY)

    assert rules(change.item)[0]["backendRefs"] == [to(weight=100)]
    assert change.lines == ('HTTPRoute shop, rule "preview": 100 % moved from canary to primary',)


def test_baseline_goes_alone() -> None:
    added = (
        gateway_api.GatewayApi(app())
        .routed(route(MAIN), division.Division(80, 10, 10, match=(BETA,)))
        .item
    )

    change = gateway_api.GatewayApi(app()).drained(added, V.BASELINE)

    assert [each["weight"] for each in rules(change.item)[1]["backendRefs"]] == [90, 10]
    assert gateway_api.GatewayApi(app()).read(change.item.body)[0].is_made


def test_a_rule_that_looks_at_the_header_itself_cannot_be_narrowed() -> None:
    rule = {"matches": [{"headers": [{"name": "x-group", "value": "a"}]}], "backendRefs": [to()]}

    with pytest.raises(errors.UserError, match="looks at X-Group itself"):
        gateway_api.GatewayApi(app()).routed(route(rule), division.Division(match=(BETA,)))


def test_a_route_has_at_most_sixteen_rules() -> None:
    many = [{**MAIN, "name": f"r{i}"} for i in range(9)]

    with pytest.raises(errors.UserError, match="would have 18 rules, 16 are possible"):
        gateway_api.GatewayApi(app()).routed(route(*many), division.Division(match=(BETA,)))


def test_a_grpc_rule_gets_no_path() -> None:
    rule = {"matches": [{"method": {"service": "shop.Orders"}}], "backendRefs": [to()]}

    change = gateway_api.GatewayApi(app()).routed(
        route(rule, kind="GRPCRoute"), division.Division(match=(BETA,))
    )

    assert rules(change.item)[0]["matches"] == [
        {
            "method": {"service": "shop.Orders"},
            "headers": [{"name": "X-Group", "type": "Exact", "value": "beta"}],
        }
    ]


def test_backends_of_another_kind_are_not_ours() -> None:
    strange = {"name": "shop", "kind": "ServiceImport", "group": "multicluster.x-k8s.io"}

    with pytest.raises(errors.UserError, match="no rule with a backend shop"):
        gateway_api.GatewayApi(app()).routed(
            route({"backendRefs": [strange]}), division.Division(50, 50)
        )


def test_which_route_is_the_applications() -> None:
    other = route({"backendRefs": [to("other")]})
    assert gateway_api.GatewayApi(app()).find([other, route(MAIN)]).body == route(MAIN).body
    with pytest.raises(errors.UserError, match="there is no HTTPRoute or GRPCRoute with a backend"):
        gateway_api.GatewayApi(app()).find([other])
    with pytest.raises(errors.UserError, match="2 objects could carry the routes"):
        gateway_api.GatewayApi(app()).find([route(MAIN), route(MAIN, kind="GRPCRoute")])


def test_a_cookie_of_the_users_own_is_not_overwritten() -> None:
    filters = [
        {
            "type": "ResponseHeaderModifier",
            "responseHeaderModifier": {"add": [{"name": "set-cookie", "value": "a=b"}]},
        }
    ]
    with pytest.raises(errors.UserError, match="sets a cookie by a filter of its own"):
        gateway_api.GatewayApi(app()).routed(
            route({"backendRefs": [to(filters=filters)]}), EVERYTHING
        )


def test_digests_tell_rules_apart_by_their_matches_only() -> None:
    one = {"matches": [{"path": {"value": "/a"}}], "backendRefs": [to()]}
    assert gateway_rules.digest(one) == gateway_rules.digest({**one, "backendRefs": []})
    assert gateway_rules.digest(one) != gateway_rules.digest({"matches": [{}]})


@pytest.mark.parametrize(("more", "copies"), [({}, 100), ({"percent": 5}, 5)])
def test_a_mirror_without_a_percentage_copies_every_request(
    more: dict[str, int], copies: int
) -> None:
    mirror = {"backendRef": to("shop-canary"), **more}
    rule = {**MAIN, "filters": [{"type": "RequestMirror", "requestMirror": mirror}]}
    router = gateway_api.GatewayApi(app())

    assert [found.copies for found in router.read(route(rule, MAIN).body)] == [copies, 0]
