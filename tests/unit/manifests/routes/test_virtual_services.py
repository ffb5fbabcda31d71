import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests.routes import virtual_services
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import traffic_stages

Variant = variant.Variant
HOW = virtual_services.Routing("shop", variant.VariantLabel(), namespace="prod")


def entry(
    host: str = "shop", subset: str = "", weight: int | None = None, **more: object
) -> json.JsonObject:
    destination = {"host": host, **({"subset": subset} if subset else {})}
    return {"destination": destination, **({} if weight is None else {"weight": weight}), **more}


def service(*routes: json.JsonObject, version: str = "v1") -> manifest.Manifest:
    return manifest.Manifest(
        {
            "apiVersion": f"networking.istio.io/{version}",
            "kind": "VirtualService",
            "metadata": {"name": "shop", "namespace": "prod"},
            "spec": {"hosts": ["shop"], "http": list(routes), "tcp": [{"keep": True}]},
        }
    )


def http(name: str, *entries: json.JsonObject, **more: object) -> json.JsonObject:
    return {"name": name, "route": list(entries), **more}


def weights(item: manifest.Manifest, position: int = 0) -> list[tuple[str, int]]:
    return [
        (each["destination"].get("subset") or each["destination"]["host"], each.get("weight"))
        for each in item.body["spec"]["http"][position]["route"]
    ]


PRIMARY = entry(subset="primary", weight=100)
STABLE = variant.VariantLabel(primary_value="stable", canary_value="preview", baseline_value="test")


@pytest.mark.parametrize(
    ("entries", "options", "how", "expected"),
    [
        ([PRIMARY], (70, 30, 0), HOW, [("primary", 70), ("canary", 30)]),
        ([PRIMARY], (50, 20, 30), HOW, [("primary", 50), ("canary", 20), ("baseline", 30)]),
        (
            [entry(subset="primary", weight=60), entry("other", weight=40)],
            (50, 50, 0),
            HOW,
            [("primary", 30), ("canary", 30), ("other", 40)],
        ),
        ([PRIMARY], (100, 0, 0), HOW, [("primary", 100)]),
        (
            [entry(subset="stable", weight=100)],
            (50, 25, 25),
            virtual_services.Routing("shop", STABLE),
            [("stable", 50), ("preview", 25), ("test", 25)],
        ),
        ([entry("other", weight=100)], (70, 30, 0), HOW, [("primary", 0), ("other", 100)]),
        ([entry("other")], (70, 30, 0), HOW, [("primary", 0), ("other", 100)]),
        (
            [entry("shop.prod.svc.cluster.local", "primary")],
            (70, 30, 0),
            HOW,
            [("primary", 70), ("canary", 30)],
        ),
    ],
)
def test_weights_are_pipecds(
    entries: list[json.JsonObject],
    options: tuple[int, int, int],
    how: virtual_services.Routing,
    expected: list[tuple[str, int]],
) -> None:
    found = virtual_services.route(
        service(http("a", *entries)), how, traffic_stages.TrafficOptions(*options)
    )

    assert weights(found.manifest) == expected
    assert found.manifest.body["spec"]["tcp"] == [{"keep": True}]


def test_each_route_has_its_line() -> None:
    how = virtual_services.Routing("shop", variant.VariantLabel(), ("A",))
    item = service(http("A", PRIMARY), http("B", PRIMARY), {"route": [PRIMARY]})
    found = virtual_services.route(item, how, traffic_stages.TrafficOptions(60, 40))

    assert weights(found.manifest) == [("primary", 60), ("canary", 40)]
    assert weights(found.manifest, 1) == [("primary", 100)]
    assert found.lines == (
        'Updated route "A": primary=60%, canary=40%, baseline=0%',
        'Skipping route "B" (not in editableRoutes)',
        'Skipping route "#3" (not in editableRoutes)',
    )
    assert found.updated == 1


def test_all_routes_change_without_a_list() -> None:
    item = service(http("A", PRIMARY), http("B", PRIMARY), version="v1alpha3")
    found = virtual_services.route(item, HOW, traffic_stages.TrafficOptions(50, 50))

    assert (
        weights(found.manifest) == weights(found.manifest, 1) == [("primary", 50), ("canary", 50)]
    )


def test_redirects_are_left_alone() -> None:
    redirect = {"name": "old", "redirect": {"uri": "/new"}}
    found = virtual_services.route(service(redirect), HOW, traffic_stages.TrafficOptions(50, 50))

    assert found.manifest.body["spec"]["http"] == [redirect]
    assert found.lines == ('Skipping route "old" (redirect has no destinations)',)


def test_ports_headers_and_the_way_a_host_is_written_stay() -> None:
    primary = {
        "destination": {"host": "shop.prod", "subset": "primary", "port": {"number": 80}},
        "headers": {"request": {"set": {"x": "1"}}},
    }
    found = virtual_services.route(
        service(http("a", primary)), HOW, traffic_stages.TrafficOptions(90, 10)
    )
    canary = found.manifest.body["spec"]["http"][0]["route"][1]

    assert canary["destination"] == {
        "host": "shop.prod",
        "subset": "canary",
        "port": {"number": 80},
    }
    assert canary["headers"] == {"request": {"set": {"x": "1"}}}


def test_a_typo_in_editable_routes_and_impossible_weights_are_errors() -> None:
    how = virtual_services.Routing("shop", variant.VariantLabel(), ("mian",))
    with pytest.raises(errors.UserError, match="editableRoutes names mian"):
        virtual_services.route(
            service(http("main", PRIMARY)), how, traffic_stages.TrafficOptions(100)
        )

    where = errors.Location("routes.yaml", 7)
    crowded = service(http("main", entry("x", weight=80), entry("y", weight=80)))
    written = manifest.Manifest(crowded.body, where)
    with pytest.raises(errors.UserError, match="have 160 percent") as raised:
        virtual_services.route(written, HOW, traffic_stages.TrafficOptions(100))
    assert [problem.where for problem in raised.value.problems] == [where]


def test_what_is_live_is_read_back() -> None:
    route = http("a", entry(subset="primary", weight=60), entry("other", weight=40))

    assert virtual_services.observed_shares(route, HOW) == {Variant.PRIMARY: 60}
    assert virtual_services.is_editable(route, HOW)


entries = st.lists(
    st.tuples(
        st.sampled_from(["shop", "shop.prod", "other"]), st.sampled_from(["", "primary", "canary"])
    ),
    min_size=1,
    max_size=4,
)


@given(entries, st.lists(st.integers(0, 100), min_size=2, max_size=2), st.integers(0, 100))
def test_weights_add_up_and_agree_with_what_is_read_back(
    parts: list[tuple[str, str]], cuts: list[int], canary: int
) -> None:
    """Whatever was there before, routing twice changes nothing and the sum is 100."""
    total, chosen = 100, []
    for position, (host, subset) in enumerate(parts):
        weight = total if position == len(parts) - 1 else min(cuts[position % 2], total)
        total -= weight
        chosen.append(entry(host, subset, weight))
    wanted = traffic_stages.TrafficOptions(100 - canary, canary)
    found = virtual_services.route(service(http("a", *chosen)), HOW, wanted).manifest

    if len(chosen) > 1 or chosen[0].get("weight"):
        assert sum(weight for _, weight in weights(found)) == 100
    assert virtual_services.route(found, HOW, wanted).manifest == found


@pytest.mark.parametrize(
    ("one", "other", "namespace", "expected"),
    [
        ("shop", "shop", "", True),
        ("shop", "shop.prod.svc.cluster.local", "prod", True),
        ("shop", "shop.test.svc.cluster.local", "prod", False),
        ("shop", "shop.prod", "", True),
        ("shop.prod", "shop.test", "", False),
        ("shop.prod.svc", "shop.prod.svc.cluster.local.", "x", True),
        ("shop", "shops", "prod", False),
        ("shop", "shop.example.com", "prod", False),
        ("www.example.com", "www.example.com", "prod", True),
    ],
)
def test_hosts_of_one_service(one: str, other: str, namespace: str, expected: bool) -> None:
    assert virtual_services.is_same_host(one, other, namespace) is expected
    assert virtual_services.is_same_host(other, one, namespace) is expected


def app(
    name: str = "", virtual_service: str = "", host: str = "", kind: str = ""
) -> applications.Application:
    istio = routing_options.IstioRouting(
        (), host, routing_options.VirtualService(kind, virtual_service)
    )
    return applications.Application(
        "web",
        service=routing_options.ObjectReference("Service", name),
        traffic_routing=routing_options.TrafficRouting(
            routing_options.RoutingMethod.ISTIO, istio=istio
        ),
    )


def test_the_virtual_service_is_found_by_reference_by_the_services_name_or_as_the_first() -> None:
    first, second = service(), service()
    second = second.with_body({**second.body, "metadata": {"name": "other"}})

    assert virtual_services.find([first, second], app(virtual_service="other")) is second
    assert virtual_services.find([first, second], app("other")) is second
    assert virtual_services.find([first, second], app("x")) is first
    with pytest.raises(errors.UserError, match="unable to find any VirtualService manifest named"):
        virtual_services.find([first], app(virtual_service="gone"))
    with pytest.raises(errors.UserError, match='support only "VirtualService" kind'):
        virtual_services.find([first], app(kind="Service"))


def test_the_host_is_the_configured_one_else_the_services_name() -> None:
    assert virtual_services.routing(app("web"), service()).host == "web"
    assert virtual_services.routing(app("web", host="web.prod"), service()).host == "web.prod"
    with pytest.raises(errors.UserError, match="host"):
        virtual_services.routing(app(), service())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"route": [PRIMARY]}, True),
        ({"route": [PRIMARY], "redirect": {}}, True),
        ({"redirect": {"uri": "/"}}, False),
        ({"directResponse": {}}, False),
        ({"delegate": {}}, False),
        ({"match": []}, True),
    ],
)
def test_routes_that_may_have_destinations(written: json.JsonObject, expected: bool) -> None:
    body = service({"name": "main", **written}, "odd").body  # type: ignore[arg-type]
    assert bool(list(virtual_services.routes_with_destinations(body))) is expected

    named = dataclasses.replace(HOW, editable_routes=("main",))
    other = dataclasses.replace(HOW, editable_routes=("other",))
    entry = {"name": "main", **written}
    assert virtual_services.may_change(entry, HOW) is expected
    assert virtual_services.may_change(entry, named) is expected
    assert not virtual_services.may_change(entry, other)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry(subset="primary")], {Variant.PRIMARY: 100}),
        ([entry(subset="primary", weight=0)], {Variant.PRIMARY: 100}),
        ([entry(subset="primary", weight=40)], {Variant.PRIMARY: 40}),
        ([entry(subset="primary"), entry(subset="canary", weight=60)], {Variant.CANARY: 60}),
        ([entry("other", weight=30), entry(weight=70)], {}),
    ],
)
def test_weights_as_istio_reads_them(
    entries: list[json.JsonObject], expected: dict[variant.Variant, int]
) -> None:
    assert virtual_services.observed_shares(http("main", *entries), HOW) == expected


def test_the_weight_of_a_single_destination_is_the_one_that_is_written() -> None:
    def read(*entries: json.JsonObject) -> list[int]:
        return [weight for _, weight in virtual_services.weighted(http("a", *entries))]

    assert read(entry()) == [100]
    assert read(entry(weight=0)) == [100]
    assert read(entry(weight=40)) == [40]
    assert read(entry(), entry("other", weight=40)) == [0, 40]


@pytest.mark.parametrize(
    "one", ["shop", "shop.prod", "shop.prod.svc", "shop.prod.svc.cluster.local"]
)
def test_a_host_of_another_namespace_is_another_service(one: str) -> None:
    assert virtual_services.is_same_host(one, "shop.prod", "prod")
    assert virtual_services.is_same_host("shop.prod", one, "prod")
    assert not virtual_services.is_same_host(one, "shop.test", "prod")
    assert not virtual_services.is_same_host("shop.test", one, "prod")
