"""Who is let in, and in which forms one may talk."""

import io
import ssl
from typing import Any

import aiohttp
import pytest

from fixed_clock import FixedClock
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import users
from kube_sandbox.apiserver.registry import registry

MAPS = "/api/v1/namespaces/a/configmaps"


@pytest.mark.parametrize(
    ("token", "method", "path", "code", "message"),
    [
        ("", "GET", MAPS, 403, 'User "system:anonymous" cannot list resource "configmaps"'),
        ("wrong", "GET", MAPS, 401, "Unauthorized"),
        ("reader-token", "DELETE", MAPS, 403, 'User "reader" cannot deletecollection'),
        ("reader-token", "GET", "/api/v1/secrets", 403, "at the cluster scope"),
        ("", "GET", "/apis", 403, 'cannot get path "/apis"'),
    ],
)
async def test_refusals(
    api: Any, token: str, method: str, path: str, code: int, message: str
) -> None:
    found, body = await api.ask(method, path, token=token)

    assert found == code
    assert message in body["message"]


async def test_what_is_permitted_works(api: Any) -> None:
    listed, _ = await api.ask("GET", MAPS, token="reader-token")
    discovery, _ = await api.ask("GET", "/apis", token="reader-token")
    health, text = await api.ask("GET", "/readyz", token="")

    assert (listed, discovery, health, text) == (200, 200, 200, "ok")


@pytest.mark.parametrize(("verb", "allowed"), [("list", True), ("delete", False)])
async def test_one_can_ask_what_one_may(api: Any, verb: str, allowed: bool) -> None:
    attributes = {"verb": verb, "resource": "configmaps", "namespace": "a"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    as_administrator = (await api.ask("POST", path, json=review))[1]["status"]
    about_reader = {**review, "kind": "SubjectAccessReview"}
    about_reader["spec"] = {**review["spec"], "user": "reader"}
    told = await api.ask(
        "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json=about_reader
    )

    assert as_administrator == {"allowed": True}
    assert told[1]["status"]["allowed"] is allowed


async def test_only_known_formats_are_read_and_written(api: Any) -> None:
    protobuf = {"Accept": "application/vnd.kubernetes.protobuf"}
    both = {"Accept": "application/vnd.kubernetes.protobuf,application/json"}
    as_yaml = {"Accept": "application/yaml"}
    strange = {"Content-Type": "text/csv"}

    assert (await api.ask("GET", MAPS, headers=protobuf))[0] == 406
    assert (await api.ask("GET", MAPS, headers=both))[0] == 200
    assert "kind: ConfigMapList" in (await api.ask("GET", MAPS, headers=as_yaml))[1]
    assert (await api.ask("POST", MAPS, headers=strange, data=b"a,b"))[0] == 415


async def test_a_body_has_a_limit(api: Any) -> None:
    code, body = await api.ask("POST", MAPS, data=io.BytesIO(b" " * (3 * 1024 * 1024 + 1)))

    assert code == 413
    assert body["message"] == "Request entity too large: limit is 3145728"


async def test_yaml_may_not_grow_by_aliases(api: Any) -> None:
    text = "a: &x [1]\nb: *x\n"
    headers = {"Content-Type": "application/yaml"}

    code, body = await api.ask("POST", MAPS, data=text, headers=headers)

    assert code == 400
    assert "aliases" in body["message"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/nopes", 404),
        ("GET", "/apis/nope.example.com/v1/things", 404),
        ("GET", "/api/v1/configmaps/x", 404),
        ("GET", "/api/v1/namespaces/a/pods/p/exec", 404),
        ("DELETE", "/api/v1/namespaces", 405),
        ("POST", "/api/v1/namespaces/a/configmaps/x", 405),
        ("PUT", MAPS, 404),
        ("POST", "/version", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/", 200),
        ("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale/x", 404),
    ],
)
async def test_odd_paths_and_methods(api: Any, method: str, path: str, code: int) -> None:
    assert (await api.ask(method, path, json={}))[0] == code


async def test_what_cannot_be_emulated_says_why(api: Any) -> None:
    code, body = await api.ask("POST", "/api/v1/namespaces/a/pods/p/exec")

    assert code == 404
    assert body["message"] == ("pods/exec is not emulated: no processes run in the sandbox's pods")


async def test_tls_is_trusted_by_who_knows_the_authority() -> None:
    cluster = registry.Registry(FixedClock())
    settings = server.Settings(name="tls", users=(users.administrator("t"),))
    running = await server.start(cluster, settings)
    try:
        trusting = ssl.create_default_context(cadata=running.certificate_authority)
        trusting.verify_flags |= ssl.VERIFY_X509_STRICT
        # The test's clock is ahead of the computer's, and so is the certificate.
        trusting.verify_flags |= ssl.VerifyFlags(0x200000)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{running.url}/readyz", ssl=trusting) as response:
                assert await response.text() == "ok"
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(f"{running.url}/readyz")
    finally:
        await running.stop()
