"""What the definitions of the Gateway API and of Istio refuse, as upstream's do."""

import copy
from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs
from kube_sandbox.crds import definitions

_GATEWAY = "gateway.networking.k8s.io/v1"
_ISTIO = "networking.istio.io/v1"


@pytest.fixture(scope="module")
def cluster() -> registry.Registry:
    made = registry.Registry(FixedClock())
    made.create(made.kind("v1", "Namespace"), "", {"metadata": {"name": "default"}})
    crd = made.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    for definition in (*definitions.gateway_api(), *definitions.istio()):
        made.create(crd, "", definition)
    return made


def _created(cluster: registry.Registry, api_version: str, kind: str, spec: dict[str, Any]) -> Any:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    options = verbs.Options(dry_run=True, validation=verbs.Validation.STRICT)
    found = cluster.kind(api_version, kind)
    return cluster.create(found, "default", body, options).body


def _refusal(
    cluster: registry.Registry, api_version: str, kind: str, spec: dict[str, Any]
) -> api_errors.StatusError:
    with pytest.raises(api_errors.StatusError) as refused:
        _created(cluster, api_version, kind, spec)
    return refused.value


def _changed(spec: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(spec)
    target = changed
    for part in path[:-1]:
        target = target[part]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return dict(changed)


_ROUTE: dict[str, Any] = {
    "parentRefs": [{"name": "web"}],
    "hostnames": ["shop.example.com"],
    "rules": [
        {
            "name": "main",
            "matches": [{"path": {"type": "PathPrefix", "value": "/shop"}}],
            "backendRefs": [
                {"name": "primary", "port": 80, "weight": 90},
                {"name": "canary", "port": 80, "weight": 10},
            ],
        }
    ],
}
_BACKEND = ("rules", 0, "backendRefs", 0)


def test_an_http_route_is_stored_with_its_defaults(cluster: registry.Registry) -> None:
    spec = _created(cluster, _GATEWAY, "HTTPRoute", _ROUTE)["spec"]

    (parent,) = spec["parentRefs"]
    assert (parent["group"], parent["kind"]) == ("gateway.networking.k8s.io", "Gateway")
    assert spec["rules"][0]["backendRefs"][0]["kind"] == "Service"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ((*_BACKEND, "weight"), -1, "should be greater than or equal to 0"),
        ((*_BACKEND, "weight"), 1_000_001, "should be less than or equal to 1000000"),
        ((*_BACKEND, "port"), None, "Must have port for Service reference"),
        ((*_BACKEND, "port"), 70_000, "should be less than or equal to 65535"),
        ((*_BACKEND, "name"), None, "spec.rules[0].backendRefs[0].name: Required value"),
        (("hostnames", 0), "10.0.0.1:80", "should match"),
        (("rules", 0, "matches", 0, "path", "value"), "shop", "start with '/'"),
        (("rules", 0, "matches", 0, "path", "value"), "/a//b", "must not contain '//'"),
        (("rules", 0, "matches", 0, "path", "value"), "/a b", "valid characters"),
        (("rules", 0, "matches", 0, "method"), "get", "Unsupported value"),
        (
            ("rules", 0, "filters"),
            [{"type": "RequestMirror"}],
            "filter.requestMirror must be specified for RequestMirror filter.type",
        ),
        (
            ("rules", 0, "filters"),
            [{"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}],
            "RequestRedirect filter must not be used together with backendRefs",
        ),
        (
            ("rules", 0, "timeouts"),
            {"request": "1s", "backendRequest": "2s"},
            "backendRequest timeout cannot be longer than request timeout",
        ),
        (("rules",), [{"name": "a"}, {"name": "a"}], "Rule name must be unique within the route"),
        (
            ("parentRefs",),
            [{"name": "web"}, {"name": "web", "sectionName": "http"}],
            "sectionName must be specified when parentRefs includes 2 or more references",
        ),
    ],
)
def test_what_an_http_route_may_not_say(
    cluster: registry.Registry, path: tuple[Any, ...], value: Any, expected: str
) -> None:
    refused = _refusal(cluster, _GATEWAY, "HTTPRoute", _changed(_ROUTE, path, value))

    assert refused.code == 422
    assert expected in refused.message


def test_unknown_fields_are_told(cluster: registry.Registry) -> None:
    refused = _refusal(cluster, _GATEWAY, "HTTPRoute", {**_ROUTE, "hosts": ["a"]})

    assert refused.code == 400
    assert 'unknown field "spec.hosts"' in refused.message


_LISTENER = {"name": "http", "port": 80, "protocol": "HTTP"}


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        ([], "should have at least 1 items"),
        ([{"name": "http", "port": 80}], "spec.listeners[0].protocol: Required value"),
        (
            [{**_LISTENER, "tls": {"certificateRefs": [{"name": "a"}]}}],
            "tls must not be specified for protocols",
        ),
        (
            [_LISTENER, {**_LISTENER, "name": "second"}],
            "Combination of port, protocol and hostname must be unique",
        ),
    ],
)
def test_what_a_gateway_may_not_say(
    cluster: registry.Registry, listeners: list[Any], expected: str
) -> None:
    spec = {"gatewayClassName": "web", "listeners": [_LISTENER]}
    _created(cluster, _GATEWAY, "Gateway", spec)

    refused = _refusal(cluster, _GATEWAY, "Gateway", {**spec, "listeners": listeners})

    assert refused.code == 422
    assert expected in refused.message


_SERVICE: dict[str, Any] = {
    "hosts": ["shop"],
    "http": [
        {
            "match": [{"headers": {"x-user": {"exact": "canary"}}}],
            "route": [
                {"destination": {"host": "shop", "subset": "primary"}, "weight": 90},
                {"destination": {"host": "shop", "subset": "canary"}, "weight": 10},
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("http", 0, "route", 0, "weight"), -1, "should be greater than or equal to 0"),
        (("http", 0, "route", 0, "destination"), None, "route[0].destination: Required value"),
        (("http", 0, "route", 0, "destination", "host"), None, "destination.host: Required value"),
        (("http", 0, "route"), None, "HTTP route, redirect or direct_response is required"),
        (("http",), None, "http, tcp or tls must be provided in virtual service"),
        (
            ("http", 0, "route"),
            [{"destination": {"host": "a"}, "weight": 0}, {"destination": {"host": "b"}}],
            "total destination weight = 0",
        ),
        (
            ("http", 0, "match"),
            [{"uri": {"exact": "/a", "prefix": "/b"}}],
            "exactly one of exact, prefix or regex may be set",
        ),
    ],
)
def test_what_a_virtual_service_may_not_say(
    cluster: registry.Registry, path: tuple[Any, ...], value: Any, expected: str
) -> None:
    _created(cluster, _ISTIO, "VirtualService", _SERVICE)

    refused = _refusal(cluster, _ISTIO, "VirtualService", _changed(_SERVICE, path, value))

    assert refused.code == 422
    assert expected in refused.message


def test_what_a_destination_rule_may_not_say(cluster: registry.Registry) -> None:
    subsets = [{"name": "a", "labels": {"v": "a"}}]
    _created(cluster, _ISTIO, "DestinationRule", {"host": "shop", "subsets": subsets})

    nowhere = _refusal(cluster, _ISTIO, "DestinationRule", {"subsets": subsets})
    twice = _refusal(
        cluster, _ISTIO, "DestinationRule", {"host": "shop", "subsets": [*subsets, *subsets]}
    )

    assert "spec.host: Required value" in nowhere.message
    assert "subset names must be unique" in twice.message
