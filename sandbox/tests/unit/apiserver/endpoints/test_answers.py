"""What answers look like: lists, tables, warnings, logs, discovery, OpenAPI."""

import json
from typing import Any

import pytest

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds

MAPS = "/api/v1/namespaces/a/configmaps"


async def test_items_of_a_list_do_not_repeat_their_kind(api: Any) -> None:
    await api.ask("POST", MAPS, json={"metadata": {"name": "x"}})

    _, listed = await api.ask("GET", MAPS)
    _, single = await api.ask("GET", f"{MAPS}/x")

    assert listed["kind"] == "ConfigMapList"
    assert listed["items"] == [
        {key: value for key, value in single.items() if key not in ("kind", "apiVersion")}
    ]


async def test_pages_link_to_the_next(api: Any) -> None:
    for name in ("x", "y", "z"):
        await api.ask("POST", MAPS, json={"metadata": {"name": name}})

    _, first = await api.ask("GET", f"{MAPS}?limit=2")
    token = first["metadata"]["continue"]
    _, second = await api.ask("GET", f"{MAPS}?limit=2&continue={token}")

    assert first["metadata"]["remainingItemCount"] == 1
    assert [each["metadata"]["name"] for each in second["items"]] == ["z"]
    assert "continue" not in second["metadata"]


async def test_a_note_of_a_kind_is_a_warning(api: Any) -> None:
    body = {"metadata": {"name": "w"}, "webhooks": []}
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

    async with api.request("POST", path, json=body) as response:
        assert response.status == 201
        assert "does not call them" in response.headers["Warning"]


async def test_deleting_answers_with_a_status_or_with_the_object(api: Any) -> None:
    await api.ask("POST", MAPS, json={"metadata": {"name": "x"}})
    await api.ask(
        "POST",
        "/api/v1/namespaces/a/serviceaccounts",
        json={"metadata": {"name": "x"}},
    )

    _, plain = await api.ask("DELETE", f"{MAPS}/x")
    _, kept = await api.ask("DELETE", "/api/v1/namespaces/a/serviceaccounts/x")

    assert (plain["kind"], plain["status"]) == ("Status", "Success")
    assert kept["kind"] == "ServiceAccount"


async def test_logs_say_that_nothing_runs(api: Any) -> None:
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "m", "image": "i"}]},
    }
    live = api.registry.create(kinds.POD, "a", pod).body
    path = "/api/v1/namespaces/a/pods/p/log"

    waiting = await api.ask("GET", path)
    started = [
        {
            "name": "m",
            "image": "i",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {}},
        }
    ]
    changed = {**live["status"], "containerStatuses": started}
    api.registry.update_status(kinds.POD, "a", "p", {**live, "status": changed})
    running = await api.ask("GET", path)
    another = await api.ask("GET", f"{path}?container=x")

    assert (waiting[0], "waiting to start" in waiting[1]["message"]) == (400, True)
    assert running == (
        200,
        "kube-sandbox: pod p is emulated; container m writes no log\n",
    )
    assert another[0] == 400


async def test_evicting_and_binding_are_subresources(api: Any) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    api.registry.create(kinds.POD, "a", pod)
    path = "/api/v1/namespaces/a/pods/p"

    bound = await api.ask("POST", f"{path}/binding", json={"target": {"name": "n1"}})
    nowhere = await api.ask("POST", f"{path}/binding", json={})
    evicted = await api.ask("POST", f"{path}/eviction", json={"metadata": {"name": "p"}})

    assert (bound[0], nowhere[0], evicted[0]) == (201, 422, 201)
    assert api.registry.get(kinds.POD, "a", "p")["metadata"]["deletionTimestamp"]


async def test_a_namespace_is_finalized_over_http(api: Any) -> None:
    await api.ask("DELETE", "/api/v1/namespaces/a")

    code, _ = await api.ask("PUT", "/api/v1/namespaces/a/finalize", json={"spec": {}})

    assert code == 200
    assert (await api.ask("GET", "/api/v1/namespaces/a"))[0] == 404


async def test_openapi_has_a_document_for_every_group(api: Any) -> None:
    _, text = await api.ask("GET", "/openapi/v3")
    index = json.loads(text)
    _, groups = await api.ask("GET", "/apis")

    wanted = {"api/v1"} | {
        f"apis/{version['groupVersion']}"
        for group in groups["groups"]
        for version in group["versions"]
    }
    assert set(index["paths"]) == wanted
    address = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
    _, document = await api.ask("GET", address)
    assert "io.k8s.api.apps.v1.Deployment" in document["components"]["schemas"]


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
async def test_discovery_answers_in_the_version_asked_for(api: Any, version: str) -> None:
    accept = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"

    async with api.request("GET", "/apis", headers={"Accept": accept}) as response:
        body = await response.json()

    assert body["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert f"v={version}" in response.headers["Content-Type"]


def test_every_kind_has_a_schema() -> None:
    missing = [each.name for each in kinds.BUILT_IN if not each.schema.kind]

    assert not missing


def test_a_status_carries_what_clients_react_to() -> None:
    found = api_errors.conflict("apps", "deployments", "d", api_errors.MODIFIED)

    assert found.code == 409
    assert found.reason == "Conflict"
    assert found.message.startswith('Operation cannot be fulfilled on deployments.apps "d"')
    assert found.body["details"] == {"name": "d", "group": "apps", "kind": "deployments"}


ENDPOINTS = "/api/v1/namespaces/a/endpoints"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", ENDPOINTS, None),
        ("GET", f"{ENDPOINTS}/e", None),
        ("POST", ENDPOINTS, {"metadata": {"name": "f"}}),
        ("DELETE", f"{ENDPOINTS}/e", None),
    ],
)
async def test_endpoints_are_deprecated(api: Any, method: str, path: str, body: Any) -> None:
    await api.ask("POST", ENDPOINTS, json={"metadata": {"name": "e"}})

    async with api.request(method, path, json=body) as response:
        assert response.status in (200, 201)
        assert response.headers["Warning"] == (
            '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
        )


async def test_addresses_of_endpoints_are_addresses(api: Any) -> None:
    subset = {"addresses": [{"ip": "here"}], "ports": [{"port": 0}, {"port": 80, "name": "a"}]}

    status, refused = await api.ask(
        "POST", ENDPOINTS, json={"metadata": {"name": "e"}, "subsets": [{}, subset]}
    )

    assert status == 422
    assert [(each["field"], each["message"]) for each in refused["details"]["causes"]] == [
        ("subsets[0]", "Required value: must specify `addresses` or `notReadyAddresses`"),
        (
            "subsets[1].addresses[0].ip",
            'Invalid value: "here": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        ("subsets[1].ports[0].name", "Required value"),
        (
            "subsets[1].ports[0].port",
            "Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
    ]
