"""Weights in a VirtualService; the table is the one PipeCD's users know."""

import pytest

from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import istio, registry

Route = json.JsonObject


def app(*editable: str, label: variant.VariantLabel | None = None) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        variant_label=label or variant.VariantLabel(),
        traffic_routing=routing_options.TrafficRouting(
            method=routing_options.RoutingMethod.ISTIO,
            istio=routing_options.IstioRouting(editable_routes=editable, host="shop"),
        ),
    )


def to(subset: str, weight: int, host: str = "shop") -> Route:
    destination = {"host": host, "subset": subset} if subset else {"host": host}
    return {"destination": destination, "weight": weight}


def virtual_service(**routes: list[Route]) -> manifest.Manifest:
    http = [{"name": name, "route": entries} for name, entries in routes.items()]
    return manifest.Manifest(
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "VirtualService",
            "metadata": {"name": "shop"},
            "spec": {"hosts": ["shop"], "http": http},
        }
    )


def routes_of(item: manifest.Manifest) -> dict[str, list[Route]]:
    return {route["name"]: route["route"] for route in item.body["spec"]["http"]}


OTHER = to("", 40, "other")


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        (
            [to("primary", 100)],
            division.Division(70, canary=30),
            [to("primary", 70), to("canary", 30)],
        ),
        (
            [to("primary", 100)],
            division.Division(50, canary=20, baseline=30),
            [to("primary", 50), to("canary", 20), to("baseline", 30)],
        ),
        (
            [to("primary", 60), OTHER],
            division.Division(50, canary=50),
            [to("primary", 30), to("canary", 30), OTHER],
        ),
        ([to("primary", 100)], division.Division(100), [to("primary", 100)]),
        (
            [to("", 100, "other")],
            division.Division(70, canary=30),
            [to("primary", 0), to("", 100, "other")],
        ),
    ],
)
def test_weights_are_divided_as_pipecd_does(
    before: list[Route], options: division.Division, after: list[Route]
) -> None:
    change = istio.Istio(app()).routed(virtual_service(main=before), options)

    assert routes_of(change.item)["main"] == after


def test_only_editable_routes_change_and_each_route_has_a_line() -> None:
    service = virtual_service(a=[to("primary", 100)], b=[to("primary", 100)])

    change = istio.Istio(app("a")).routed(service, division.Division(60, canary=40))

    assert routes_of(change.item) == {
        "a": [to("primary", 60), to("canary", 40)],
        "b": [to("primary", 100)],
    }
    assert change.lines == (
        'Updated route "a": primary=60%, canary=40%, baseline=0%',
        'Skipping route "b" (not in editableRoutes)',
    )


def test_values_of_the_variant_label_are_the_subsets() -> None:
    label = variant.VariantLabel("v", "stable", "preview", "test")

    change = istio.Istio(app(label=label)).routed(
        virtual_service(main=[to("stable", 100)]),
        division.Division(50, canary=25, baseline=25),
    )

    assert routes_of(change.item)["main"] == [
        to("stable", 50),
        to("preview", 25),
        to("test", 25),
    ]


def test_long_host_port_and_headers_are_kept() -> None:
    entry = {
        "destination": {
            "host": "shop.web.svc.cluster.local",
            "subset": "primary",
            "port": {"number": 80},
        },
        "headers": {"request": {"set": {"x": "1"}}},
        "weight": 100,
    }

    change = istio.Istio(app()).routed(
        virtual_service(main=[entry]), division.Division(90, canary=10)
    )

    canary = routes_of(change.item)["main"][1]
    assert canary == {
        **entry,
        "destination": {**entry["destination"], "subset": "canary"},  # type: ignore[dict-item]
        "weight": 10,
    }


def test_another_host_that_begins_alike_is_another_host() -> None:
    service = virtual_service(main=[to("primary", 60), to("", 40, "shop-api")])

    change = istio.Istio(app()).routed(service, division.Division(0, canary=100))

    assert routes_of(change.item)["main"] == [
        to("primary", 0),
        to("canary", 60),
        to("", 40, "shop-api"),
    ]


def test_a_redirect_gets_no_destinations() -> None:
    service = virtual_service(main=[to("primary", 100)])
    redirect = {"name": "old", "redirect": {"uri": "/new"}}
    service.body["spec"]["http"].append(redirect)

    change = istio.Istio(app()).routed(service, division.Division(50, canary=50))

    assert change.item.body["spec"]["http"][1] == redirect
    assert change.lines[1] == 'Skipping route "old" (redirect has no destinations)'


def test_weights_are_read_back_per_route() -> None:
    service = virtual_service(
        main=[to("primary", 80), to("canary", 10), to("baseline", 10)],
        plain=[{"destination": {"host": "shop", "subset": "primary"}}],
    )

    main, plain = istio.Istio(app()).read(service.body)

    assert main.shares == {
        variant.Variant.PRIMARY: 80,
        variant.Variant.CANARY: 10,
        variant.Variant.BASELINE: 10,
    }
    assert plain.shares == {variant.Variant.PRIMARY: 100}


def test_draining_moves_one_variants_share_and_leaves_the_others() -> None:
    live = virtual_service(main=[to("primary", 80), to("canary", 10), to("baseline", 10)])

    change = istio.Istio(app()).drained(live, variant.Variant.CANARY)

    assert routes_of(change.item)["main"] == [to("primary", 90), to("baseline", 10)]
    assert change.lines == ('route "main": 10 % moved from canary to primary',)


def test_draining_what_gets_nothing_changes_nothing() -> None:
    live = virtual_service(main=[to("primary", 100)])

    change = istio.Istio(app()).drained(live, variant.Variant.CANARY)

    assert change.lines == ()


def test_a_route_that_may_not_be_edited_blocks_the_draining() -> None:
    live = virtual_service(main=[to("canary", 100)])

    with pytest.raises(errors.UserError, match="may not be edited"):
        istio.Istio(app("other")).drained(live, variant.Variant.CANARY)


def test_live_routes_are_held_only_while_a_variant_gets_traffic() -> None:
    git = virtual_service(main=[to("primary", 100)], new=[to("primary", 100)])
    split = virtual_service(main=[to("primary", 80), to("canary", 20)])
    calm = virtual_service(main=[to("primary", 100)])

    assert routes_of(istio.Istio(app()).held(git, split.body)) == routes_of(split)
    assert istio.Istio(app()).held(git, calm.body) == git


def test_not_finding_a_virtual_service_is_an_error() -> None:
    with pytest.raises(errors.UserError, match="VirtualService"):
        istio.Istio(app()).find([])


def test_a_virtual_service_without_a_route_to_change_is_an_error() -> None:
    with pytest.raises(errors.UserError, match="no HTTP route") as failed:
        istio.Istio(app()).routed(virtual_service(), division.Division(100))
    assert "name it in trafficRouting.istio.editableRoutes" in failed.value.problems[0].hint


@pytest.mark.parametrize(
    "options", [division.Division(90, canary=20), division.Division(110, canary=-10)]
)
def test_weights_that_are_no_division_are_refused(options: division.Division) -> None:
    with pytest.raises(errors.UserError, match="not 100"):
        istio.Istio(app()).check(options)


SERVICES = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    workloads=(routing_options.ObjectReference("Service", "shop"),),
    traffic_routing=routing_options.TrafficRouting(method=routing_options.RoutingMethod.ISTIO),
)


def test_where_variants_are_services_their_hosts_are_the_destinations() -> None:
    router = registry.choose(SERVICES)
    service = virtual_service(main=[to("", 60, "shop-primary.web"), OTHER])
    service = service.with_body({**service.body, "metadata": {"name": "shop", "namespace": "web"}})
    stay = traffic.SessionAffinity("who")

    change = router.routed(service, division.Division(50, canary=50, affinity=stay, mirror=10))
    drained = router.drained(change.item, variant.Variant.CANARY)

    cookie, main = change.item.body["spec"]["http"]
    assert cookie["route"] == [to("", 100, "shop-canary")]
    assert main["mirror"] == {"host": "shop-canary"}
    assert [(entry["destination"], entry["weight"]) for entry in main["route"]] == [
        ({"host": "shop-primary"}, 30),
        ({"host": "shop-canary"}, 30),
        ({"host": "other"}, 40),
    ]
    assert [route.is_made for route in router.read(change.item.body)] == [True, False]
    assert router.read(change.item.body)[1].shares == {
        variant.Variant.PRIMARY: 30,
        variant.Variant.CANARY: 30,
    }
    assert routes_of(drained.item) == {"main": [to("", 60, "shop-primary"), OTHER]}
    assert router.services(service.body) == {
        variant.Variant.PRIMARY: "shop-primary",
        variant.Variant.CANARY: "shop-canary",
        variant.Variant.BASELINE: "shop-baseline",
    }
